// Plots of the window as figures: each drawn end to end and again from its bundle, its data compared with the result; NaN.
#include "app/plots/window_figures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/figures/gnuplot.h"
#include "app/files/files.h"
#include "app/plots/own_numbers.h"
#include "app/session/session.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/npy.h"
#include "app/tensors/tensors.h"
#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "tests/app/outcome.h"
#include "tests/support/environment.h"
#include "tests/support/figure_support.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/train_support.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/words/sentences.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Session plotted() {
  Session s;
  s.experiment.problem.n = 40;
  s.experiment.problem.d = 8;
  s.experiment.problem.mask.kind = Mask::Kind::causal;
  s.experiment.a.block_q = s.experiment.a.block_k = 8;
  s.experiment.a.precision = policy("eager").precision;
  s.view.hidden_curves = 0;
  s.sweep.first.values = "4,8,16";
  s.sweep.seeds = 2;
  return s;
}

Figure plot(Plot p, const Session& s) { return plot_figure(p, s, answered(p, s, {})); }

class Plots : public ::testing::TestWithParam<Plot> {
 protected:
  void SetUp() override { scratch_.write("text.txt", made_text(3000)); }
  /// A session with a training plan, and with a backward pass if the plot shows one.
  Session session() const {
    Session s = plotted();
    if (GetParam() >= Plot::largest_dS && GetParam() <= Plot::gradient_sums) s.experiment = with_backward(s.experiment);
    s.train = tiny_training(scratch_ / "text.txt");
    s.lesson.views = {{"exp", 0, {{"formats", "fp16, e4m3"}, {"value", "9"}}}};
    return s;
  }
  static std::string name() { return std::string(plot_names[GetParam()]); }
  const TemporaryDirectory scratch_;
  const Environment at_scratch_{"XDG_CACHE_HOME", scratch_ / "cache"};
};

/// Draws a plot of a session as one.svg and again from its bundle as two.svg; expects the same CSV and JSON. Returns the output
/// of the first command.
std::string drawn_twice(const TemporaryDirectory& scratch, const Session& s, const std::string& plot_name,
                        const std::vector<std::string>& more = {}) {
  write_file(scratch / "s.json", session_text(s));
  const std::vector<std::string> first{"figure", scratch / "s.json", "--plot", plot_name, "--out", scratch / "one.svg"};
  const std::string said = output_of(with(first, more));
  succeed({"figure", scratch / "one.json", "--out", scratch / "two.svg"});
  EXPECT_EQ(bytes_of_file(scratch / "one.csv"), bytes_of_file(scratch / "two.csv"));
  EXPECT_EQ(bytes_of_file(scratch / "one.json"), bytes_of_file(scratch / "two.json"));
  return said;
}

TEST_P(Plots, IsDrawnAndDrawnAgainFromItsBundle) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  EXPECT_THAT(drawn_twice(scratch_, session(), name(), {"--columns", "2"}), HasSubstr("attoscope " ATTOSCOPE_VERSION));
  EXPECT_THAT(bytes_of_file(scratch_ / "one.svg"), HasSubstr("</svg>"));
  nlohmann::json bundle = nlohmann::json::parse(bytes_of_file(scratch_ / "one.json"));
  EXPECT_EQ(bundle["plot"], name());
  EXPECT_EQ(bundle["session"]["view"]["figure"]["two_columns"], true);
  if (is_of_experiment(GetParam())) {
    EXPECT_EQ(bundle["digests"]["a"], hex16(compute(plotted().experiment).digests.a));
  }
  EXPECT_THAT(bytes_of_file(scratch_ / "one.csv"), ::testing::SizeIs(::testing::Gt(60u)));
  if (is_of_experiment(GetParam())) return;
  bundle["digests"] = {{"golden", hex16(1)}, {"a", hex16(1)}, {"b", hex16(1)}};  // only plots of an experiment check digests
  write_file(scratch_ / "one.json", bundle.dump());
  EXPECT_EQ(attoscope({"figure", scratch_ / "one.json", "--out", scratch_ / "two.svg"}).code, 0);
}

/// One row and one key: the plot is drawn, or one sentence says why not.
TEST_P(Plots, OfOneTokenIsAPlotOrASentence) {
  Session s = session();
  s.experiment.problem.n = s.experiment.problem.d = 1;
  s.sweep.first.values = "1,2";
  try {
    EXPECT_THAT(gnuplot_script(plot(GetParam(), s), PictureFormat::pdf, "f"), HasSubstr("\nplot "));
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(std::string(error.what()), ::testing::EndsWith("."));
  }
}

