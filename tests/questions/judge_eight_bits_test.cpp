// Kernels that round P to e4m3 beside Q, K and V in e4m3 with scales, transcribed from rules of FlashAttention-3, FlashInfer
// and SageAttention 2: none may be called wrong, and none with a mistake may pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arithmetic/tensor_core_sum.h"
#include "kernels/judge/judge.h"
#include "kernels/judge/lse_judge.h"
#include "tests/questions/planted_slips.h"

namespace attoscope {
namespace {

using namespace planted;
using Floats = std::vector<float>;

/// Numbers of Q, K or V in e4m3, and their scale.
struct Stored {
  Floats codes;
  float scale;
};

Stored stored_in_e4m3(const std::vector<double>& x) {
  double most = 0;
  for (const double y : x) most = std::max(most, std::abs(y));
  Stored s{{}, static_cast<float>(most / 448)};
  for (const double y : x) s.codes.push_back(static_cast<float>(round(e4m3, y / s.scale)));
  return s;
}

struct Kernel {
  const char* name;
  int tile;
  bool reversed;
  float factor;  ///< of P before it is rounded
  bool h100;     ///< its sums are those of an H100's tensor cores; else of fp32
  int d = 64;
  bool rescales_O = true;
};

/// A call, and the kernel's loads of it.
class Head {
 public:
  Head(int n, int n_k, int d, Mask mask, std::uint64_t seed) : p_(problem({n, n_k, d, d}, mask, seed)) {
    Tensors t = *p_.input.tensors;
    const auto store = [](std::vector<double>& x) {
      Stored s = stored_in_e4m3(x);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(s.codes[i]) * static_cast<double>(s.scale);
      return s;
    };
    q_ = store(t.q), k_ = store(t.k), v_ = store(t.v);
    p_.input = testing::given(std::move(t));
  }

  const Problem& problem_of() const { return p_; }

  /// O, and L if `lse` is given.
  Values output(const Kernel& kernel, double wrong_scale = 1, int hidden = 0, Values* lse = nullptr) const {
    const auto c = static_cast<float>(scale_of(p_) * std::numbers::log2e * wrong_scale) * q_.scale * k_.scale;
    const int n_k = key_count(p_), d_v = value_columns(p_);
    Values o;
    for (int row = 0; row < p_.n; ++row) {
      const Keys keys{visible_keys(p_, row).first, std::max(1, visible_keys(p_, row).end - hidden)};
      Floats sums(at(d_v));
      float m = -INFINITY, l = 0;
      const int tiles = (n_k + kernel.tile - 1) / kernel.tile;
      for (int t = 0; t < tiles; ++t) {
        const int tile = kernel.reversed ? tiles - 1 - t : t, first = std::max(keys.first, tile * kernel.tile),
                  end = std::min(keys.end, (tile + 1) * kernel.tile);
        if (first >= end) continue;
        Floats S;
        float top = m;
        for (int j = first; j < end; ++j) top = std::max(top, S.emplace_back(product(kernel, row, j)));
        const float alpha = m == -INFINITY ? 0 : std::exp2((m - top) * c);
        m = top;
        l *= alpha;
        Floats P;
        for (const float s : S) {
          const float e = std::exp2(std::fma(s, c, -m * c)) * kernel.factor;
          l += e;
          P.push_back(static_cast<float>(round(e4m3, static_cast<double>(e))));
        }
        for (int column = 0; column < d_v; ++column) {
          float& x = sums[at(column)];
          x = added(kernel, P, first, column, kernel.rescales_O ? x * alpha : x);
        }
      }
      for (const float x : sums) o.push_back(static_cast<double>(x * v_.scale / l));
      if (lse) lse->push_back(static_cast<double>(m * c * std::numbers::ln2_v<float> + std::log(l / kernel.factor)));
    }
    return o;
  }

 private:
  float sum(const Kernel& kernel, const Floats& a, const Floats& b, float start) const {
    static const TensorCoreRule h100 = tensor_core_rule(TensorCore::h100, e4m3, SumType::f32);
    if (kernel.h100) return tensor_core_dot(h100, a, b, start);
    for (std::size_t i = 0; i < a.size(); ++i) start = std::fma(a[i], b[i], start);
    return start;
  }
  float product(const Kernel& kernel, int row, int key) const {
    const auto d = static_cast<std::ptrdiff_t>(p_.d), i = row * d, j = key * d;
    return sum(kernel, {q_.codes.begin() + i, q_.codes.begin() + i + d}, {k_.codes.begin() + j, k_.codes.begin() + j + d}, 0);
  }
  float added(const Kernel& kernel, const Floats& P, int first, int column, float start) const {
    Floats v;
    for (std::size_t i = 0; i < P.size(); ++i) v.push_back(v_.codes[(at(first) + i) * at(value_columns(p_)) + at(column)]);
    return sum(kernel, P, v, start);
  }

