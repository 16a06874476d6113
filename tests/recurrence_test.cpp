/// What the recurrence must obey whatever the format: limits, invariances, known ratios, and the trace of what happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "kernels/compute.h"
#include "kernels/presets.h"
#include "tests/plain.h"
#include "tests/support.h"

namespace attoscope {
namespace {

using testing::describe;
using testing::Dice;
using testing::random_experiment;
using testing::same;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int experiments = 40;
#else
constexpr int experiments = 250;
#endif

Experiment small(Format format = fp32, int n = 101, int d = 24) {
  Experiment e = default_experiment();
  e.format = format;
  e.problem.n = n;
  e.problem.d = d;
  e.a.block_k = 16;
  return e;
}

/// Where the policies of section 3 round, and their flags, in the words of the design.
struct PolicyText {
  const char *name, *steps;
  Algorithm algorithm;
  bool accumulate_in_O = false;
};
constexpr auto all_steps = "input qk_step S m shifted e P l_step tile_sum alpha rescaled l pv_step PV O output";
constexpr PolicyText policy_table[] = {
    {"hw", "input P output", Algorithm::flash2, true},
    {"tile", "input m l O output", Algorithm::flash2},
    {"eager", "input S m shifted e P tile_sum alpha rescaled l PV O output", Algorithm::flash2},
    {"all_tile", all_steps, Algorithm::flash2},
    {"all_direct", all_steps, Algorithm::flash2, true},
    {"exact", "input", Algorithm::flash2},
    {"base_eager", "input S P output", Algorithm::three_pass},
    {"base_hw", "input P output", Algorithm::three_pass},
    {"base_ops", "input S m shifted e P tile_sum l output", Algorithm::three_pass},
    {"base_all", all_steps, Algorithm::three_pass},
    {"base_floor", "input output", Algorithm::three_pass},
};

TEST(Policies, RoundWhereTheDesignSays) {
  ASSERT_EQ(policies().size(), std::size(policy_table));
  for (const PolicyText& expected : policy_table) {
    const Policy& p = policy(expected.name);
    std::string steps;
    for (int i = 0; i < step_count; ++i) {
      const Rounding& r = p.precision.steps[static_cast<std::size_t>(i)];
      EXPECT_NE(r.kind, Rounding::Kind::format) << p.name;
      if (r.kind == Rounding::Kind::main) steps += (steps.empty() ? "" : " ") + std::string(name(static_cast<Step>(i)));
    }
    EXPECT_EQ(steps, expected.steps) << p.name;
    EXPECT_EQ(p.algorithm, expected.algorithm) << p.name;
    EXPECT_EQ(p.precision.accumulate_in_O, expected.accumulate_in_O) << p.name;
    EXPECT_FALSE(p.precision.sum_rounded_P) << p.name;
    EXPECT_EQ(policy_name(p.precision, p.algorithm), p.name);
  }
  EXPECT_EQ(policy_name({}, Algorithm::flash2), "");
  EXPECT_THROW(policy("fa7"), std::invalid_argument);
}

/// Mean over seeds 1 to 5 of a's mean absolute error over base_eager's, N(0,1), N=1024, d=64, block_k=64, bf16.
double published_ratio(const char* name) {
  Experiment e = default_experiment();
  e.problem.n = 1024;
  e.problem.d = 64;
  e.format = bf16;
  e.a = {Algorithm::flash2, 64, 64, policy(name).precision};
  e.b = {Algorithm::three_pass, 64, 64, policy("base_eager").precision};
  double sum = 0;
  for (e.problem.seed = 1; e.problem.seed <= 5; ++e.problem.seed) {
    const Result r = compute(e);
    sum += r.a_error.mean_abs / r.b_error.mean_abs;
  }
  return sum / 5;
}

TEST(Ratios, Fp32StateHalvesTheErrorOfTheBaseline) {
  const double ratio = published_ratio("hw");
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_GE(ratio, 0.48);
  EXPECT_LE(ratio, 0.52);
}

TEST(Ratios, RoundingEveryTensorNearlyDoublesIt) {
  const double ratio = published_ratio("eager");
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_GE(ratio, 1.75);
  EXPECT_LE(ratio, 1.97);
}

TEST(Limits, ExactStepsInFloatAndDoubleAreTheGoldenValueToTheirRounding) {
  for (const Format& f : {fp32, fp64})
    for (const auto algorithm : {Algorithm::flash2, Algorithm::three_pass}) {
      Experiment e = small(f);
      e.a = {algorithm, 16, 16, policy("hw").precision};
      const Result r = compute(e);
      EXPECT_LT(r.a_error.max_abs, 4 * epsilon(f)) << name(f) << ' ' << name(algorithm);
      EXPECT_EQ(r.a_error.nonfinite, 0);
    }
}

TEST(Limits, OneTileOfExactStepsIsThreePassToTheWorkingTypesRounding) {
  for (const Format& f : {bf16, fp64})
    for (const auto mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window}) {
      Experiment e = small(f);
      e.problem.mask = {mask, 30};
      e.a = {Algorithm::flash2, 64, e.problem.n, {}};
      e.b = {Algorithm::three_pass, 64, 64, {}};
      EXPECT_LT(compute(e).a_minus_b.max_abs, f == fp64 ? 1e-15 : 1e-6);
    }
}

TEST(Limits, TilesBeyondNActAsN) {
  Experiment e = small(bf16);
  e.a.precision = policy("eager").precision;
  e.a.block_k = e.problem.n;
  const Result exact_fit = compute(e);
  e.a.block_k = e.a.block_q = 1 << 30;
  EXPECT_EQ(compute(e).digests.a, exact_fit.digests.a);
}

TEST(Limits, OneTokenAttendsToItself) {
  for (const Policy& p : policies()) {
    Experiment e = small(bf16, 1, 3);
    e.a = {p.algorithm, 64, 64, p.precision};
    const Result r = compute(e);
    for (int col = 0; col < 3; ++col) EXPECT_EQ(r.a(0, col), r.inputs->v[static_cast<std::size_t>(col)]) << p.name;
  }
}

/// Integer queries and keys whose scores every step holds exactly; a last column adds `constant` to all scores of a row.
Experiment with_added_constant(double constant) {
  constexpr int n = 60, d = 9;
  Dice dice(7);
  Tensors t{n, d, {}, {}, {}};
  for (int row = 0; row < n; ++row)
    for (int col = 0; col < d; ++col) {
      const bool last = col == d - 1;
      t.q.push_back(last ? 1 : dice.between(-3, 3));
      t.k.push_back(last ? constant : dice.between(-3, 3));
      t.v.push_back(last ? 0 : static_cast<float>(dice.normal()));
    }
  Experiment e = small(fp32, n, d);
  e.problem.scale = 0.125;
  e.problem.input = testing::given(std::move(t));
  return e;
}

TEST(Invariance, AConstantAddedToExactScoresChangesNoBit) {
  const Result plain = compute(with_added_constant(0)), lifted = compute(with_added_constant(1000));
  EXPECT_EQ(plain.digests.a, lifted.digests.a);
  EXPECT_EQ(plain.digests.b, lifted.digests.b);
  EXPECT_EQ(plain.digests.golden, lifted.digests.golden);
}

TEST(Invariance, TheOrderOfWholeTilesMattersOnlyToRounding) {
  Experiment e = with_added_constant(0);
  const Result before = compute(e);
  Tensors t = *e.problem.input.tensors;
  const auto swap_halves = [](std::vector<double>& x) {
    std::ranges::rotate(x, x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  };
  swap_halves(t.k);
  swap_halves(t.v);
  e.problem.input = testing::given(std::move(t));
  const Result after = compute(e);
  for (std::size_t i = 0; i < before.a.values.size(); ++i) {
    EXPECT_NEAR(before.golden->values[i], after.golden->values[i], 1e-15);
    EXPECT_NEAR(before.a.values[i], after.a.values[i], 1e-6);
  }
}

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

/// As EXPECT_NEAR, relative, NaN equal to NaN and infinity to itself.
void expect_close(double x, double y, const char* what) {
  if (same(x, y)) return;
  EXPECT_NEAR(x, y, 1e-9 * std::fabs(y) + 1e-14) << what;
}

/// max |O/l - golden of the same keys|; not finite where one of them is not.
double error_so_far(const Result& r, const plain::Tile& tile, int row) {
  Keys keys = visible_keys(r.experiment.problem.mask, row, r.experiment.problem.n);
  const Method& a = r.experiment.a;
  if (a.algorithm == Algorithm::flash2) keys.end = static_cast<int>(std::min<long>(keys.end, (tile.tile + 1L) * a.block_k));
  const std::vector<long double> golden = plain::softmax(*r.inputs, scale_of(r.experiment.problem), row, keys);
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

/// True if x is above f's numbers and became y by overflow, not by rounding down.
bool is_beyond(const Format& f, double x, double y) { return x > largest(f) && same(y, overflowed<double>(f, false)); }

/// Keys up to tile `last` whose score is the max in use, beyond the first such key; from the tile on that set the max.
int ties_until(const plain::Row& row, std::size_t last) {
  int keys = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    if (row.tiles[i].moved) keys = 0;
    keys += static_cast<int>(std::ranges::count(row.tiles[i].S, row.tiles[i].m));
  }
  return std::max(0, keys - 1);
}

int ties_in(const plain::Row& row, std::size_t tile) {
  const bool same_max = tile > 0 && !row.tiles[tile].moved;
  return ties_until(row, tile) - (same_max ? ties_until(row, tile - 1) : 0);
}

void expect_trace_tile(const TraceTile& seen, const plain::Tile& expected, const Experiment& e) {
  EXPECT_EQ(seen.tile, expected.tile);
  EXPECT_TRUE(same(seen.max_true, expected.max_true)) << seen.max_true << ' ' << expected.max_true;
  EXPECT_TRUE(same(seen.max_used, expected.m)) << seen.max_used << ' ' << expected.m;
  EXPECT_TRUE(same(seen.alpha, expected.alpha)) << seen.alpha << ' ' << expected.alpha;
  EXPECT_TRUE(same(seen.l, expected.l)) << seen.l << ' ' << expected.l;
  expect_close(seen.o_norm, norm(expected.O), "o_norm");
  EXPECT_EQ(seen.moved, expected.moved);
  double p_max = 0;
  int underflowed = 0, saturated = 0;
  const Rounding& P = e.a.precision[Step::P];
  for (std::size_t j = 0; j < expected.P.size(); ++j) {
    p_max = std::max(p_max, expected.P[j]);
    underflowed += expected.before_P[j] > 0 && expected.P[j] == 0;
    saturated += P.kind != Rounding::Kind::exact && is_beyond(format_of(P, e.format), expected.before_P[j], expected.P[j]);
  }
  EXPECT_TRUE(same(seen.p_max, p_max)) << seen.p_max << ' ' << p_max;
  EXPECT_EQ(seen.underflowed, underflowed);
  EXPECT_EQ(seen.saturated, saturated);
}

TEST(Trace, TellsOfEveryTileWhatThePlainReferenceDid) {
  for (int seed = 1; seed <= experiments; ++seed) {
    Dice dice(static_cast<std::uint64_t>(1000 + seed));
    const Experiment e = random_experiment(dice);
    const Result r = compute(e);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    ASSERT_EQ(r.trace.row, traced_row(e.problem));
    const plain::Row row = plain::attend(e, e.a, *r.inputs, r.trace.row);
    ASSERT_EQ(r.trace.tiles.size(), row.tiles.size());
    for (std::size_t i = 0; i < row.tiles.size(); ++i) {
      expect_trace_tile(r.trace.tiles[i], row.tiles[i], e);
      EXPECT_EQ(r.trace.tiles[i].ties, ties_in(row, i));
      if (works_in_double(e) && is_extreme(*r.inputs)) continue;
      expect_error(r.trace.tiles[i].error, error_so_far(r, row.tiles[i], r.trace.row), largest_value(*r.inputs));
    }
    if (HasFailure()) return;
  }
}

TEST(Trace, EndsWithTheErrorOfItsRow) {
  for (const char* name : {"hw", "tile", "eager", "all_tile"})
    for (const int row : {0, 50, 100}) {
      Experiment e = small(bf16);
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
  Experiment e = small(fp32, 40, 4);
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
  Experiment e = small(bf16);
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
std::vector<plain::Row> plain_rows(const Result& r) {
  std::vector<plain::Row> rows;
  for (const int row : r.rows) rows.push_back(plain::attend(r.experiment, r.experiment.a, *r.inputs, row));
  return rows;
}

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
    nominal += static_cast<double>(row.tiles.size()) - 1;
    for (std::size_t i = 0; i < row.tiles.size(); ++i) {
      const auto tile = static_cast<std::size_t>(row.tiles[i].tile);
      moved[tile] += row.tiles[i].moved;
      expected[tile] += i == 0 ? 0 : 1.0 / static_cast<double>(i + 1);
      maxima[tile].push_back(row.tiles[i].m);
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
  return e;
}

TEST(Rescales, AreCountedAsTheRowsOfThePlainReferenceMove) {
  for (int seed = 1; seed <= experiments; ++seed) {
    Dice dice(static_cast<std::uint64_t>(2000 + seed));
    const Experiment e = of_normal_scores(dice);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    const Result r = compute(e);
    if (e.a.algorithm == Algorithm::flash2) {
      EXPECT_EQ(r.rescales.tiles, (e.problem.n + e.a.block_k - 1) / e.a.block_k);
    }
    expect_rescales(r);
    if (HasFailure()) return;
  }
}

TEST(Rescales, AreAsManyAsRecordsAmongExchangeableScores) {
  Experiment e = default_experiment();  // N=1024, 16 tiles: H_16 - 1 = 2.38
  const Result r = compute(e);
  EXPECT_EQ(r.rescales.tiles, 16);
  EXPECT_EQ(r.rescales.nominal, 15);
  EXPECT_NEAR(r.rescales.expected, 2.380729, 1e-6);
  EXPECT_NEAR(r.rescales.effective_mean, r.rescales.expected, 0.1);
}

TEST(Rescales, HappenAtEveryTileOfAscendingScoresAndNeverOfDescendingOnes) {
  Experiment e = small(fp32, 64, 8);
  e.problem.input.kind = InputKind::ascending;
  EXPECT_EQ(compute(e).rescales.effective_mean, 3);
  e.problem.input.kind = InputKind::descending;
  EXPECT_EQ(compute(e).rescales.effective_mean, 0);
}

TEST(RescaleMap, HoldsTheRunningMaxOfEveryRowAndTile) {
  for (int seed = 1; seed <= experiments; ++seed) {
    Dice dice(static_cast<std::uint64_t>(3000 + seed));
    const Experiment e = of_normal_scores(dice);
    const Result r = compute(e);
    const std::vector<plain::Row> rows = plain_rows(r);
    const auto held =
        (rows.size() + static_cast<std::size_t>(r.rescale_map.row_step) - 1) / static_cast<std::size_t>(r.rescale_map.row_step);
    std::vector<float> expected(static_cast<std::size_t>(r.rescale_map.tiles) * held, NAN);
    for (std::size_t i = 0; i < held; ++i)
      for (const plain::Tile& t : rows[i * static_cast<std::size_t>(r.rescale_map.row_step)].tiles)
        expected[static_cast<std::size_t>(t.tile) * held + i] = static_cast<float>(t.m);
    ASSERT_TRUE(std::ranges::equal(r.rescale_map.m, expected, same<float>)) << "seed " << seed << ": " << describe(e);
  }
}

}  // namespace
}  // namespace attoscope
