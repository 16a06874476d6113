// Sweeps: axes, computing and sharding of points, tables; compared with points computed one by one.
#include "app/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "app/json/json_place.h"
#include "app/papers/sweep_figure.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/sweep_ledger.h"
#include "app/sweep/table.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "ui/words/sentences.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Sweep small_sweep() {
  Sweep s;
  s.base = default_experiment();
  s.base.problem.n = 96;
  s.base.problem.d = 16;
  s.axes = {parse_axis("block_k=16:64:x2"), parse_axis("format=bf16,fp16")};
  s.seeds = 3;
  return s;
}

TEST(Axis, Ranges) {
  EXPECT_THAT(parse_axis("block_k=16:128:x2").values, ElementsAre("16", "32", "64", "128"));
  EXPECT_THAT(parse_axis("block_k=16:100:x2").values, ElementsAre("16", "32", "64"));
  EXPECT_THAT(parse_axis("mantissa_bits=7:10").values, ElementsAre("7", "8", "9", "10"));
  EXPECT_THAT(parse_axis("alibi=0:1:0.25").values, ElementsAre("0", "0.25", "0.5", "0.75", "1"));
  EXPECT_THAT(parse_axis("sink=-0.3:0:0.1").values, AllOf(SizeIs(4), Contains("0"))) << "-0.3 + 3 * 0.1 is above 0";
  EXPECT_THAT(parse_axis("a.splits=1:4:x2").values, ElementsAre("1", "2", "4"));
  EXPECT_THAT(parse_axis("b.grad.block_k=8:10").values, ElementsAre("8", "9", "10"));
  EXPECT_THAT(parse_axis("a.order=interleaved:4,pairwise").values, ElementsAre("interleaved:4", "pairwise"));
  EXPECT_THAT(parse_axis("n=50000:100000:x2").values, ElementsAre("50000", "100000"));
  EXPECT_THAT(parse_axis("format=bf16,e5m7").values, ElementsAre("bf16", "e5m7"));
  EXPECT_THAT(parse_axis("input=q.npy,k.npy,v.npy;normal").values, ElementsAre("q.npy,k.npy,v.npy", "normal"));
  EXPECT_THAT(parse_axis("input=q.npy,k.npy,v.npy;").values.front(), "q.npy,k.npy,v.npy");
}

TEST(Axis, TextReadsBack) {
  for (const char* const text : {"block_k=16,32", "a.O=exact,fp32", "input=q.npy,k.npy,v.npy;normal", "scale=auto,0.5"})
    EXPECT_EQ(parse_axis(axis_text(parse_axis(text))), parse_axis(text)) << text;
}

TEST(Axis, RefusesInASentence) {
  for (const auto& [text, what] : std::vector<std::pair<const char*, const char*>>{{"block_k", "expected KEY=VALUES"},
                                                                                   {"block_k=", "expected KEY=VALUES"},
                                                                                   {"colour=red", "'colour' is unknown"},
                                                                                   {"block_k=64:16:x2", "FIRST:LAST"},
                                                                                   {"block_k=16:64:x1", "FIRST:LAST"},
                                                                                   {"block_k=16:64:x", "FIRST:LAST"},
                                                                                   {"block_k=0:64:x2", "FIRST:LAST"},
                                                                                   {"block_k=1:2:3:4", "FIRST:LAST"},
                                                                                   {"scale=0:1:1e-9", "FIRST:LAST"},
                                                                                   {"scale=nan:1", "FIRST:LAST"},
                                                                                   {"n=8,8", "twice"}})
    EXPECT_THAT(sentence_of<std::exception>([&, t = text] { parse_axis(t); }), HasSubstr(what)) << text;
  std::string many = "seed=0";
  for (std::size_t i = 1; i <= max_axis_values; ++i) many += "," + std::to_string(i);
  EXPECT_THAT(sentence_of<std::exception>([&] { parse_axis(many); }), HasSubstr("has 4097 values, expected at most 4096"));
}