TEST_P(Plots, OfNothingFiniteIsAPlotOrASentence) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  Session s = session();
  s.experiment.problem.input.kind = InputKind::constant;
  s.experiment.problem.input.value = 3e38;
  s.experiment.format = bf16;
  try {
    const Figure f = plot(GetParam(), s);
    EXPECT_THAT(drawn(gnuplot_script(f, PictureFormat::svg, "f"), {"f.svg"})[0], HasSubstr("</svg>"));
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(std::string(error.what()), ::testing::EndsWith("."));
  }
}

std::vector<Plot> all_plots() {
  std::vector<Plot> plots;
  for (std::size_t i = 1; i < plot_names.size(); ++i) plots.push_back(static_cast<Plot>(i));
  std::erase(plots, Plot::kernel_rows);  // needs a loaded output: see OfALoadedOutputTheRowsAreJudged
  return plots;
}
INSTANTIATE_TEST_SUITE_P(Window, Plots, ::testing::ValuesIn(all_plots()),
                         [](const auto& tested) { return std::string(plot_names[tested.param]); });

/// The series with this label.
const Series& series(const Figure& f, const std::string& label) {
  for (const FigurePanel& p : f.panels)
    for (const Series& s : p.series)
      if (s.label == label) return s;
  throw std::runtime_error("no series " + label);
}

/// The window and `attoscope sweep` give the same figure of one sweep: data, script and caption.
TEST(PlotData, TheCommandsSweepIsTheWindows) {
  const TemporaryDirectory scratch;
  const Environment at_scratch("XDG_CACHE_HOME", scratch / "cache");
  Session s = plotted();
  s.experiment.b = default_experiment().b;
  s.sweep.first = {"block_k", "4:32:x2"};
  s.sweep.log_y = false;
  const Figure window = plot(Plot::sweep, s);
  succeed({"sweep", "--n", "40", "--d", "8", "--mask", "causal", "--block-q", "8", "--policy", "eager", "--vary",
           "block_k=4:32:x2", "--seeds", "2", "--figure", scratch / "sweep.svg"});
  EXPECT_EQ(bytes_of_file(scratch / "sweep.csv"), figure_csv(window));
  EXPECT_EQ(bytes_of_file(scratch / "sweep.gp"), gnuplot_script(window, PictureFormat::svg, "sweep"));
  EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "sweep.json"))["caption"], window.caption);
  EXPECT_THAT(window.caption, HasSubstr("flash2 eager and three-pass base_eager"));
  EXPECT_THAT(window.caption, HasSubstr(" over block_k from 4 to 32: "));
  s.sweep.first.values = "16";
  EXPECT_THAT(plot(Plot::sweep, s).caption, HasSubstr(" over block_k 16: "));
}

/// Plots that only lessons have: their points equal the values of the plotted functions.
TEST(PlotData, LessonsPlotsAreTheirFunctions) {
  Session s = plotted();
  s.lesson.views = {{"exp", 0, {{"formats", "fp16"}, {"value", "12"}}}};
  const Figure exp = plot(Plot::lesson, s);
  EXPECT_EQ(series(exp, "fp16 65504").y.at(0), 65504);
  EXPECT_EQ(series(exp, "fp16 65504").ink, Ink::bad) << "exp(12) is above 65504";
  s.lesson.views = {{"staircase", 0, {{"from", "1"}, {"to", "1.05"}}}};
  const Figure stairs = plot(Plot::lesson, s);
  const Series& rounded = series(stairs, "round(bf16, x)");
  for (std::size_t i = 0; i < rounded.x.size(); ++i) EXPECT_EQ(rounded.y[i], round(bf16, rounded.x[i]));
  s.lesson.views = {{"bytes", 0, {{"over", "n"}}}};
  const Figure bytes = plot(Plot::lesson, s);
  const Series& flash = series(bytes, "FA-2");
  s.experiment.problem.n = static_cast<int>(flash.x.at(3));
  EXPECT_EQ(flash.y.at(3), traffic(s.experiment).flash2);
  s.experiment.problem.n = 64;
  s.lesson.views = {{"heaps", 0, {}}};
  double weights = 0;
  const Figure heaps = plot(Plot::lesson, s);
  for (const double y : series(heaps, "seed 1").y) weights += y;
  EXPECT_EQ(weights, 64);
  s.lesson.views = {{"pie", 0, {}}};
  EXPECT_THROW(plot(Plot::lesson, s), std::invalid_argument);
}

