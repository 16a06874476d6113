// The accumulator of P.V on tensor cores: its error, and the dependence on its settings.
#include "kernels/questions/sum_drift.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "tests/reference/plain_tensor_core.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

double drift(int n, int flush, double mean, std::uint64_t seed = 1, TensorCore gpu = TensorCore::h100) {
  return sum_drift({.gpu = gpu, .n = n, .flush = flush, .mean = mean, .seed = seed});
}

TEST(SumDrift, GrowsWithTheNumberOfKeysOnHopperInFp8) {
  for (const std::uint64_t seed : {1U, 77U}) {
    EXPECT_NEAR(drift(4096, 0, 0.5, seed), 0.03, 0.006);
    EXPECT_NEAR(drift(32768, 0, 0.5, seed), 0.20, 0.015);
    if (!sanitized) {
      EXPECT_NEAR(drift(131072, 0, 0.5, seed), 0.45, 0.02);
    }
  }
}

TEST(SumDrift, IsSmallWithAFlushEveryFourTiles) {
  for (const int n : {4096, 32768}) EXPECT_NEAR(drift(n, 4, 0.5), 0.0016, 0.0004) << n;
}

TEST(SumDrift, IsHardlyThereForVOfMeanZero) {
  EXPECT_LT(drift(4096, 0, 0), 0.003);
  EXPECT_LT(drift(32768, 0, 0), 0.01) << "of sums that are themselves near 0";
}

TEST(SumDrift, IsHardlyThereOnOtherGpusAndFormats) {
  EXPECT_LT(drift(32768, 0, 0.5, 1, TensorCore::b200), 1e-3);
  EXPECT_LT(sum_drift({.format = bf16, .n = 32768}), 1e-3);
}

TEST(SumDrift, OfASeedHasTheSameBitsOnEveryMachine) { EXPECT_EQ(drift(512, 0, 0.5), 0.0016286504863884852); }

/// Drift of the plain function on numbers of the standard library: the arithmetic has this drift, not only the optimized
/// code.
TEST(SumDrift, IsThatOfThePlainRule) {
  const TensorCoreRule rule = tensor_core_rule(TensorCore::h100, e4m3, SumType::f32);
  Dice dice(5);
  double error = 0, size = 0;
  for (int row = 0; row < 64; ++row) {
    std::vector<float> p, v;
    for (int i = 0; i < 4096; ++i) p.push_back(static_cast<float>(round(e4m3, 256 * std::exp(dice.normal() - 3.5))));
    for (int i = 0; i < 4096; ++i) v.push_back(static_cast<float>(round(e4m3, 0.5 + dice.normal())));
    double exact = 0;
    for (std::size_t i = 0; i < p.size(); ++i) exact += double{p[i]} * v[i];
    error += std::fabs(plain::tensor_core_dot(rule, p, v, 0) - exact);
    size += std::fabs(exact);
  }
  EXPECT_NEAR(error / size, 0.03, 0.006);
}

TEST(SumDrift, OfAPairThatDoesNotExistIsASentence) {
  EXPECT_THAT(sentence_of<std::invalid_argument>([] { sum_drift({.gpu = TensorCore::a100}); }),
              ::testing::HasSubstr("a100 multiplies no e4m3"));
}

}  // namespace
}  // namespace attoscope::testing