  Problem p_;
  Stored q_, k_, v_;
};

JudgedOutput output_of(const Problem& p, Values o) {
  JudgedOutput output = judged_output(p, std::move(o), bf16);
  output.claim.scaled_inputs = true;
  output.claim.of_P = e4m3;
  return output;
}

constexpr Kernel kernels[]{{"FlashAttention-3", 160, true, 256, true},
                           {"FlashAttention-3, tiles of 224 keys", 224, true, 256, true, 128},
                           {"FlashAttention-3, fp32 sums", 160, true, 256, false},
                           {"FlashInfer", 128, true, 448, true},
                           {"SageAttention 2", 64, false, 447.8898F, false},
                           {"without a factor", 128, false, 1, false}};

TEST(JudgeEightBits, CorrectKernelsAreRounded) {
  for (const Kernel& kernel : kernels)
    for (const std::uint64_t seed : {1, 2}) {
      if (testing::sanitized && (seed > 1 || kernel.h100)) continue;
      const int n = testing::sanitized ? 96 : seed == 1 ? 256 : 320;
      const Head head(n, n, kernel.d, seed == 1 ? causal : Mask{}, seed);
      const HeadJudgement found = judge(output_of(head.problem_of(), head.output(kernel))).head;
      EXPECT_TRUE(found.rounded) << kernel.name << ", seed " << seed << ": " << found.ratio;
      if (testing::sanitized) continue;
      const std::string tiles = " in tiles of " + std::to_string(kernel.tile) + " keys" + (kernel.reversed ? ", the last" : "");
      EXPECT_NE(found.as.find(tiles), std::string::npos) << kernel.name << ": " << found.as;
      EXPECT_EQ(found.as.ends_with("14 bits, as on an H100"), kernel.h100) << kernel.name << ": " << found.as;
    }
}

TEST(JudgeEightBits, LogSumExps) {
  for (const Kernel& kernel : kernels) {
    if (testing::sanitized && kernel.h100) continue;
    const Head head(96, 96, kernel.d, causal, 4);
    JudgedLse lse{head.problem_of(), output_of(head.problem_of(), {}).claim, fp32, {}};
    head.output(kernel, 1, 0, &lse.values);
    const LseJudgement found = judge_lse(lse)[0];
    EXPECT_TRUE(found.rounded) << kernel.name << ": " << found.ratio;
    EXPECT_EQ(found.as, kernel.h100 ? "its sums have 14 bits, as on an H100" : "") << kernel.name;
    lse.values.clear();
    head.output(kernel, 1, 1, &lse.values);
    EXPECT_FALSE(judge_lse(lse)[0].rounded) << kernel.name << ", mask off by one";
  }
}

TEST(JudgeEightBits, DecodingOverManyKeys) {
  if (testing::sanitized) return;
  for (const Kernel& kernel : kernels) {
    const Head head(16, 4096, kernel.d, {}, 9);
    const HeadJudgement found = judge(output_of(head.problem_of(), head.output(kernel))).head;
    EXPECT_TRUE(found.rounded) << kernel.name << ": " << found.ratio;
    EXPECT_NE(found.as.find("tiles of " + std::to_string(kernel.tile)), std::string::npos) << kernel.name << ": " << found.as;
  }
}

TEST(JudgeEightBits, MistakesAreWrong) {
  for (Kernel kernel : kernels) {
    if (testing::sanitized && kernel.h100) continue;
    const int n = testing::sanitized ? kernel.tile + 32 : 256;
    const Head head(n, n, kernel.d, causal, 3);
    const auto expect_wrong = [&](const char* text, const Values& o) {
      const HeadJudgement found = judge(output_of(head.problem_of(), o)).head;
      EXPECT_FALSE(found.rounded) << kernel.name << ", " << text << ": " << found.as;
    };
    expect_wrong("scale 2 % too large", head.output(kernel, 1.02));
    expect_wrong("mask off by one", head.output(kernel, 1, 1));
    kernel.rescales_O = false;
    expect_wrong("O is not rescaled", head.output(kernel));
  }
}

/// Also mistakes smaller than the rounding of P, if other heads of the call show how the kernel rounds it.
TEST(JudgeEightBits, MistakesHaveTheirNames) {
  const Kernel& kernel = kernels[2];
  const Head head(testing::sanitized ? 96 : 200, 200, kernel.d, causal, 3);
  const std::optional<RoundedP> P = judge(output_of(head.problem_of(), head.output(kernel))).head.P;
  ASSERT_TRUE(P);
  EXPECT_EQ(P->tile, kernel.tile);
  for (const auto& [o, words] : {std::pair{head.output(kernel, 1, 1), "shifted by one key"},
                                 std::pair{head.output(kernel, 1.02), "multiplied by 0.1275"}}) {
    JudgedOutput output = output_of(head.problem_of(), o);
    output.claim.P = P;
    const std::optional<Slip> slip = slips_of(output, judge(output)).found;
    ASSERT_TRUE(slip) << words;
    EXPECT_NE(slip->text.find(words), std::string::npos) << slip->text;
  }
}

}  // namespace
}  // namespace attoscope