TEST(PlotData, AreTheResultsOwnNumbers) {
  const Session s = plotted();
  const Result r = compute(s.experiment);
  const Figure max = plot(Plot::running_max, s), error = plot(Plot::error, s), sum = plot(Plot::row_sum, s);
  ASSERT_EQ(series(max, "m").y.size(), r.trace.tiles.size());
  for (std::size_t t = 0; t < r.trace.tiles.size(); ++t) {
    EXPECT_EQ(series(max, "m").y[t], r.trace.tiles[t].max_used);
    EXPECT_EQ(series(max, "true max").y[t], r.trace.tiles[t].max_true);
    EXPECT_EQ(series(error, "flash2 eager").y[t], r.trace.tiles[t].error);
    EXPECT_EQ(series(plot(Plot::largest_P, s), "largest P").y[t], r.trace.tiles[t].p_max);
    if (t > 0) {
      EXPECT_EQ(series(sum, "α").y[t - 1], r.trace.tiles[t].alpha);
    }
  }
  const Figure rescales = plot(Plot::rescales, s), ulps = plot(Plot::ulps, s);
  EXPECT_THAT(ulps.caption, HasSubstr("; the outermost bins hold all beyond 8 ulps; "));
  for (std::size_t t = 0; t < r.rescales.per_tile.size(); ++t) {
    EXPECT_EQ(series(rescales, "m moved").y[t], static_cast<double>(r.rescales.per_tile[t]));
    EXPECT_EQ(series(rescales, "1/t, scores in random order").y[t], r.rescales.expected_per_tile[t]);
  }
  for (std::size_t i = 0; i < r.a_error.ulps.counts.size(); ++i)
    EXPECT_EQ(series(ulps, "flash2 eager").y[i], static_cast<double>(r.a_error.ulps.counts[i]) / (40 * 8));
  const Figure traffic = plot(Plot::traffic, s);
  EXPECT_EQ(traffic.panels[0].series[2].y[0], r.traffic.flash2);
  Session both = s;
  both.experiment = with_backward(both.experiment);
  const Figure passes = plot(Plot::traffic, both);
  ASSERT_EQ(passes.panels[0].series.size(), 6u);
  EXPECT_EQ(passes.panels[0].series[5].y[0], total_bytes(backward_traffic(both.experiment).flash2));
  const std::vector<double> scatter = series(plot(Plot::scatter, s), "flash2 eager").y;
  EXPECT_NEAR(*std::ranges::max_element(scatter) / r.a_error.max_abs, 1, 1e-6);
  const Attribution all = attribute(s.experiment);
  const Figure why = plot(Plot::why, s);
  EXPECT_EQ(why.panels[0].x.categories[0], name(all.steps[0].source));
  EXPECT_DOUBLE_EQ(why.panels[0].series[0].y[0], 100 * (all.steps[0].without.mean_abs / all.total.mean_abs - 1));
}

/// The values of a heat map's CSV at (column, row).
std::map<std::pair<double, double>, std::string> cells_of(const Figure& f) {
  std::map<std::pair<double, double>, std::string> cells;
  for (const auto& line : csv_lines(figure_csv(f)))
    if (!line[6].empty() && line[6] != "value") cells[{std::stod(line[2]), std::stod(line[3])}] = line[6];
  return cells;
}

TEST(PlotData, OfStepsThatTakeOffNothingHasARangeToDraw) {
  NamedShare share;
  share.name = "P";
  const FigurePanel p = why_panel(1, {share}, false);
  EXPECT_EQ(p.series.at(0).y, std::vector{0.0});
  EXPECT_LT(p.y.min.value(), p.y.max.value());
}

/// Figures of the strip show all tiles; with `shown_tiles` only the tiles visible in the window.
TEST(PlotData, TilesAreAllUnlessTheShownOnesAreChosen) {
  Session s = plotted();
  s.view.tiles = {1.5, 3.5};
  const auto range = [&](Plot p) {
    const Figure f = plot(p, s);
    return std::pair{*f.panels.front().x.min, *f.panels.front().x.max};
  };
  for (const Plot p : {Plot::strip, Plot::running_max, Plot::rescales, Plot::row_sum, Plot::largest_P, Plot::error}) {
    s.view.figure.shown_tiles = false;
    EXPECT_EQ(range(p), (std::pair{-0.5, 4.5}));
    s.view.figure.shown_tiles = true;
    EXPECT_EQ(range(p), (std::pair{1.5, 3.5}));
    const Figure shown = plot(p, s);
    for (const Series& series : shown.panels.front().series) {
      if (series.dashed) continue;
      EXPECT_THAT(series.x, ::testing::Each(::testing::AllOf(::testing::Ge(1.5), ::testing::Le(3.5))));
    }
  }
}