TEST(Axis, EveryKeySetsWhatItSays) {
  const Experiment base = default_experiment();
  const auto varied = [&](const char* key, const char* value) {
    Experiment e = base;
    vary(e, key, value);
    return e;
  };
  Experiment e = base;
  e.a.block_q = e.b.block_q = 16;
  e.a.block_k = e.b.block_k = 256;
  EXPECT_EQ(varied("tile", "16x256"), e);
  e.a.block_q = e.b.block_q = e.a.block_k = e.b.block_k = 32;
  EXPECT_EQ(varied("tile_square", "32"), e);
  e = base;
  e.a.block_k = e.b.block_k = 8;
  EXPECT_EQ(varied("tile_area", "512"), e);
  EXPECT_THAT(sentence_of<std::invalid_argument>([&] { varied("tile_area", "100"); }),
              HasSubstr("vary tile_area is '100', expected a multiple of block_q, which is 64"));
  e = base;
  e.a.precision = policy("tile").precision;
  EXPECT_EQ(varied("policy", "tile"), e);
  EXPECT_EQ(varied("policy", "base_ops").a.algorithm, Algorithm::three_pass);
  EXPECT_EQ(varied("algorithm", "three_pass").a.precision, policy("base_hw").precision);
  e = base;
  e.a.precision[Step::O] = {Rounding::Kind::format, fp16};
  EXPECT_EQ(varied("a.O", "fp16"), e);
  e = base;
  e.format.mantissa_bits = 5;
  EXPECT_EQ(varied("mantissa_bits", "5"), e);
  EXPECT_EQ(varied("format", "e4m3").a.tau, usual_tau(e4m3));
  for (const AxisKey& key : axis_keys())
    EXPECT_FALSE(sentence_of<std::exception>([&] { vary(e, key.key, "no such thing"); }).empty()) << key.key;
}

TEST(Axis, SwappedTilesAreSwappedAfterTheyAreSet) {
  Sweep s = small_sweep();
  s.seeds = 1;
  for (const bool tile_first : {true, false}) {
    s.axes = {parse_axis("tile=16x64"), parse_axis("tile_order=natural,swapped")};
    if (!tile_first) std::swap(s.axes[0], s.axes[1]);
    const Experiment e = experiment_of(s, 1);
    EXPECT_EQ(e.a.block_q, 64);
    EXPECT_EQ(e.a.block_k, 16);
  }
}

TEST(Axis, AVariedSeedIsTheFirstOfItsSeeds) {
  Sweep s = small_sweep();
  s.seeds = 3;
  s.axes = {parse_axis("seed=7,20")};
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < point_count(s); ++i) seeds.insert(experiment_of(s, i).problem.seed);
  EXPECT_THAT(seeds, ElementsAre(7, 8, 9, 20, 21, 22));
}

TEST(PointsCsv, AVariedSeedAndThePointsOwnAreTwoColumns) {
  Sweep s = small_sweep();
  s.seeds = 2;
  s.axes = {parse_axis("seed=7,20")};
  const std::vector<SweepAnswer> answers{{1, false, std::nullopt, "no room", 0}, {2, false, std::nullopt, "no room", 0}};
  const std::string text = points_csv(s, answers);
  EXPECT_THAT(text, AllOf(StartsWith("point,seed,point_seed,a."), HasSubstr("\n1,7,8,"), HasSubstr("\n2,20,20,")));
  EXPECT_EQ(parse_points_csv(s, text).size(), 2u);
}

TEST(Sweep, PointsAreAllCombinationsOnceAndTruthsStandTogether) {
  const Sweep s = small_sweep();
  ASSERT_EQ(point_count(s), 18u);
  std::set<std::array<int, 3>> places;
  int truths = 1;
  for (std::size_t i = 0; i < 18; ++i) {
    const PointPlace p = place_of(s, i);
    places.insert({p.at[0], p.at[1], p.seed});
    if (i > 0) truths += place_of(s, i - 1).seed != p.seed || place_of(s, i - 1).at[1] != p.at[1];
  }
  EXPECT_EQ(places.size(), 18u);
  EXPECT_EQ(truths, 6);
}

TEST(Sweep, AnswersAreThoseOfCompute) {
  const Sweep s = small_sweep();
  const std::vector<SweepAnswer> answers = run_sweep(s, {});
  ASSERT_EQ(answers.size(), 18u);
  for (const SweepAnswer& a : answers) EXPECT_EQ(a.summary, summary(compute(experiment_of(s, a.index)))) << a.index;
  for (const int threads : {1, 3}) {
    const std::vector<SweepAnswer> again = run_sweep(s, {.threads = threads});
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(again[i].summary, answers[i].summary);
  }
}

TEST(Sweep, RowsAreMeanAndSpreadOverSeeds) {
  const Sweep s = small_sweep();
  const Measure measure = parse_measure("ratio.rms");
  const std::vector<SweepRow> table = rows(s, measure, run_sweep(s, {}));
  ASSERT_EQ(table.size(), 6u);
  EXPECT_THAT(table[3].values, ElementsAre("32", "fp16"));
  std::vector<double> values;
  for (int seed = 1; seed <= 3; ++seed) {
    Experiment e = s.base;
    e.problem.seed = static_cast<std::uint64_t>(seed);
    e.a.block_k = e.b.block_k = 32;
    e.format = fp16;
    const Result r = compute(e);
    values.push_back(r.a_error.rms / r.b_error.rms);
  }
  const double mean = (values[0] + values[1] + values[2]) / 3;
  double square = 0;
  for (const double v : values) square += (v - mean) * (v - mean);
  EXPECT_DOUBLE_EQ(table[3].mean, mean);
  EXPECT_NEAR(table[3].std, std::sqrt(square / 2), 1e-12);
  EXPECT_EQ(table[3].min, *std::ranges::min_element(values));
  EXPECT_EQ(table[3].max, *std::ranges::max_element(values));
}

