// Kernels that read the scales of stored tensors wrongly: a correct kernel on the products with wrong scales plants the
// mistake, and `judge` names it.

#include <algorithm>
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
  Stored() {
    std::mt19937 dice(3);
    std::normal_distribution<float> draw;
    const auto eighth = [&] { return static_cast<std::int8_t>(std::clamp(40 * draw(dice), -127.0F, 127.0F)); };
    for (int i = 0; i < count; ++i) q_.push_back(round(bf16, draw(dice))), k_.push_back(eighth()), v_.push_back(eighth());
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
    const std::string output = scratch_.write("o.npy", npy_of("(2, 64, 16)", o));
    return json::parse(attoscope({"judge", "--input", file_, "--o", output, "--format", "bf16", "--json", "-"}).out);
  }

  std::vector<float> of_k, of_v;
  double k_scale(int head, int token) const { return of_k[at(head * n + token)]; }

 private:
  TemporaryDirectory scratch_;
  std::string file_;
  std::vector<double> q_;
  std::vector<std::int8_t> k_, v_;
};

void expect_named(const json& verdict, const std::string& words) {
  EXPECT_EQ(verdict["verdict"], "wrong");
  EXPECT_THAT(verdict["sentences"][0].get<std::string>(), HasSubstr(words));
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

}  // namespace
}  // namespace attoscope::testing::wrong_scales_test