/// With a backward pass the strip's figures show the tiles of the traced query or key, whichever the view follows.
TEST(PlotData, OfABackwardPassAreTheTilesOfItsQueryOrKey) {
  Session s = plotted();
  s.experiment = with_backward(s.experiment);
  s.experiment.problem.traced_row = 29;
  s.view.traced_key = 10;
  const GradientTrace t = gradient_trace(gradient_question(s));
  ASSERT_GT(t.a.of_query.size(), 0u);
  ASSERT_GT(t.a.of_key.size(), 0u);
  EXPECT_EQ(plot(Plot::strip, s).panels.size(), 5u);
  const Figure P = plot(Plot::largest_P, s), lost = plot(Plot::lost_dS, s), error = plot(Plot::error, s);
  for (std::size_t i = 0; i < t.a.of_query.size(); ++i) {
    EXPECT_EQ(P.panels[0].series[0].y[i], t.a.of_query[i].largest_P);
    EXPECT_EQ(lost.panels[0].series[0].y[i], 1.0 * t.a.of_query[i].lost / t.a.of_query[i].seen);
    EXPECT_EQ(error.panels[0].series[0].y[i], t.a.of_query[i].dq_error);
  }
  EXPECT_THAT(P.caption, HasSubstr("The backward pass of query 29, key tile by key tile"));
  s.view.follows_key = true;
  const Figure sums = plot(Plot::gradient_sums, s);
  for (std::size_t i = 0; i < t.a.of_key.size(); ++i) EXPECT_EQ(sums.panels[0].series[0].y[i], t.a.of_key[i].dk_norm);
  EXPECT_THAT(sums.caption, HasSubstr("The backward pass of key 10, query tile by query tile"));
  s.view.follows_forward = true;
  EXPECT_EQ(series(plot(Plot::running_max, s), "m").y.size(), compute(s.experiment).trace.tiles.size());
  EXPECT_THROW(plot(Plot::lost_dS, s), std::invalid_argument);
}

/// *why* describes b if the view shows b's error: b's numbers, name and colour.
TEST(PlotData, TheStepsAreThoseOfTheMethodOnShow) {
  Session s = plotted();
  s.experiment.b.precision = policy("base_all").precision;
  s.view.field = Field::b_ulps;
  const Attribution all = attribute(exchanged(s.experiment));
  ASSERT_EQ(all.total.mean_abs, compute(s.experiment).b_error.mean_abs);
  ASSERT_GT(all.steps.size(), 1u);
  const Figure why = plot(Plot::why, s);
  const Series& bars = why.panels[0].series[0];
  ASSERT_EQ(bars.y.size(), all.steps.size());
  EXPECT_DOUBLE_EQ(bars.y[0], 100 * (all.steps[0].without.mean_abs / all.total.mean_abs - 1));
  EXPECT_EQ(bars.ink, Ink::b);
  EXPECT_THAT(why.caption, HasSubstr("mean error of three-pass base_all if one step"));
}

/// *why* of a gradient shows the change of this gradient's error.
TEST(PlotData, OfAGradientTheStepsAreThoseOfItsBackwardPass) {
  Session s = plotted();
  s.experiment = with_backward(s.experiment);
  s.view.tensor = AnswerTensor::dK;
  const GradAttribution all = attribute_gradients(s.experiment);
  const Figure why = plot(Plot::why, s);
  const std::vector<GradShare> sorted = sorted_shares(all, AnswerTensor::dK);
  ASSERT_EQ(why.panels[0].x.categories.size(), all.shares.size());
  EXPECT_EQ(why.panels[0].x.categories[0], name(sorted[0].source));
  EXPECT_DOUBLE_EQ(why.panels[0].series[0].y[0], 100 * (sorted[0].without[1].mean_abs / all.total[1].mean_abs - 1));
}

