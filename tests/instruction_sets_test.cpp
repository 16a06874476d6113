/// SSE2, AVX2, AVX-512 and the GPU's lanes on the same random questions, in one process: one answer, to the last bit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/compute.h"
#include "kernels/job.h"
#include "tests/support.h"

namespace attoscope {
namespace {

using testing::describe;
using testing::Dice;
using testing::experiments;
using testing::same;

/// Sets ATTOSCOPE_ISA for a scope.
class Narrowed {
 public:
  explicit Narrowed(const char* isa) : before_(std::getenv("ATTOSCOPE_ISA") ? std::getenv("ATTOSCOPE_ISA") : "") {
    setenv("ATTOSCOPE_ISA", isa, 1);
  }
  Narrowed(const Narrowed&) = delete;
  Narrowed& operator=(const Narrowed&) = delete;
  ~Narrowed() { setenv("ATTOSCOPE_ISA", before_.c_str(), 1); }

 private:
  std::string before_;
};

bool machine_runs(const char* isa) {
  const Narrowed narrowed(isa);
  try {
    return instruction_set().name == std::string(isa);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void expect_same(double x, double y, const char* what) { EXPECT_TRUE(same(x, y)) << what << ": " << x << " and " << y; }

void expect_same_errors(const Deviation& x, const Deviation& y) {
  expect_same(x.max_abs, y.max_abs, "max_abs");
  expect_same(x.mean_abs, y.mean_abs, "mean_abs");
  expect_same(x.rms, y.rms, "rms");
  expect_same(x.std, y.std, "std");
  expect_same(x.bias, y.bias, "bias");
  expect_same(x.cosine, y.cosine, "cosine");
  expect_same(x.wasserstein, y.wasserstein, "wasserstein");
  expect_same(x.max_ulp, y.max_ulp, "max_ulp");
  EXPECT_EQ(x.nonfinite, y.nonfinite);
  EXPECT_EQ(x.ulps.counts, y.ulps.counts);
}

void expect_same_answer(const Result& x, const Result& y) {
  EXPECT_EQ(x.digests.golden, y.digests.golden);
  EXPECT_EQ(x.digests.a, y.digests.a);
  EXPECT_EQ(x.digests.b, y.digests.b);
  expect_same_errors(x.a_error, y.a_error);
  expect_same_errors(x.b_error, y.b_error);
  expect_same_errors(x.a_minus_b, y.a_minus_b);
  EXPECT_EQ(x.rescales.per_tile, y.rescales.per_tile);
  ASSERT_EQ(x.trace.tiles.size(), y.trace.tiles.size());
  for (std::size_t i = 0; i < x.trace.tiles.size(); ++i) {
    const TraceTile &s = x.trace.tiles[i], &t = y.trace.tiles[i];
    for (const auto& [p, q] : {std::pair{s.max_true, t.max_true},
                               {s.max_used, t.max_used},
                               {s.alpha, t.alpha},
                               {s.l, t.l},
                               {s.o_norm, t.o_norm},
                               {s.p_max, t.p_max},
                               {s.error, t.error}})
      expect_same(p, q, "trace");
    EXPECT_EQ(s.saturated, t.saturated);
    EXPECT_EQ(s.underflowed, t.underflowed);
    EXPECT_EQ(s.ties, t.ties);
  }
}

TEST(InstructionSets, GiveOneAnswerToRandomQuestionsStochasticOnesToo) {
  int compared = 0;
  for (const char* isa : {"sse2", "avx2", "avx512", "simt"}) {
    if (!machine_runs(isa)) continue;
    for (int seed = 1; seed <= experiments(300); ++seed) {
      Dice dice(static_cast<std::uint64_t>(8000 + seed));
      Experiment e = testing::random_experiment(dice);
      if (dice.one_in(2)) testing::make_stochastic(e.a, dice, dice.between(1, 3));
      if (dice.one_in(3)) testing::make_stochastic(e.b, dice, 2);
      const Result best = compute(e);
      const Narrowed narrowed(isa);
      SCOPED_TRACE(std::string(isa) + ", seed " + std::to_string(seed) + ": " + describe(e));
      expect_same_answer(compute(e), best);
      if (HasFailure()) return;
      ++compared;
    }
  }
  EXPECT_GE(compared, experiments(300));
}

}  // namespace
}  // namespace attoscope
