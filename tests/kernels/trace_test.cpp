/// Trace of one row and counts over all rows: compute() and the plain reference give the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "kernels/compute.h"
#include "kernels/cpu/inputs.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/reference/plain.h"
#include "tests/support/seeds.h"

namespace attoscope::trace_test {
namespace {

using namespace testing;  // attoscope::testing

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

/// EXPECT_NEAR, relative; NaN equals NaN, and infinity itself.
void expect_close(double x, double y, const char* what) {
  if (same(x, y)) return;
  EXPECT_NEAR(x, y, 1e-9 * std::fabs(y) + 1e-14) << what;
}

/// max |output - golden of the same keys|; not finite if an element is not, NaN if there is no O yet.
double error_so_far(const Result& r, const plain::Tile& tile, int row) {
  if (tile.output.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<long double> golden = plain::softmax(r.experiment.problem, *r.inputs, row, tile.seen);
  double worst = 0;
  for (std::size_t col = 0; col < golden.size() && std::isfinite(worst); ++col) {
    const auto error = static_cast<double>(std::fabs(tile.output[col] - golden[col]));
    worst = error <= worst ? worst : error;  // NaN replaces
  }
  return worst;
}

/// The largest finite magnitude among the values.
double largest_value(const Tensors& t) {
  double largest = 0;
  for (const double v : t.v)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  return largest;
}

/// True if double-double may overflow where 113 bits with a wide exponent do not.
bool is_extreme(const Tensors& t) {
  const auto extreme = [](double x) { return !(std::fabs(x) < 1e150); };
  return std::ranges::any_of(t.q, extreme) || std::ranges::any_of(t.k, extreme) || std::ranges::any_of(t.v, extreme);
}

void expect_error(double seen, double expected, double largest) {
  if (std::isfinite(expected)) {
    EXPECT_NEAR(seen, expected, 1e-9 * expected + 1e-14 * (1 + largest)) << "error";
  } else {
    EXPECT_FALSE(std::isfinite(seen)) << "error is " << seen << ", expected " << expected;
  }
}

/// True if x exceeds f's largest number and y is f's overflow result, not x rounded down.
bool is_beyond(const Format& f, double x, double y) { return x > largest(f) && same(y, overflowed<double>(f, false)); }

/// Number of keys whose score equals the current max, less one, from the tile that set this max to tile `last`.
int ties_until(const plain::Row& row, std::size_t last) {
  int keys = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    if (row.tiles[i].moved || row.tiles[i].restarts) keys = 0;
    keys += static_cast<int>(std::ranges::count(row.tiles[i].S, row.tiles[i].m));
  }
  return std::max(0, keys - 1);
}

int ties_in(const plain::Row& row, std::size_t tile) {
  const bool same_max = tile > 0 && !row.tiles[tile].moved && !row.tiles[tile].restarts;
  return ties_until(row, tile) - (same_max ? ties_until(row, tile - 1) : 0);
}

/// m as a score, one multiplication in the working type.
double as_score(const Experiment& e, double m, double unit) {
  return works_in_double(e) ? m * unit : static_cast<double>(static_cast<float>(m) * static_cast<float>(unit));
}

/// True if P is saturated at the largest number of its format; in blocks, no number is too large for its scale.
bool is_saturated(const Experiment& e, double before, double P) {
  const Scaling& s = e.a.scaling.P;
  const Rounding& r = e.a.precision[Step::P];
  const Format f = format_of(r, e.format);
  const bool rounds = r.kind != Rounding::Kind::exact && (f != fp32 || works_in_double(e));  // fp32 has every float
  if (!s.is_on()) return rounds && is_beyond(f, before, P);
  return s.granularity == Granularity::head && before * (s.shifts ? 1 : s.factor) > largest(s.element);
}

void expect_trace_tile(const TraceTile& seen, const plain::Tile& expected, double unit, const Experiment& e) {
  EXPECT_EQ(seen.tile, expected.tile);
  const double max_true = as_score(e, expected.max_true, unit), max_used = as_score(e, expected.m, unit);
  EXPECT_TRUE(same(seen.max_true, max_true)) << seen.max_true << ' ' << max_true;
  EXPECT_TRUE(same(seen.max_used, max_used)) << seen.max_used << ' ' << max_used;
  EXPECT_TRUE(same(seen.alpha, expected.alpha)) << seen.alpha << ' ' << expected.alpha;
  EXPECT_TRUE(same(seen.l, expected.l)) << seen.l << ' ' << expected.l;
  expect_close(seen.o_norm, expected.O.empty() ? std::numeric_limits<double>::quiet_NaN() : norm(expected.O), "o_norm");
  EXPECT_EQ(seen.moved, expected.moved);
  double p_max = 0;
  int underflowed = 0, saturated = 0;
  for (std::size_t j = 0; j < expected.P.size(); ++j) {
    if (expected.P[j] > p_max || std::isnan(expected.P[j])) p_max = expected.P[j];
    underflowed += expected.before_P[j] > 0 && expected.P[j] == 0;
    saturated += is_saturated(e, expected.before_P[j], expected.P[j]);
  }
  EXPECT_TRUE(same(seen.p_max, p_max)) << seen.p_max << ' ' << p_max;
  EXPECT_EQ(seen.underflowed, underflowed);
  EXPECT_EQ(seen.saturated, saturated);
}

TEST(Trace, TellsOfEveryTileWhatThePlainReferenceDid) {
  with_seeds(1001, experiments(250), [&](Dice& dice) {
    const Experiment e = random_experiment(dice);
    const Result r = compute(e);
    SCOPED_TRACE(describe(e));
    ASSERT_EQ(r.trace.row, traced_row(e.problem));
    const plain::Row row = plain::attend(e, e.a, *r.inputs, r.trace.row);
    ASSERT_EQ(r.trace.tiles.size(), row.tiles.size());
    for (std::size_t i = 0; i < row.tiles.size(); ++i) {
      expect_trace_tile(r.trace.tiles[i], row.tiles[i], row.score_unit, e);
      EXPECT_EQ(r.trace.tiles[i].ties, ties_in(row, i));
      if (works_in_double(e) && is_extreme(*r.inputs)) continue;
      expect_error(r.trace.tiles[i].error, error_so_far(r, row.tiles[i], r.trace.row), largest_value(*r.inputs));
    }
  });
}

TEST(Trace, EndsWithTheErrorOfItsRow) {
  for (const char* name : {"hw", "tile", "eager", "all_tile"})
    for (const int row : {0, 50, 100}) {
      Experiment e = small_experiment(bf16);
      e.problem.mask.kind = Mask::Kind::causal;
      e.problem.traced_row = row;
      e.a.precision = policy(name).precision;
      const Result r = compute(e);
      double worst = 0;
      for (int col = 0; col < e.problem.d; ++col) worst = std::max(worst, std::fabs(r.a(row, col) - (*r.golden)(row, col)));
      EXPECT_NEAR(r.trace.tiles.back().error, worst, 1e-15) << name << " row " << row;
    }
}

TEST(Trace, CountsTiesBeyondTheFirstKeyAtTheMaximum) {
  Experiment e = small_experiment(fp32, 40, 4);
  e.problem.input.kind = InputKind::constant;
  const Result r = compute(e);  // all scores are equal: every key but the first is a tie
  const auto& tiles = r.trace.tiles;
  ASSERT_EQ(tiles.size(), 3u);
  EXPECT_EQ(tiles[0].ties, 15);
  EXPECT_EQ(tiles[1].ties, 16);
  EXPECT_EQ(tiles[2].ties, 8);
  EXPECT_FALSE(tiles[2].moved);
}

TEST(Trace, IsTheSameWhicheverRowsAreComputed) {
  Experiment e = small_experiment(bf16);
  e.problem.traced_row = 37;
  const Result full = compute(e);
  e.problem.rows = 3;
  const Result part = compute(e);
  ASSERT_EQ(part.trace.row, 37);
  ASSERT_EQ(part.trace.tiles.size(), full.trace.tiles.size());
  EXPECT_EQ(part.trace.tiles.back().l, full.trace.tiles.back().l);
  EXPECT_EQ(part.trace.tiles.back().error, full.trace.tiles.back().error);
}

/// All rows' tiles of method a, as plain::attend has them.
std::vector<plain::Row> plain_rows(const Result& r) { return plain::attend(r.experiment, r.experiment.a, *r.inputs, r.rows); }

/// The number whose rank is nearest to q.
double quantile(std::vector<double> x, double q) {
  std::ranges::sort(x);
  return x[static_cast<std::size_t>(std::lround(q * static_cast<double>(x.size() - 1)))];
}

void expect_rescales(const Result& r) {
  const std::vector<plain::Row> rows = plain_rows(r);
  const auto tiles = static_cast<std::size_t>(r.rescales.tiles);
  std::vector<std::int64_t> moved(tiles);
  std::vector<double> expected(tiles);
  std::map<std::size_t, std::vector<double>> maxima;
  double nominal = 0;
  for (const plain::Row& row : rows) {
    int since_restart = 0;  // tiles of the row or run so far
    for (const plain::Tile& t : row.tiles) {
      const auto tile = static_cast<std::size_t>(t.tile);
      since_restart = t.restarts ? 1 : since_restart + 1;
      nominal += since_restart > 1;
      moved[tile] += t.moved;
      expected[tile] += since_restart == 1 ? 0 : 1.0 / since_restart;
      maxima[tile].push_back(as_score(r.experiment, t.m, row.score_unit));
    }
  }
  const auto count = static_cast<double>(rows.size());
  EXPECT_EQ(r.rescales.per_tile, moved);
  EXPECT_DOUBLE_EQ(r.rescales.nominal, nominal / count);
  EXPECT_DOUBLE_EQ(r.rescales.effective_mean, static_cast<double>(std::reduce(moved.begin(), moved.end())) / count);
  EXPECT_NEAR(r.rescales.expected, std::reduce(expected.begin(), expected.end()) / count, 1e-12);
  ASSERT_EQ(r.rescales.expected_per_tile.size(), tiles);
  ASSERT_EQ(r.rescales.max_quantiles.size(), tiles);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    EXPECT_NEAR(r.rescales.expected_per_tile[tile], expected[tile], 1e-12);
    const auto& quantiles = r.rescales.max_quantiles[tile];
    if (!maxima.contains(tile)) {
      EXPECT_TRUE(std::isnan(quantiles[2]));
      continue;
    }
    if (r.rescale_map.row_step != 1) continue;  // taken from a sample
    static constexpr double levels[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(quantiles[i], static_cast<float>(quantile(maxima[tile], levels[i]))) << tile << ' ' << i;
  }
}

Experiment of_normal_scores(Dice& dice) {
  Experiment e = random_experiment(dice);
  e.problem.input = {};
  e.format = bf16;
  e.a.precision = policy(dice.any(std::array{"hw", "tile", "eager"})).precision;
  drop_impossible_accumulators(e);
  return e;
}

TEST(Rescales, AreCountedAsTheRowsOfThePlainReferenceMove) {
  with_seeds(2001, experiments(250), [&](Dice& dice) {
    const Experiment e = of_normal_scores(dice);
    SCOPED_TRACE(describe(e));
    const Result r = compute(e);
    if (e.a.algorithm != Algorithm::three_pass) {
      EXPECT_EQ(r.rescales.tiles, (key_count(e.problem) + e.a.block_k - 1) / e.a.block_k);
    }
    expect_rescales(r);
  });
}

TEST(Rescales, AreAsManyAsRecordsAmongExchangeableScores) {
  Experiment e = default_experiment();  // N=1024, 16 tiles: H_16 - 1 = 2.38
  const Result r = compute(e);
  EXPECT_EQ(r.rescales.tiles, 16);
  EXPECT_EQ(r.rescales.nominal, 15);
  EXPECT_NEAR(r.rescales.expected, 2.380729, 1e-6);
  EXPECT_NEAR(r.rescales.effective_mean, r.rescales.expected, 0.1);
}

TEST(Rescales, LeaveOutTilesThatAMaskTensorDrops) {
  Experiment e = small_experiment(bf16, 256, 8);  // 16 tiles, of which the rows see the first and the last
  std::vector<double> terms(256 * 256);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (const std::size_t tile = i % 256 / 16; tile != 0 && tile != 15) terms[i] = -std::numeric_limits<double>::infinity();
  Tensors t = *raw_inputs(e.problem);
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(256, 256, std::move(terms)));
  e.problem.input = given(std::move(t));
  const Rescales r = compute(e).rescales;
  EXPECT_EQ(r.nominal, 1);
  EXPECT_EQ(r.expected, 0.5);
  EXPECT_EQ(r.expected_per_tile[1], 0);
  EXPECT_EQ(r.expected_per_tile[15], 128);
}

TEST(Rescales, HappenAtEveryTileOfAscendingScoresAndNeverOfDescendingOnes) {
  Experiment e = small_experiment(fp32, 64, 8);
  e.problem.input.kind = InputKind::ascending;
  EXPECT_EQ(compute(e).rescales.effective_mean, 3);
  e.problem.input.kind = InputKind::descending;
  EXPECT_EQ(compute(e).rescales.effective_mean, 0);
}

TEST(RescaleMap, HoldsTheRunningMaxOfEveryRowAndTile) {
  with_seeds(3001, experiments(250), [&](Dice& dice) {
    const Experiment e = of_normal_scores(dice);
    const Result r = compute(e);
    const std::vector<plain::Row> rows = plain_rows(r);
    const auto held =
        (rows.size() + static_cast<std::size_t>(r.rescale_map.row_step) - 1) / static_cast<std::size_t>(r.rescale_map.row_step);
    std::vector<float> expected(static_cast<std::size_t>(r.rescale_map.tiles) * held, NAN);
    for (std::size_t i = 0; i < held; ++i)
      for (const plain::Tile& t : rows[i * static_cast<std::size_t>(r.rescale_map.row_step)].tiles)
        expected[static_cast<std::size_t>(t.tile) * held + i] = static_cast<float>(as_score(e, t.m, rows[i].score_unit));
    ASSERT_TRUE(std::ranges::equal(r.rescale_map.m, expected, same<float>)) << describe(e);
  });
}

}  // namespace
}  // namespace attoscope::trace_test