/// A figure of the strip shows b if a is a loaded output: b's numbers, name and colour.
TEST(PlotData, OfALoadedOutputTheTilesAreThoseOfB) {
  Session s = plotted();
  s.experiment.b = s.experiment.a;
  s.experiment.b.precision = policy("hw").precision;
  const Result computed = compute(s.experiment);
  const TemporaryDirectory scratch;
  write_file(scratch / "o.npy", npy_bytes(computed.a.rows, computed.a.cols, computed.a.values.data()));
  use_kernel_output(s.experiment, read_kernel_output(scratch / "o.npy", s.experiment.problem), false);
  const Trace b = compute(exchanged(s.experiment)).trace;
  ASSERT_GT(b.tiles.size(), 2u);
  const Figure f = plot(Plot::running_max, s);
  const Series& m = series(f, "m");
  EXPECT_EQ(m.ink, Ink::b);
  ASSERT_EQ(m.y.size(), b.tiles.size());
  for (std::size_t i = 0; i < b.tiles.size(); ++i) EXPECT_EQ(m.y[i], b.tiles[i].max_used);
  EXPECT_THAT(f.caption, HasSubstr("in b, tile by tile"));
  EXPECT_THAT(figure_csv(f), HasSubstr("," + shortest(b.tiles.back().max_used)));
  EXPECT_EQ(series(plot(Plot::error, s), "flash2 hw").ink, Ink::b);
}

/// Rows of a loaded output: a wrong row marks its tile and no other tile.
TEST(PlotData, OfALoadedOutputTheRowsAreJudged) {
  Session s = plotted();
  EXPECT_THROW(plot(Plot::kernel_rows, s), std::invalid_argument);
  s.experiment.a.precision = policy("hw").precision;
  const Result computed = compute(s.experiment);
  std::vector<double> values = computed.a.values;
  values[13 * 8 + 2] += 1;
  const TemporaryDirectory scratch;
  write_file(scratch / "o.npy", npy_bytes(computed.a.rows, computed.a.cols, values.data()));
  use_kernel_output(s.experiment, read_kernel_output(scratch / "o.npy", s.experiment.problem), false);
  const Figure f = plot(Plot::kernel_rows, s);
  const int tile = tile_rows(s.experiment.b, s.experiment.problem.n);
  EXPECT_EQ(series(f, "tile with a wrong row").x, std::vector<double>{(13 / tile + 0.5) * tile});
  EXPECT_GT(series(f, "your kernel").y[static_cast<std::size_t>(13 / tile)], 1);
  if (has_gnuplot()) drawn_twice(scratch, s, "kernel_rows");
}

/// A row of the picture of all tensors has its tensor's name, in the data too.
TEST(PlotData, OfATrainingTheTensorsHaveTheirNames) {
  const TemporaryDirectory scratch;
  scratch.write("text.txt", made_text(3000));
  Session s = plotted();
  s.train = tiny_training(scratch / "text.txt");
  const TrainRecord record = trained(s.train).record;
  const std::vector<ParameterTensor>& tensors = record.parameters.tensors;
  const Figure f = plot(Plot::train_weights, s);
  ASSERT_EQ(f.panels.at(0).y.categories.size(), tensors.size());
  const std::string csv = figure_csv(f);
  const std::vector<PairPoint>& points = record.pairs[0].points;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(f.panels[0].y.categories[i], tensors[i].name);
    const auto before_last = static_cast<float>(std::prev(points.end(), 2)->deviations[i + 1].max_abs);
    EXPECT_THAT(csv, HasSubstr("," + tensors[i].name + ",,," + shortest(static_cast<double>(before_last)) + "\n"));
  }
}

/// The matrix of a tensor is |a - b| of the final weights.
TEST(PlotData, OfATrainingTheMatrixIsThatOfItsLastWeights) {
  const TemporaryDirectory scratch;
  scratch.write("text.txt", made_text(3000));
  Session s = plotted();
  s.train = tiny_training(scratch / "text.txt");
  s.train_look.picture = WeightPicture::matrix;
  EXPECT_THROW(plot(Plot::train_weights, s), std::invalid_argument) << "no tensor is chosen";
  s.train_look.tensor = 1;
  const Trained all = trained(s.train);
  const ParameterTensor& t = all.record.parameters.tensors[1];
  const FigureHeat heat = plot(Plot::train_weights, s).panels.at(0).heat.value();
  ASSERT_EQ(heat.values.size(), t.size());
  for (std::size_t i = 0; i < t.size(); ++i)
    ASSERT_EQ(heat.values[i], std::fabs(all.weights[0][t.first + i] - all.weights[1][t.first + i]));
  s.view.scale = heat.log ? ValueScale::linear : ValueScale::log;
  EXPECT_NE(plot(Plot::train_weights, s).panels.at(0).heat->log, heat.log) << "the colours are on the window's scale";
  const std::string a = method_words(s.train.a.method), b = method_words(s.train.b.method);
  ASSERT_NE(a, b);
  EXPECT_EQ(heat.label, "|ΔW|, " + a + " − " + b);
  EXPECT_EQ(plot(Plot::train_deviation, s).panels[0].series[0].label, a + " − " + b);
  const Figure runs = plot(Plot::train_runs, s);
  EXPECT_EQ(runs.panels[0].series[0].label, a);
  EXPECT_EQ(runs.panels[0].series[1].label, b);
  if (has_gnuplot()) drawn_twice(scratch, s, "train_weights");
}