TEST(Sweep, EqualValuesHaveNoSpread) {
  Sweep s = small_sweep();
  s.axes = {parse_axis("block_k=16")};
  s.seeds = 5;
  for (const double value : {0.006950422026246301, 0.0075708187099420045, 1.0 / 3, 1e308, -2.7e-300, 0.0}) {
    std::vector<SweepAnswer> answers;
    for (std::size_t i = 0; i < 5; ++i) {
      PointSummary p;
      p.a.mean_abs = value;
      answers.push_back({i, false, p, "", 0});
    }
    const SweepRow row = rows(s, parse_measure("a.mean_abs"), answers).front();
    EXPECT_EQ(row.std, 0) << value;
    EXPECT_EQ(row.mean, value);
    EXPECT_EQ(row.min, value);
    EXPECT_EQ(row.max, value);
  }
}

TEST(Sweep, TooManyRepetitionsAreCalledByTheirName) {
  Sweep s = small_sweep();
  s.over = {ui::SweepOver::window, 8}, s.seeds = 131072;
  EXPECT_THAT(sentence_of<std::invalid_argument>([&] { point_count(s); }), HasSubstr("131072 windows of 8 tokens"));
}

TEST(Sweep, APointThatMakesNoSenseStopsNothing) {
  Sweep s = small_sweep();
  s.axes = {parse_axis("n=64,128,3000000")};
  const std::vector<SweepAnswer> answers = run_sweep(s, {});
  int errors = 0;
  for (const SweepAnswer& a : answers) errors += a.error.find("3000000") != std::string::npos;
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(answers.size(), 9u);
}

TEST(Measures, TakeWhatTheySay) {
  PointSummary p;
  p.a.mean_abs = 6;
  p.b.mean_abs = 4;
  p.a_minus_b.max_abs = 7;
  p.golden_rms = 2;
  p.rescales = 1.5;
  EXPECT_EQ(value_of(parse_measure("a.mean_abs"), p), 6);
  EXPECT_EQ(value_of(parse_measure("a.mean_abs/golden"), p), 3);
  EXPECT_EQ(value_of(parse_measure("ratio.mean_abs"), p), 1.5);
  EXPECT_EQ(value_of(parse_measure("a_minus_b.max_abs"), p), 7);
  EXPECT_EQ(value_of(parse_measure("rescales"), p), 1.5);
  for (const char* const wrong : {"", "a", "a.", "c.rms", "a.rmsd", "ratio.rms/golden", "a.cosine/golden", "rescales/golden"})
    EXPECT_THAT(sentence_of<std::exception>([&] { parse_measure(wrong); }), HasSubstr("expected a., b.")) << wrong;
}

TEST(SweepAxes, ReplaceTheSettingsThatFollowThem) {
  for (const auto& [axis, setting] : {std::pair{"exponent_bits", "b.tau=8"},
                                      {"mask", "b.gradient=grad_fa3"},
                                      {"d", "a.grad.order=ascending"},
                                      {"gradient", "a.grad.dS=fp32"},
                                      {"policy", "a.sum_rounded_P=true"},
                                      {"algorithm", "a.gradient=grad_fa2"},
                                      {"baseline", "b.O=fp32"}})
    EXPECT_TRUE(replaces(axis, setting)) << axis << " " << setting;
  for (const auto& [axis, setting] : {std::pair{"n", "a.tau=8"},
                                      {"tau", "a.tau=8"},
                                      {"d", "a.O=fp32"},
                                      {"gradient", "b.grad.dS=fp32"},
                                      {"gradient", "a.gradient=grad_fa2"},
                                      {"gradient", "a.grad.policy=grad_fa2"},
                                      {"policy", "b.O=fp32"},
                                      {"policy", "a.block_k=32"},
                                      {"a.O", "a.O=fp32"}})
    EXPECT_FALSE(replaces(axis, setting)) << axis << " " << setting;
}

