// Kernels that read the scales of stored tensors wrongly: a correct kernel on the products with wrong scales plants the
// mistake, and `judge` names it.

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/matrix.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::wrong_scales_test {
namespace {

using nlohmann::json;

constexpr int heads = 2, n = 64, d = 16, count = heads * n * d;

/// Two heads: Q in bf16, K in int8 with a scale per token, V in int8 with a scale per head.
class Stored {
 public:
  /// Q is multiplied by `of_q`: larger scores show more of the inputs' rounding.
  explicit Stored(float of_q = 1) {
    std::mt19937 dice(3);
    std::normal_distribution<float> draw;
    const auto eighth = [&] { return static_cast<std::int8_t>(std::clamp(40 * draw(dice), -127.0F, 127.0F)); };
    for (int i = 0; i < count; ++i)
      q_.push_back(round(bf16, of_q * draw(dice))), k_.push_back(eighth()), v_.push_back(eighth());
    for (int i = 0; i < heads * n; ++i) of_k.push_back(0.01F + 0.004F * static_cast<float>(i % 11));
    of_v = {0.03F, 0.05F};
    const std::string shape = "[2,64,16]";
    file_ = scratch_.write("call.safetensors", safetensors({{"q", "F32", shape, raw(std::vector<float>(q_.begin(), q_.end()))},
                                                            {"k", "I8", shape, raw(k_)},
                                                            {"v", "I8", shape, raw(v_)},
                                                            {"k_scale", "F32", "[2,64]", raw(of_k)},
                                                            {"v_scale", "F32", "[2]", raw(of_v)}}));
  }

  /// The verdict on a correct kernel's output for K and V multiplied by factor(head, token).
  using Factor = std::function<double(int head, int token)>;
  json verdict(const Factor& factor_of_k, const Factor& factor_of_v) const {
    std::vector<double> k, v;
    for (int i = 0; i < count; ++i) {
      const int head = i / (n * d), token = i / d % n;
      k.push_back(k_[at(i)] * factor_of_k(head, token)), v.push_back(v_[at(i)] * factor_of_v(head, token));
    }
    const std::string shape = "[2,64,16]",
                      seen = scratch_.write("seen.safetensors", safetensors({{"q", "F64", shape, raw(q_)},
                                                                             {"k", "F64", shape, raw(k)},
                                                                             {"v", "F64", shape, raw(v)}}));
    std::vector<double> o;
    for (int head = 0; head < heads; ++head) {
      const std::string input = seen + ":" + std::to_string(head);
      succeed({"run", "--input", input, "--policy", "hw", "--format", "bf16", "--save", scratch_ / "out"});
      const std::vector<double> one = last_numbers<double>(scratch_ / "out/a.npy", n * d);
      o.insert(o.end(), one.begin(), one.end());
    }
    return verdict_on(o);
  }

  /// The verdict on `times` the exact attention of the products, which are rounded to bf16 first if `rounds`.
  json verdict_on_exact(double times, bool rounds) const {
    std::vector<double> o;
    for (int head = 0; head < heads; ++head)
      for (int i = 0; i < n; ++i) add_exact_row(head, i, rounds, times, o);
    return verdict_on(o);
  }

  /// The outcome of `run` with the exact attention of the second head, in a file that holds this head alone.
  Outcome run_of_exact() const {
    std::vector<double> o;
    for (int i = 0; i < n; ++i) add_exact_row(1, i, false, 1, o);
    const std::string output = scratch_.write("one.npy", npy_of("(64, 16)", o));
    return attoscope({"run", "--input", file_ + ":1", "--format", "bf16", "--kernel", output});
  }

  std::vector<float> of_k, of_v;
  double k_scale(int head, int token) const { return of_k[at(head * n + token)]; }

 private:
  json verdict_on(const std::vector<double>& o) const {
    const std::string output = scratch_.write("o.npy", npy_of("(2, 64, 16)", o));
    return json::parse(attoscope({"judge", "--input", file_, "--o", output, "--format", "bf16", "--json", "-"}).out);
  }

  void add_exact_row(int head, int row, bool rounds, double times, std::vector<double>& o) const {
    const auto loaded = [&](double x) { return rounds ? round(bf16, x) : x; };
    std::vector<double> sum(at(d));
    double l = 0;
    for (int j = 0; j < n; ++j) {
      double s = 0;
      for (int c = 0; c < d; ++c)
        s += q_[at((head * n + row) * d + c)] * loaded(k_[at((head * n + j) * d + c)] * k_scale(head, j));
      const double e = std::exp(s / std::sqrt(d));
      l += e;
      for (int c = 0; c < d; ++c)
        sum[at(c)] += e * loaded(v_[at((head * n + j) * d + c)] * static_cast<double>(of_v[at(head)]));
    }
    for (const double x : sum) o.push_back(round(bf16, times * x / l));
  }

  TemporaryDirectory scratch_;
  std::string file_;
  std::vector<double> q_;
  std::vector<std::int8_t> k_, v_;
};

std::string conclusion_of(const json& verdict) { return verdict["sentences"][0]; }

void expect_named(const json& verdict, const std::string& words) {
  EXPECT_EQ(verdict["verdict"], "wrong");
  EXPECT_THAT(conclusion_of(verdict), HasSubstr(words));
}

TEST(WrongScales, AreNamed) {
  const Stored x;
  const auto k = [&](int head, int token) { return x.k_scale(head, token); };
  const auto v = [&](int head, int) { return static_cast<double>(x.of_v[at(head)]); };
  const auto one = [](int, int) { return 1.0; };
  EXPECT_EQ(x.verdict(k, v)["verdict"], "rounded");
  expect_named(x.verdict(one, v), "the scale of K forgotten");
  expect_named(x.verdict(k, one), "the scale of V forgotten");
  expect_named(x.verdict(one, one), "the scales of Q, K and V forgotten");
  expect_named(x.verdict([&](int head, int token) { return k(head, token) * k(head, token); }, v),
               "the scale of K applied twice");
  expect_named(x.verdict(k, [&](int head, int token) { return v(head, token) * v(head, token); }),
               "the scale of V applied twice");
  expect_named(x.verdict([&](int head, int token) { return x.of_k[at(token * heads + head)]; }, v),
               "the scale of K read as if its heads and tokens stood the other way round");
  expect_named(x.verdict(v, k), "the scales of K and V exchanged");
}

/// K in int8 with a scale for each block of eight columns.
TEST(WrongScales, BlocksInReverseOrderAreNamed) {
  std::mt19937 dice(4);
  std::normal_distribution<float> draw;
  std::vector<double> q, v, products;
  std::vector<std::int8_t> k;
  std::vector<float> scales;
  for (int i = 0; i < 2 * heads * n; ++i) scales.push_back(0.01F + 0.004F * static_cast<float>(i * 7 % 11));
  for (int i = 0; i < count; ++i) {
    q.push_back(round(bf16, draw(dice))), v.push_back(round(bf16, draw(dice)));
    k.push_back(static_cast<std::int8_t>(std::clamp(40 * draw(dice), -127.0F, 127.0F)));
    products.push_back(k.back() * static_cast<double>(scales[at(i / 8 ^ 1)]));
  }
  const TemporaryDirectory scratch;
  const std::string shape = "[2,64,16]";
  const std::string call =
      scratch.write("call.safetensors", safetensors({{"q", "F32", shape, raw(std::vector<float>(q.begin(), q.end()))},
                                                     {"k", "I8", shape, raw(k)},
                                                     {"v", "F32", shape, raw(std::vector<float>(v.begin(), v.end()))},
                                                     {"k_scale", "F32", "[2,64,2]", raw(scales)}}));
  const std::string seen = scratch.write(
      "seen.safetensors",
      safetensors({{"q", "F64", shape, raw(q)}, {"k", "F64", shape, raw(products)}, {"v", "F64", shape, raw(v)}}));
  std::vector<double> o;
  for (const char* const head : {":0", ":1"}) {
    succeed({"run", "--input", seen + head, "--policy", "hw", "--format", "bf16", "--save", scratch / "out"});
    const std::vector<double> one = last_numbers<double>(scratch / "out/a.npy", n * d);
    o.insert(o.end(), one.begin(), one.end());
  }
  const std::string output = scratch.write("o.npy", npy_of("(2, 64, 16)", o));
  expect_named(json::parse(attoscope({"judge", "--input", call, "--o", output, "--format", "bf16", "--json", "-"}).out),
               "the scale of K read with each token's blocks in reverse order");
}

/// bf16 does not hold the products: a kernel may use them as they are, or rounded.
TEST(WrongScales, GoldenIsAttentionOfTheProducts) {
  const Stored x(3);
  const std::string right = "Rounded: every element is what a correct bf16 kernel can give on these tensors";
  EXPECT_EQ(conclusion_of(x.verdict_on_exact(1, false)), right + ".");
  EXPECT_EQ(conclusion_of(x.verdict_on_exact(1, true)), right + ", if its Q, K, V are rounded to bf16.");
  EXPECT_THAT(x.run_of_exact().out, HasSubstr(right + "."));
  for (const bool rounds : {false, true}) expect_named(x.verdict_on_exact(1.07, rounds), "the output is 1.07 times golden");
}

}  // namespace
}  // namespace attoscope::testing::wrong_scales_test