/// The map of a lesson's loop has the steps of the tiles computed so far, and the bytes equal `loop_steps`.
TEST(PlotData, OfALoopTheTilesHaveTheirSteps) {
  Session s = plotted();
  s.lesson.views = {{"loop", 0, {{"at", "5"}}}};
  const Figure f = plot(Plot::lesson, s);
  EXPECT_EQ(cells_of(f).size(), 6u);
  EXPECT_EQ(f.panels.at(1).series.at(0).y.back(), loop_steps(s.experiment, LoopOrder::queries_outside).at(5).bytes);
}

/// A measure that only lessons have is drawn from the lesson's own sweep.
TEST(PlotData, OfALessonsOwnNumberTheCurveIsItsAnswer) {
  Session s = plotted();
  s.lesson.views = {{"sweep", 0, {{"measure", "sum.h100"}, {"vary", "n=64,128"}}}};
  const LessonAnswer known = answer({.experiment = s.experiment, .measure = "sum.h100", .vary = {"n=64,128"}, .seeds = 1}, {});
  ASSERT_EQ(known.table.cells.size(), 2u) << known.problem;
  const Series drawn_line = plot(Plot::lesson, s).panels.at(0).series.at(0);
  EXPECT_EQ(drawn_line.y, (std::vector<double>{known.table.cells[0].mean, known.table.cells[1].mean}));
  s.lesson.views[0].changes.pop_back();
  EXPECT_THROW(plot(Plot::lesson, s), std::invalid_argument) << "no parameter is varied";
}

TEST(PlotData, EveryFieldsCellsAreItsValues) {
  Session s = plotted();
  const Result r = compute(s.experiment);
  for (int i = 0; i < field_count; ++i) {
    s.view.field = static_cast<Field>(i);
    const auto cells = cells_of(plot(Plot::heat_map, s));
    ASSERT_EQ(cells.size(), 40u * 8);
    for (int row = 0; row < 40; ++row)
      for (int col = 0; col < 8; ++col)
        EXPECT_EQ(cells.at({col + 0.5, row + 0.5}),
                  shortest(static_cast<double>(static_cast<float>(field_value(r, s.view.field, row, col)))));
  }
  s.view.zoom = {10, 2, 14, 5};
  EXPECT_EQ(cells_of(plot(Plot::heat_map, s)).size(), 12u);
  s.view.comparison = Comparison::swipe;
  EXPECT_EQ(plot(Plot::heat_map, s).panels.size(), 2u);
}

TEST(PlotData, ScoresAndMapsAreThoseOfTheirQuestions) {
  Session s = plotted();
  s.view.picture = PictureKind::scores;
  const ScoreWindow w = scores({s.experiment, 0, 40, 0, 40});
  const auto P = cells_of(plot(Plot::heat_map, s));
  EXPECT_EQ(P.size(), 40u * 41 / 2);  // causal: nothing above the diagonal
  EXPECT_EQ(P.at({3.5, 20.5}), shortest(static_cast<double>(w.P[20 * 40 + 3])));
  s.view.picture = PictureKind::rescales;
  const Result r = compute(s.experiment);
  double moved = 0;
  for (const auto& [place, value] : cells_of(plot(Plot::heat_map, s))) moved += std::stod(value);
  std::int64_t counted = 0;
  for (const std::int64_t count : r.rescales.per_tile) counted += count;
  EXPECT_EQ(moved, static_cast<double>(counted));
  s.view.rescale_show = RescaleShow::underflowed;
  EXPECT_EQ(plot(Plot::heat_map, s).panels[0].heat->label, "underflowed P");
  EXPECT_EQ(plot(Plot::heat_map, s).panels[0].x.label, "tile of 8 keys");
  s.experiment.a.block_k = 1;
  EXPECT_EQ(plot(Plot::heat_map, s).panels[0].x.label, "tile of 1 key");
}

/// A result of n x d zeros in which a has one wrong element.
std::shared_ptr<const Result> outlier(Session& s, int n, int d, int row, int col, double value) {
  s.experiment.problem.n = 40;
  auto r = std::make_shared<Result>(compute(s.experiment));
  s.experiment.problem.n = r->experiment.problem.n = n;
  s.experiment.problem.d = r->experiment.problem.d = d;
  r->rows.resize(static_cast<std::size_t>(n));
  std::iota(r->rows.begin(), r->rows.end(), 0);
  const Matrix zeros{n, d, std::vector<double>(static_cast<std::size_t>(n) * static_cast<std::size_t>(d), 0.0)};
  r->golden = std::make_shared<const Matrix>(zeros);
  r->a = r->b = zeros;
  r->a.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(d) + static_cast<std::size_t>(col)] = value;
  return r;
}