TEST(SweepJson, RoundTripAndRemarks) {
  Sweep s = small_sweep();
  s.like = "fa2_a100", s.set = {"a.tau=8"};
  std::vector<std::string> remarks;
  EXPECT_EQ(parse_sweep(json_text(sweep_json(s)), remarks), s);
  EXPECT_TRUE(remarks.empty());
  for (const char* const text :
       {"", "[]", "{}", R"({"schema":"attoscope.sweep/1"})", R"({"schema":"attoscope.sweep/1","vary":[7]})",
        R"({"schema":"attoscope.sweep/1","vary":["n=1:2:3:4"]})",
        R"({"schema":"attoscope.sweep/1","vary":["n=1:2"],"set":[8]})",
        R"({"schema":"attoscope.sweep/1","vary":["n=1:2"],"set":["a.taw=8"]})",
        R"({"schema":"attoscope.sweep/1","vary":["n=1:2"],"like":"fa5"})"})
    EXPECT_FALSE(sentence_of<std::exception>([&] { parse_sweep(text, remarks); }).empty()) << text;
}

TEST(Json, ReadsEverySpellingOfWhatIsNotFinite) {
  for (const double x : {0.1, -0.0, double{INFINITY}, -double{INFINITY}}) {
    const nlohmann::json json = number_json(x);
    EXPECT_EQ(JsonPlace(json, "x").number(), x);
  }
  EXPECT_EQ(number_json(NAN), Json(nullptr));
  for (const nlohmann::json& json : {nlohmann::json(nullptr), nlohmann::json("nan")})
    EXPECT_TRUE(std::isnan(JsonPlace(json, "x").number())) << json;
  const nlohmann::json other = "NaN";
  EXPECT_THAT(sentence_of([&] { JsonPlace(other, "x").number(); }), HasSubstr("x is '\"NaN\"'"));
}

TEST(SweepFigure, BarsReachWhatTheSpreadSays) {
  const Sweep sweep = small_sweep();
  const auto answers = run_sweep(sweep, {});
  const auto table = rows(sweep, sweep.measure, answers);
  const auto drawn = [&](SeedSpread spread) {
    return sweep_figure(sweep, *sweep_table(sweep, sweep.measure, answers), {.axes = {.spread = spread}});
  };
  const Figure std = drawn(SeedSpread::std), all = drawn(SeedSpread::min_max);
  const auto& row = table.at(1);  // block_k 16, fp16
  const Series &s = std.panels.at(0).series.at(1), &m = all.panels.at(0).series.at(1);
  EXPECT_EQ(s.low.at(0), row.mean - row.std);
  EXPECT_EQ(s.high.at(0), row.mean + row.std);
  EXPECT_EQ(m.low.at(0), row.min);
  EXPECT_EQ(m.high.at(0), row.max);
}

TEST(SweepFigure, MoreThanSixLinesStayApart) {
  Sweep sweep = small_sweep();
  sweep.axes[1] = parse_axis("mantissa_bits=3:10");
  const FigurePanel panel = sweep_figure(sweep, *sweep_table(sweep, sweep.measure, {}), {}).panels.at(0);
  ASSERT_EQ(panel.series.size(), 8u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(panel.series[i].ink, panel.series[i + 6].ink);
    EXPECT_NE(panel.series[i].round, panel.series[i + 6].round);
  }
}

TEST(SweepFigure, AMapHasACellForEachCombination) {
  const Sweep sweep = small_sweep();
  const auto answers = run_sweep(sweep, {});
  const auto table = rows(sweep, sweep.measure, answers);
  const Figure f = sweep_figure(sweep, *sweep_table(sweep, sweep.measure, answers), {.heat_map = true});
  const FigureHeat& heat = f.panels.at(0).heat.value();
  EXPECT_EQ(heat.width, 3);
  EXPECT_EQ(heat.height, 2);
  EXPECT_EQ(heat.values.at(1), static_cast<float>(table.at(3).mean));      // upper row (fp16), second column (block_k 32)
  EXPECT_EQ(heat.values.at(3 + 1), static_cast<float>(table.at(2).mean));  // lower row (bf16), as in the window
  EXPECT_EQ(heat.y0, 1.5) << "the top edge";
  EXPECT_EQ(heat.y1, -0.5);
  EXPECT_EQ(f.panels.at(0).y.categories, (std::vector<std::string>{"bf16", "fp16"}));
  EXPECT_THAT(figure_csv(f), HasSubstr(",32,fp16,"));
}

TEST(SweepFigure, AMapIsAsLogarithmicAsTheWindows) {
  const Sweep sweep = small_sweep();
  const auto table = sweep_table(sweep, sweep.measure, run_sweep(sweep, {}));
  for (const bool log : {false, true}) {
    const Figure f = sweep_figure(sweep, *table, {.axes = {.log_y = log}, .heat_map = true});
    EXPECT_EQ(f.panels.at(0).heat->log, log);
  }
}

