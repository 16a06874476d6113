/// Counts of P outside its format, by row and tile, equal the counts of every row's trace.
#include "kernels/questions/clipping.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

int total(const std::vector<std::uint16_t>& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

/// Gives P 8 bits or few exponents, which makes P saturate and underflow.
void make_clipping_likely(Experiment& e, Dice& dice) {
  e.a.precision[Step::P] = to_format(dice.one_in(2) ? e4m3 : Format{3, 2, Overflow::infinity, false});
  if (dice.one_in(2)) e.a.p_exponent = dice.between(-3, 10);
  if (dice.one_in(3)) e.problem.scale = 2;
  drop_impossible_accumulators(e);
}

Trace trace_of(Experiment e, int row) {
  e.problem.traced_row = row;
  e.problem.rows = 1;
  return compute(e).trace;
}

void expect_row(const Clipping& c, const Trace& trace, std::size_t sampled, std::size_t i) {
  std::vector<int> saturated(static_cast<std::size_t>(c.tiles)), underflowed = saturated;
  for (const TraceTile& t : trace.tiles) {
    saturated[static_cast<std::size_t>(t.tile)] = t.saturated;
    underflowed[static_cast<std::size_t>(t.tile)] = t.underflowed;
  }
  for (std::size_t t = 0; t < saturated.size(); ++t) {
    EXPECT_EQ(c.saturated[t * sampled + i], saturated[t]) << "tile " << t << " of row " << trace.row;
    EXPECT_EQ(c.underflowed[t * sampled + i], underflowed[t]) << "tile " << t << " of row " << trace.row;
  }
}

TEST(Clipping, CountsWhatTheTraceOfEveryRowCounts) {
  int saturated = 0, underflowed = 0;
  // runs until enough clips are counted: sanitizers run few experiments
  for (int seed = 1; seed <= experiments(60) || (seed <= 300 && (saturated <= 100 || underflowed <= 100)); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 300);
    Experiment e = random_experiment(dice);
    if (dice.one_in(2)) make_clipping_likely(e, dice);
    if (e.a.algorithm == Algorithm::two_pass) continue;
    e.problem.traced_row = 0;  // the traced row would change a subset of rows
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    const int most = dice.between(1, e.problem.n + 3);
    const Clipping c = clipping(e, most, {.threads = dice.between(1, 2)});
    const std::vector<int> rows = computed_rows(e.problem);
    const std::size_t sampled = (rows.size() + static_cast<std::size_t>(c.row_step) - 1) / static_cast<std::size_t>(c.row_step);
    ASSERT_LE(sampled, static_cast<std::size_t>(most));
    ASSERT_EQ(c.tiles, compute(e).rescales.tiles);
    ASSERT_EQ(c.saturated.size(), sampled * static_cast<std::size_t>(c.tiles));
    ASSERT_EQ(c.underflowed.size(), c.saturated.size());
    for (std::size_t i = 0; i < sampled; ++i)
      expect_row(c, trace_of(e, rows[i * static_cast<std::size_t>(c.row_step)]), sampled, i);
    saturated += total(c.saturated);
    underflowed += total(c.underflowed);
    if (HasFailure()) return;
  }
  EXPECT_GT(saturated, 100);
  EXPECT_GT(underflowed, 100);
}

/// Both algorithms have P = round(e / l), here with equal m and l.
TEST(Clipping, OfTwoPassesIsThatOfThree) {
  for (const int block_k : {1000, 16}) {
    Experiment e = small_experiment(bf16, 101, 24);
    e.problem.scale = 1;
    e.problem.mask.kind = Mask::Kind::causal;
    e.a.precision = Precision{};
    e.a.precision[Step::P] = to_format(e4m3);
    e.a.algorithm = Algorithm::three_pass;
    const Clipping three = clipping(e, 101);
    e.a.algorithm = Algorithm::two_pass;
    e.a.block_k = block_k;
    const Clipping two = clipping(e, 101);
    EXPECT_EQ(two.tiles, block_k == 16 ? 7 : 1);
    EXPECT_GT(total(three.underflowed), 100);
    EXPECT_EQ(total(two.underflowed), total(three.underflowed));
    EXPECT_EQ(total(two.saturated), total(three.saturated));
  }
}

TEST(Clipping, FindsNothingWhereNothingIsRounded) {
  Experiment e = small_experiment(bf16);
  e.a.precision = Precision{};
  const Clipping c = clipping(e, 50);
  EXPECT_EQ(c.row_step, 3);
  EXPECT_EQ(c.experiment, e);
  EXPECT_EQ(total(c.saturated), 0);
}

TEST(Clipping, OfWhatIsNotEmulatedIsEmpty) {
  Experiment e = small_experiment(bf16);
  e.a.algorithm = Algorithm::hardware;
  const Clipping c = clipping(e, 50);
  EXPECT_EQ(c.tiles, 0);
  EXPECT_TRUE(c.saturated.empty());
}

TEST(Clipping, StopsWhenAskedTo) {
  EXPECT_THROW(clipping(small_experiment(bf16, 400, 64), 400, {.cancelled = [] { return true; }}), Stopped);
}

}  // namespace
}  // namespace attoscope