TEST(PlotData, PoolingKeepsTheOneElementInAMillionThatIsWrong) {
  Session s = plotted();
  const auto result = outlier(s, 16384, 64, 12345, 17, -3.5);
  const Figure f = plot_figure(Plot::heat_map, s, {result, nullptr, nullptr, nullptr, nullptr});
  const FigureHeat& h = *f.panels[0].heat;
  EXPECT_LT(h.width * h.height, 64 * 1000);
  int found = 0;
  for (int y = 0; y < h.height; ++y)
    for (int x = 0; x < h.width; ++x)
      if (h.values[static_cast<std::size_t>(y * h.width + x)] == -3.5f) {
        ++found;
        EXPECT_EQ(x, 17);
        EXPECT_NEAR((y + 0.5) / h.height, 12345.5 / 16384, 1.0 / h.height);
      }
  EXPECT_GE(found, 1);
  EXPECT_LE(found, 2);  // 2 if it lies under the border between two pixels
  EXPECT_THAT(figure_csv(f), HasSubstr(",-3.5\n"));
}

TEST(PlotData, NotANumberHasAColourAndAName) {
  Session s = plotted();
  for (const auto& [value, word] : {std::pair{static_cast<double>(NAN), "title \"NaN\""},
                                    std::pair{static_cast<double>(INFINITY), "title \"\\053infinity\""}}) {
    const auto result = outlier(s, 64, 8, 5, 3, value);
    const Figure f = plot_figure(Plot::heat_map, s, {result, nullptr, nullptr, nullptr, nullptr});
    const std::string script = gnuplot_script(f, PictureFormat::svg, "f");
    EXPECT_EQ(occurrences(script, word), 1u);
    EXPECT_EQ(occurrences(figure_csv(f), std::isnan(value) ? ",nan\n" : ",inf\n"), 1u) << figure_csv(f).substr(0, 300);
  }
}

TEST(PlotCommand, ChangedBitsAreSaidOnceTheFilesAreThere) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  write_file(scratch / "s.json", session_text(plotted()));
  ASSERT_EQ(attoscope({"figure", scratch / "s.json", "--plot", "ulps", "--out", scratch / "f.svg"}).code, 0);
  nlohmann::json bundle = nlohmann::json::parse(bytes_of_file(scratch / "f.json"));
  bundle["digests"]["b"] = "0123456789abcdef";
  const Outcome o = attoscope({"figure", scratch.write("other.json", bundle.dump()), "--out", scratch / "g.svg"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("the bits of b are not those that the figure was first made of"));
  EXPECT_EQ(bytes_of_file(scratch / "f.csv"), bytes_of_file(scratch / "g.csv"));
}

TEST(PlotCommand, ChangedBitsOfASweepsPointsAreSaid) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const Environment at_scratch{"XDG_CACHE_HOME", scratch / "cache"};
  Session s = plotted();
  s.lesson.views = {{"sweep", 0, {{"measure", "a.mean_abs"}, {"vary", "block_k=8,16"}}}};
  for (const std::string name : {"sweep", "lesson"}) {
    drawn_twice(scratch, s, name);
    nlohmann::json bundle = nlohmann::json::parse(bytes_of_file(scratch / "one.json"));
    bundle["digests"].at("points") = "0123456789abcdef";
    const Outcome o = attoscope({"figure", scratch.write("other.json", bundle.dump()), "--out", scratch / "two.svg"});
    EXPECT_EQ(o.code, 1);
    EXPECT_THAT(o.err, HasSubstr("other.json: the bits of its points are not those that the figure was first made of"));
    EXPECT_EQ(bytes_of_file(scratch / "one.csv"), bytes_of_file(scratch / "two.csv"));
    bundle.erase("digests");
    EXPECT_EQ(attoscope({"figure", scratch.write("old.json", bundle.dump()), "--out", scratch / "two.svg"}).code, 0) << name;
  }
}