TEST(SweepFigure, AMapIsLinearBelowTheSmallestMeanAsInTheWindow) {
  const Sweep sweep = small_sweep();
  SweepTable table = *sweep_table(sweep, sweep.measure, run_sweep(sweep, {}));
  const auto knee = [&] { return sweep_figure(sweep, table, {.heat_map = true}).panels.at(0).heat->knee; };
  for (std::size_t i = 0; i < table.cells.size(); ++i) table.cells[i].mean = 3.0 * static_cast<double>(1 + i);
  EXPECT_EQ(knee(), 3);
  table.cells[0].mean = 18.0 / 4096;
  EXPECT_EQ(knee(), 18.0 / 3000) << "a 3000th of the largest mean";
  for (SweepCell& c : table.cells) c.mean = -1;
  EXPECT_EQ(knee(), 0) << "the usual one";
}

TEST(SweepFigure, AMapHasNothingWhereThereIsNoAnswer) {
  const Sweep sweep = small_sweep();
  SweepTable table = *sweep_table(sweep, sweep.measure, run_sweep(sweep, {}));
  table.cells.at(0).count = 0;
  table.cells.at(1).mean = NAN;
  table.cells.at(2).mean = INFINITY;
  const Figure f = sweep_figure(sweep, table, {.heat_map = true});
  const FigureHeat& heat = f.panels.at(0).heat.value();
  EXPECT_EQ(heat.values.at(3), FigureHeat::nothing);
  EXPECT_TRUE(std::isnan(heat.values.at(0)));
  EXPECT_EQ(heat.values.at(4), INFINITY);
  EXPECT_EQ(heat.range, std::max({table.cells.at(3).mean, table.cells.at(4).mean, table.cells.at(5).mean}));
  EXPECT_THAT(figure_csv(f), ::testing::Not(HasSubstr(",16,bf16,")));
}

TEST(SweepFigure, ItsCaptionHasTheTokensOfAWindowAndTheMask) {
  Sweep sweep = small_sweep();
  sweep.base.problem.input.kind = InputKind::tensors;
  sweep.over = {ui::SweepOver::window, 32};
  const auto caption = [&] { return sweep_figure(sweep, *sweep_table(sweep, sweep.measure, {}), {}).caption; };
  EXPECT_THAT(caption(), HasSubstr("N = 32, d = 16, mask none"));
  const FigurePanel map = sweep_figure(sweep, *sweep_table(sweep, sweep.measure, {}), {.heat_map = true}).panels.at(0);
  EXPECT_THAT(map.heat->label, ::testing::EndsWith(", over 3 windows of 32 tokens"));
  EXPECT_THAT(map.y.label, ::testing::Not(HasSubstr("over"))) << "the second parameter's title";
  sweep.base.problem.input.parts.mask = 1;
  EXPECT_THAT(caption(), HasSubstr("d = 16, a mask tensor"));
  sweep.axes = {parse_axis("n=8,16")};
  EXPECT_THAT(caption(), ::testing::Not(HasSubstr("N = ")));
}

/// A figure of one parameter draws both methods with their names, each with the values of its own measure.
TEST(SweepFigure, BothMethodsAreDrawnByTheirNames) {
  Sweep sweep = small_sweep();
  sweep.axes.pop_back();
  const auto answers = run_sweep(sweep, {});
  const auto of_b = rows(sweep, {"b.mean_abs"}, answers);
  const Figure f = sweep_figure(sweep, *sweep_table(sweep, {"a.mean_abs"}, answers), {});
  const FigurePanel& p = f.panels.at(0);
  ASSERT_EQ(p.series.size(), 2u);
  const std::array<std::string, 2> names = legend_names(std::span(&sweep.base, 1));
  EXPECT_EQ(p.series[0].label, names[0]);
  EXPECT_EQ(p.series[1].label, names[1]);
  EXPECT_EQ(p.series[1].y.at(0), of_b.at(0).mean);
  EXPECT_EQ(p.y.label, "mean |error|");
  EXPECT_THAT(f.caption, HasSubstr("mean |error| of " + names[0] + " and " + names[1] + " over "));
  EXPECT_THAT(f.caption, HasSubstr("d = "));
  sweep.axes = {parse_axis("policy=hw,eager")};
  EXPECT_EQ(sweep_table(sweep, {"a.mean_abs"}, run_sweep(sweep, {}))->methods[0], "flash2") << "a varied policy is not named";
}

}  // namespace
}  // namespace attoscope