TEST(PlotCommand, ASweepChecksItsTensors) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const Environment at_scratch{"XDG_CACHE_HOME", scratch / "cache"};
  Session s = plotted();
  s.sweep.first = {"block_k", "8,16"};
  std::vector<double> values(std::size_t{40} * 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  std::string spec;
  for (const char* const name : {"q.npy", "k.npy", "v.npy"}) {
    values[0] += 1;
    spec += (spec.empty() ? "" : ",") + scratch.write(name, npy_bytes(40, 8, values.data()));
  }
  s.experiment.problem.input = parse_input(spec);
  load_tensors(s.experiment.problem.input);
  const std::string session = scratch.write("s.json", session_text(s));
  const auto drawn = [&](const std::vector<std::string>& more) {
    return attoscope(with({"figure", session, "--plot", "sweep", "--out", scratch / "f.svg"}, more));
  };
  EXPECT_THAT(drawn({"--strict"}).err, IsEmpty());
  values[5] += 0.5;
  scratch.write("v.npy", npy_bytes(40, 8, values.data()));
  EXPECT_THAT(drawn({}).err, HasSubstr("v.npy"));
  EXPECT_EQ(drawn({"--strict"}).code, 4);
  std::filesystem::remove(scratch / "v.npy");
  EXPECT_NE(drawn({}).code, 0);
  EXPECT_THAT(drawn({}).err, HasSubstr("v.npy"));
}

TEST(PlotData, OfASweepWithAPointThatCannotBeComputedIsASentence) {
  Session s = plotted();
  SweepTable table;
  table.cells = {SweepCell{}};
  table.errors = {"problem.n is 0, expected 1 or more"};
  PlotData data;
  data.sweep = std::make_shared<const SweepTable>(std::move(table));
  EXPECT_EQ(message_of<std::invalid_argument>([&] { plot_figure(Plot::sweep, s, data); }),
            "problem.n is 0, expected 1 or more.");
}

TEST(PlotData, OfAPlanWithTwoWrongParametersIsOneSentence) {
  Session s = plotted();
  s.sweep.first = {"n", "0:x"};
  s.sweep.second = {"format", "fp99"};
  const std::string why = message_of<std::invalid_argument>([&] { plot_figure(Plot::sweep, s, PlotData{}); });
  EXPECT_THAT(why, HasSubstr("cannot be drawn: vary n is '0:x', expected"));
  EXPECT_EQ(why.find("fp99"), std::string::npos) << why;
}

TEST(PlotCommand, TheSessionThatIsDrawnIsNeverOverwritten) {
  const TemporaryDirectory scratch;
  write_file(scratch / "s.json", session_text(plotted()));
  const std::string before = bytes_of_file(scratch / "s.json");
  const Outcome o = attoscope({"figure", scratch / "s.json", "--plot", "ulps", "--out", scratch / "s.svg"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("another name than the session's"));
  EXPECT_EQ(bytes_of_file(scratch / "s.json"), before);
  EXPECT_EQ(scratch.count(), 1);
  if (!has_gnuplot()) return;
  const Outcome archive = attoscope({"figure", scratch / "s.json", "--plot", "ulps", "--out", scratch / "s.zip"});
  EXPECT_EQ(archive.code, 0) << archive.err;
  EXPECT_EQ(bytes_of_file(scratch / "s.json"), before);
}

TEST(PlotCommand, WrongUsageIsOneSentence) {
  const TemporaryDirectory scratch;
  write_file(scratch / "s.json", session_text(plotted()));
  const auto said = [&](const std::vector<std::string>& more) {
    return attoscope(with({"figure", scratch / "s.json"}, more)).err;
  };
  EXPECT_THAT(said({"--plot", "window", "--out", scratch / "f.svg"}),
              HasSubstr("--plot is 'window', expected heat_map, strip"));
  EXPECT_THAT(said({"--plot", "ulps", "--out", scratch / "f.bmp"}), HasSubstr("ends in .pdf, .svg, .png, .tex or .zip"));
  EXPECT_THAT(said({"--plot", "ulps", "--columns", "3", "--out", scratch / "f.svg"}),
              HasSubstr("--columns is '3', expected 1 (85 mm), 2 (175 mm) or slide (254 mm)"));
  EXPECT_THAT(said({"--plot", "ulps", "--policy", "hw", "--out", scratch / "f.svg"}), HasSubstr("--policy"));
  EXPECT_THAT(said({"--out", scratch / "f.svg"}), HasSubstr("--plot is missing, expected the plot of the session"));
  const std::string broken = scratch.write("b.json", R"({"schema":"attoscope.figure/1","plot":"ulps"})");
  EXPECT_THAT(attoscope({"figure", broken, "--out", scratch / "f.svg"}).err, HasSubstr("b.json: session is missing"));
}

}  // namespace
}  // namespace attoscope
