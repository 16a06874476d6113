#include "app/papers/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/files/paths.h"
#include "app/papers/seen.h"
#include "app/sweep/table.h"
#include "app/train/train_figures.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/attribution.h"

namespace attoscope {
namespace {

constexpr std::array series_inks{Ink::one, Ink::two, Ink::three, Ink::four, Ink::five, Ink::six};
Ink series_ink(std::size_t i) { return series_inks[i % series_inks.size()]; }

Experiment base_of(const FigureSettings& x) {
  Experiment e = default_experiment();
  e.problem.n = x.n;
  e.problem.d = x.d;
  e.a.precision = policy(x.policy).precision;
  e.a.algorithm = policy(x.policy).algorithm;
  return e;
}

FigureAxis numbers(const char* label, int log_base = 0) {
  FigureAxis axis;
  axis.label = label;
  axis.log = log_base > 0;
  axis.base = log_base > 0 ? log_base : 10;
  return axis;
}
FigureAxis names(const char* label, const std::vector<std::string>& values) {
  FigureAxis axis;
  axis.label = label;
  axis.categories = values;
  return axis;
}
/// An empty panel whose y is a measure.
FigurePanel panel_of(FigureAxis x, const std::string& y, bool log = true) {
  FigurePanel panel;
  panel.x = std::move(x);
  panel.y.label = y;
  panel.y.log = log;
  return panel;
}
Figure figure_of(const char* name, int panels_across = 1) {
  Figure f;
  f.name = name;
  f.columns = panels_across > 1 ? 2 : 1;
  f.panels_across = panels_across;
  return f;
}

/// The policies that are drawn: the one chosen, or all of the flash kind.
std::vector<std::string> policies_of(const FigureSettings& x) {
  std::vector<std::string> names;
  if (!x.all_policies) return {x.policy};
  for (const Policy& p : policies())
    if (p.algorithm == Algorithm::flash2 && p.name != "exact") names.emplace_back(p.name);
  return names;
}

std::vector<std::string> powers(int from, int to) {
  std::vector<std::string> values;
  for (int x = from; x <= to; x *= 2) values.push_back(std::to_string(x));
  return values;
}

/// "N = 1024, d = 64, tile 64 x 64, seeds 1 to 5, attoscope 0.1.0": the rest of every caption.
std::string conditions(const FigureSettings& x, const Experiment& e, const char* varied = "",
                       const char* inputs = "N(0,1) inputs") {
  const auto unless = [&](const char* key, const std::string& text) {
    return std::string_view(varied) == key ? std::string() : text + ", ";
  };
  return unless("n", fmt::format("N = {}", x.n)) + fmt::format("d = {}, ", x.d) +
         unless("tile", fmt::format("tile {} x {}", e.a.block_q, e.a.block_k)) +
         (x.seeds == 1 ? "seed 1" : fmt::format("mean and standard deviation over seeds 1 to {}", x.seeds)) + ", " + inputs +
         ", attoscope " ATTOSCOPE_VERSION ".";
}

/// The rows with this value of axis `axis` as a series over the other axis, which has names or numbers.
Series series_of(const Sweep& sweep, const Measure& measure, const std::vector<SweepAnswer>& answers, std::size_t axis,
                 const std::string& value, bool categories) {
  Series s;
  const std::size_t other = sweep.axes.size() == 1 ? 0 : 1 - axis;
  for (const SweepRow& row : rows(sweep, measure, answers)) {
    if (sweep.axes.size() == 2 && row.values[axis] != value) continue;
    const auto& values = sweep.axes[other].values;
    const auto at = std::ranges::find(values, row.values[other]) - values.begin();
    s.x.push_back(categories ? static_cast<double>(at) : to_number<double>(row.values[other]).value_or(NAN));
    s.y.push_back(row.mean);
    // an error bar that reaches 0 or below has no place on a log axis: it ends at the least seed
    s.low.push_back(row.mean - row.std > 0 ? row.mean - row.std : row.min);
    s.high.push_back(row.mean + row.std);
  }
  if (sweep.seeds == 1) s.low.clear(), s.high.clear();
  return s;
}

Sweep two_axes(const FigureSettings& x, const Experiment& base, Axis first, Axis second) {
  return {.base = base, .axes = {std::move(first), std::move(second)}, .seeds = x.seeds, .measure = {"a.mean_abs"}};
}

const Axis formats{"format", {"bf16", "fp16", "fp32", "fp64"}};

/// What a difference is called in print.
const char* difference_label(std::string_view measure) {
  return measure.ends_with("max_abs") ? "max |flash - three-pass|" : "mean |flash - three-pass|";
}

Figure format_difference(const FigureSettings& x, const AnswerSweep& answer) {
  const Sweep sweep = two_axes(x, base_of(x), formats, {"policy", policies_of(x)});
  const auto answers = answer(sweep);
  Figure f = figure_of("format-difference", 2);
  for (const char* const measure : {"a_minus_b.mean_abs", "a_minus_b.max_abs"}) {
    FigurePanel panel = panel_of(names("format", formats.values), difference_label(measure));
    for (std::size_t i = 0; i < sweep.axes[1].values.size(); ++i) {
      Series s = series_of(sweep, {measure}, answers, 1, sweep.axes[1].values[i], true);
      s.label = sweep.axes[1].values[i];
      s.ink = x.all_policies ? series_ink(i) : Ink::a;
      s.shape = Shape::line_and_marks;
      panel.series.push_back(std::move(s));
    }
    f.panels.push_back(std::move(panel));
  }
  const Series& first = f.panels[0].series[0];
  const double bf16_mean = value_at(f.panels[0], first, "bf16"), fp16_mean = value_at(f.panels[0], first, "fp16");
  f.caption = "Difference between Flash Attention under policy " + listed(policies_of(x)) +
              " and three-pass attention (base_eager) by number format. In fp16 the mean is 1/" +
              two_digits(bf16_mean / fp16_mean) + " of that in bf16, and fp32 and fp64 lie far below: the more precise the " +
              "format, the smaller the difference, as in the paper's figure 3; " + conditions(x, sweep.base);
  return f;
}

/// a under each policy and b, against golden: one panel over `axis`.
FigurePanel against_golden(const Sweep& sweep, const FigureSettings& x, const std::vector<SweepAnswer>& answers,
                           FigureAxis axis, bool categories) {
  FigurePanel panel = panel_of(std::move(axis), "mean |error| against golden");
  const auto& names = sweep.axes[1].values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series s = series_of(sweep, {"a.mean_abs"}, answers, 1, names[i], categories);
    s.label = "flash, " + names[i];
    s.ink = x.all_policies ? series_ink(i) : Ink::a;
    panel.series.push_back(std::move(s));
  }
  Series b = series_of(sweep, {"b.mean_abs"}, answers, 1, names[0], categories);
  b.label = "three-pass, base_eager";
  b.ink = Ink::b;
  b.dashed = true;
  panel.series.push_back(std::move(b));
  return panel;
}

Figure format_golden(const FigureSettings& x, const AnswerSweep& answer) {
  const Sweep sweep = two_axes(x, base_of(x), formats, {"policy", policies_of(x)});
  Figure f = figure_of("format-golden");
  f.panels.push_back(against_golden(sweep, x, answer(sweep), names("format", formats.values), true));
  const FigurePanel& panel = f.panels[0];
  const double ratio = value_at(panel, panel.series[0], "bf16") / value_at(panel, panel.series.back(), "bf16");
  f.caption =
      "Error of Flash Attention and of three-pass attention against the high-precision truth by number format. In bf16 "
      "Flash Attention under policy " +
      policies_of(x)[0] + " has " + two_digits(ratio) + " times the error of three-pass attention" +
      (ratio > 5 ? ", as the paper reports (about ten)" : "; the paper reports about ten") + "; " + conditions(x, sweep.base);
  return f;
}

/// One panel over N: a measure of every policy on both inputs.
FigurePanel over_lengths(const FigureSettings& x, const AnswerSweep& answer, const char* measure, const std::string& label) {
  FigurePanel panel = panel_of(numbers("N", 2), label);
  std::size_t index = 0;
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Axis lengths{"n", powers(std::min(128, x.n), 2 * x.n)};
    const Sweep sweep = two_axes(x, base_of(own), lengths, {"input", {"normal", "uniform"}});
    const auto answers = answer(sweep);
    for (const std::string& input : sweep.axes[1].values) {
      Series s = series_of(sweep, {measure}, answers, 1, input, false);
      s.label = x.all_policies ? rounding + ", " + input : input;
      s.ink = series_ink(index++);
      s.dashed = input == "uniform";
      panel.series.push_back(std::move(s));
    }
  }
  return panel;
}

Figure sequence_length(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = figure_of("sequence-length", 2);
  f.panels = {over_lengths(x, answer, "a_minus_b.mean_abs", "mean |flash - three-pass|"),
              over_lengths(x, answer, "a_minus_b.max_abs", "max |flash - three-pass|"),
              over_lengths(x, answer, "a.mean_abs/golden", "mean error / RMS of output, flash"),
              over_lengths(x, answer, "b.mean_abs/golden", "mean error / RMS of output, three-pass")};
  const std::vector<Series>&mean = f.panels[0].series, &relative = f.panels[2].series;
  f.caption = "bf16 over sequence length, policy " + policies_of(x)[0] + ". The mean difference " + growth_words(mean[0]) +
              " on normal inputs and " + growth_words(mean[1]) +
              " on uniform ones: outputs are means of N values, which shrink like 1/sqrt(N) where values have both signs and "
              "do not where all are positive. Relative to the output Flash's error " +
              growth_words(relative[0]) + " and " + growth_words(relative[1]) + ". The paper's figure 5 rises, " +
              (growth(mean[1]) > 1.1 ? "as the uniform inputs here do; " : "unlike this one; ") +
              conditions(x, base_of(x), "n", "N(0,1) and uniform inputs");
  return f;
}

/// Every y over the first: formats whose errors are decades apart are then seen on one axis.
Series over_first(Series s) {
  const double first = s.y.empty() ? 1 : s.y.front();
  for (std::vector<double>* values : {&s.y, &s.low, &s.high})
    for (double& v : *values) v /= first;
  return s;
}

/// One panel a policy, one series a format, over tiles: the mean difference over that of the first tile.
Figure over_tiles(const FigureSettings& x, const AnswerSweep& answer, const char* name, const Axis& tiles,
                  const FigureAxis& axis) {
  Figure f = figure_of(name, x.all_policies ? 2 : 1);
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Sweep sweep = two_axes(x, base_of(own), tiles, formats);
    const auto answers = answer(sweep);
    FigurePanel panel = panel_of(axis, "mean |flash - three-pass| / first tile's", false);
    panel.title = "policy " + rounding;
    panel.y.min = 0;
    for (std::size_t i = 0; i < formats.values.size(); ++i) {
      Series s = over_first(series_of(sweep, {"a_minus_b.mean_abs"}, answers, 1, formats.values[i], !axis.categories.empty()));
      s.label = formats.values[i];
      s.ink = series_ink(i);
      s.shape = axis.categories.empty() ? Shape::line_and_marks : Shape::marks;
      panel.series.push_back(std::move(s));
    }
    f.panels.push_back(std::move(panel));
  }
  return f;
}

Figure tile_area(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = over_tiles(x, answer, "tile-area", {"tile_area", powers(1024, 64 * std::min(1024, x.n))},
                        numbers("tile area, 64 query rows", 2));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention over the area of a tile of 64 query rows, as a "
      "share of that of the smallest tile. In bf16, policy " +
      policies_of(x)[0] + ", it " + growth_words(bf16_series) + " from the smallest tile to the largest" +
      (growth(bf16_series) < 0.9 ? ", as in the paper's figure 6 (a); " : ", unlike the paper's figure 6 (a); ") +
      conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_square(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f =
      over_tiles(x, answer, "tile-square", {"tile_square", powers(8, std::min(512, x.n))}, numbers("side of a square tile", 2));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention over the side of a square tile, as a share of "
      "that of the smallest. In bf16, policy " +
      policies_of(x)[0] + ", it " + growth_words(bf16_series) +
      ": wider tiles mean fewer stores of the state. Summaries of the paper say of its figure 6 (b) that square tiles "
      "have little influence; " +
      conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_swap(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"tile", {"16x64", "64x16", "16x128", "128x16", "32x256", "256x32"}};
  Figure f = over_tiles(x, answer, "tile-swap", tiles, names("block_q x block_k", tiles.values));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention for rectangular tiles and the same tiles "
      "swapped, as a share of that of 16x64. In bf16, policy " +
      policies_of(x)[0] + ", 64x16 has " + two_digits(value_at(f.panels[0], bf16_series, "64x16")) +
      " times the difference of 16x64: keys a tile decide, rows of queries change no bit; " + conditions(x, base_of(x), "tile");
  return f;
}

/// Bars of one measure, a named experiment each.
struct NamedExperiment {
  std::string name;
  Experiment experiment;
};
Figure bars(const char* name, const FigureSettings& x, const AnswerSweep& answer,
            const std::vector<NamedExperiment>& experiments, const Measure& measure, bool log) {
  FigurePanel panel = panel_of(numbers(""), title_of(measure), log);
  Series s;
  s.shape = log ? Shape::marks : Shape::bars;
  for (const auto& [title, experiment] : experiments) {
    const Sweep one{
        .base = experiment, .axes = {{"d", {std::to_string(experiment.problem.d)}}}, .seeds = x.seeds, .measure = measure};
    const std::vector<SweepRow> table = rows(one, measure, answer(one));
    s.x.push_back(static_cast<double>(panel.x.categories.size()));
    s.y.push_back(table.at(0).mean);
    if (x.seeds > 1) {
      s.low.push_back(table.at(0).mean - table.at(0).std);
      s.high.push_back(table.at(0).mean + table.at(0).std);
    }
    panel.x.categories.push_back(title);
  }
  panel.series.push_back(std::move(s));
  Figure f = figure_of(name);
  f.panels.push_back(std::move(panel));
  return f;
}

/// RMS errors of a and b against the truth for the inputs before they were rounded.
struct RawErrors {
  double flash = 0, three_pass = 0;
};
RawErrors raw_errors(Experiment e) {
  const Result rounded = compute(e);
  e.a.precision[Step::input] = e.b.precision[Step::input] = {};
  const Result unrounded = compute(e);
  const Matrix& truth = *unrounded.golden;
  double a = 0, b = 0;
  for (std::size_t i = 0; i < truth.values.size(); ++i) {
    a += std::pow(rounded.a.values[i] - truth.values[i], 2);
    b += std::pow(rounded.b.values[i] - truth.values[i], 2);
  }
  const auto count = static_cast<double>(truth.values.size());
  return {std::sqrt(a / count), std::sqrt(b / count)};
}

/// The same over seeds, as bars named like those of `rounded`.
FigurePanel raw_panel(const FigureSettings& x, const FigurePanel& rounded, const Experiment& base) {
  FigurePanel panel = rounded;
  panel.title = "truth of the unrounded inputs";
  Series& s = panel.series[0];
  s.y.clear(), s.low.clear(), s.high.clear();
  for (const Format& format : {fp16, e4m3}) {
    std::vector<double> flash, three_pass;
    for (int seed = 1; seed <= x.seeds; ++seed) {
      Experiment e = base;
      e.format = format;
      e.problem.seed = static_cast<std::uint64_t>(seed);
      const RawErrors found = raw_errors(e);
      flash.push_back(found.flash), three_pass.push_back(found.three_pass);
    }
    for (const std::vector<double>& values : {three_pass, flash}) {
      const double count = static_cast<double>(values.size());
      double mean = 0, squares = 0;
      for (const double v : values) mean += v / count;
      for (const double v : values) squares += (v - mean) * (v - mean);
      const double deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
      s.y.push_back(mean);
      if (x.seeds > 1) s.low.push_back(mean - deviation), s.high.push_back(mean + deviation);
    }
  }
  return panel;
}

Figure fa3_table3(const FigureSettings& x, const AnswerSweep& answer) {
  FigureSettings own = x;
  own.policy = "hw";
  Experiment base = base_of(own);
  base.problem.input.kind = InputKind::outliers;
  const auto of = [&](const char* title, const Format& format, const char* rounding) {
    Experiment e = base;
    e.a.precision = policy(rounding).precision;
    e.a.algorithm = policy(rounding).algorithm;
    e.format = format;
    return NamedExperiment{title, e};
  };
  Figure f = bars("fa3-table3", x, answer,
                  {of("three-pass fp16", fp16, "base_eager"), of("flash fp16", fp16, "hw"),
                   of("three-pass e4m3", e4m3, "base_eager"), of("flash e4m3", e4m3, "hw")},
                  {"a.rms"}, true);
  f.columns = f.panels_across = 2;
  f.panels[0].title = "truth of the rounded inputs";
  f.panels[0].y.label = "RMS error";
  if (!(f.panels[0].series[0].y[0] > 0)) return f;  // its points are only counted
  f.panels.push_back(raw_panel(x, f.panels[0], base));
  f.panels[1].y.label = "RMS error";
  const auto ratio = [&](std::size_t panel) {
    const std::vector<double>& y = f.panels[panel].series[0].y;
    return two_digits(y[0] / y[1]);
  };
  f.caption = fmt::format(
      "RMS error on the outlier mix N(0,1) + N(0,100) Bernoulli(0.001) of the FlashAttention-3 paper. In fp16 three-pass "
      "attention has {} times the error of Flash Attention where the truth is that of the rounded inputs, as everywhere else "
      "in "
      "this program, and {} times where it is that of the unrounded ones, whose rounding is then part of both errors; the "
      "paper "
      "has 1.7. fp8 without block scales or incoherent processing, which are not emulated; N = {}, d = {}, seeds 1 to {}, "
      "attoscope " ATTOSCOPE_VERSION ".",
      ratio(0), ratio(1), x.n, x.d, x.seeds);
  return f;
}

/// "eager, uniform, 16": where a ratio lies around the paper's.
std::string places_of_ten(const Figure& f) {
  constexpr double least = 7, most = 14;
  std::string text;
  for (const FigurePanel& panel : f.panels)
    for (const Series& s : panel.series)
      for (std::size_t i = 0; i < s.x.size() && !s.dashed; ++i)
        if (s.y[i] >= least && s.y[i] <= most)
          text += (text.empty() ? "" : "; ") + s.label + ", " + panel.title + ", " + two_digits(s.x[i]);
  return text.empty() ? "nowhere" : text;
}

Figure paper_region(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"block_k", powers(16, std::max(16, x.n / 4))}, inputs{"input", {"normal", "uniform"}};
  Figure f = figure_of("paper-region", 2);
  FigureSettings all = x;
  all.all_policies = true;
  for (const std::string& input : inputs.values) {
    f.panels.push_back(panel_of(numbers("keys a tile", 2), "mean error, flash / three-pass"));
    f.panels.back().title = input;
  }
  for (std::size_t i = 0; const std::string& rounding : policies_of(all)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Sweep sweep = two_axes(x, base_of(own), tiles, inputs);
    const auto answers = answer(sweep);
    for (std::size_t p = 0; p < inputs.values.size(); ++p) {
      Series s = series_of(sweep, {"ratio.mean_abs"}, answers, 1, inputs.values[p], false);
      s.label = rounding;
      s.ink = series_ink(i);
      f.panels[p].series.push_back(std::move(s));
    }
    ++i;
  }
  for (FigurePanel& panel : f.panels) {
    Series ten = attoscope::series_of("10", Ink::golden, Shape::line, panel.series[0].x);
    ten.dashed = true;
    ten.y.assign(ten.x.size(), 10);
    panel.series.push_back(std::move(ten));
  }
  f.caption =
      "Where the paper's statement, about ten times the deviation in bf16, holds: the ratio of the mean errors over "
      "policy, input and keys a tile. It lies between 7 and 14 at (policy, input, keys) " +
      places_of_ten(f) +
      ". The paper's rounding places and inputs are not in its abstract, so which of these is its setting is "
      "inferred; " +
      conditions(x, base_of(x), "tile", "N(0,1) and uniform inputs");
  return f;
}

Figure rescales(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"block_k", powers(4, x.n)};
  const Sweep sweep = two_axes(x, base_of(x), tiles, {"input", {"normal", "ascending", "descending"}});
  const auto answers = answer(sweep);
  FigurePanel panel = panel_of(numbers("block_k", 2), "rescales per row");
  for (std::size_t i = 0; i < 3; ++i) {
    panel.series.push_back(series_of(sweep, {"rescales"}, answers, 1, sweep.axes[1].values[i], false));
    panel.series.back().label = sweep.axes[1].values[i];
    panel.series.back().ink = series_ink(i);
  }
  panel.series.push_back(series_of(sweep, {"expected_rescales"}, answers, 1, "normal", false));
  panel.series.back().label = "H_T - 1";
  panel.series.back().ink = Ink::golden;
  panel.series.back().dashed = true;
  panel.y.min = 0.01;
  Figure f = figure_of("rescales");
  f.panels.push_back(std::move(panel));
  const std::vector<Series>& all = f.panels[0].series;
  f.caption = "How often the running max of a row moves. With tiles of 4 keys it is " + two_digits(all[0].y.front()) +
              " for normal inputs, " + two_digits(all[1].y.front()) + " for ascending and " + two_digits(all[2].y.front()) +
              " for descending keys; H_T - 1, the expectation for scores in random order, is " + two_digits(all[3].y.front()) +
              "; " + conditions(x, sweep.base, "tile");
  return f;
}

/// FlashAttention-4 with ascending keys, P and nothing else rounded to the format; eight bits are lifted, as its kernels do.
Experiment stale_max(const FigureSettings& x, const std::string& format) {
  FigureSettings own = x;
  own.policy = "hw";
  Experiment e = base_of(own);
  e.a.algorithm = Algorithm::flash4;
  e.a.precision[Step::output] = {};
  e.a.p_exponent = format == "e4m3" ? 8 : 0;
  e.problem.input.kind = InputKind::ascending;
  return e;
}

Figure lag(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis taus{"tau", {"0", "0.5", "1", "2", "4", "6", "8", "12", "16"}};
  const std::vector<std::string> types{"bf16", "fp16", "e4m3"};
  Figure f = figure_of("lag", 2);
  f.panels = {panel_of(numbers("tau"), "mean error / RMS of output"), panel_of(numbers("tau"), "rescales per row", false)};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Sweep sweep = two_axes(x, stale_max(x, types[i]), taus, {"format", {types[i]}});
    const auto answers = answer(sweep);
    for (const auto& [panel, measure] : {std::pair{0, "a.mean_abs/golden"}, std::pair{1, "rescales"}}) {
      // tau stays as varied: the sweep sets formats before it
      std::vector<Series>& series = f.panels[static_cast<std::size_t>(panel)].series;
      series.push_back(series_of(sweep, {measure}, answers, 1, types[i], false));
      series.back().label = types[i];
      series.back().ink = series_ink(i);
    }
  }
  const auto last = [&](std::size_t i) { return two_digits(growth(f.panels[0].series[i])); };
  f.caption =
      "FlashAttention-4's stale max over its threshold tau, ascending keys, P alone rounded, in e4m3 lifted by 2^8. From "
      "tau 0 to 16 the error becomes " +
      last(0) + " times as large in bf16, " + last(1) + " times in fp16 and " + last(2) +
      " times in e4m3, where P saturates from tau = log2 448 - 8 = 0.81 on; the rescales fall from " +
      two_digits(f.panels[1].series[0].y.front()) + " to " + two_digits(f.panels[1].series[0].y.back()) +
      " a row. FlashAttention-4 uses tau 8 for 16 bits and 0 for 8, which fits; " +
      fmt::format("N = {}, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".", x.n, x.d, x.seeds);
  return f;
}

/// 128 keys with tied maxima and negative values, shipped with the presets; no inputs are drawn, so every seed is the same.
Experiment tied_maxima(double beta) {
  Experiment e = default_experiment();
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.file = assets_directory() + "/presets/tied_maxima.safetensors";
  e.problem.n = 128;
  e.a.tie_beta = beta;
  return e;
}

/// P, O and the output are rounded, the rest is exact.
Experiment stored_in_bf16(Experiment e) {
  e.a.precision = policy("exact").precision;
  for (const Step step : {Step::P, Step::O, Step::output}) e.a.precision[step] = to_main;
  return e;
}

Figure bias(const FigureSettings& x, const AnswerSweep& answer) {
  Experiment normal = base_of(x), signed_ties = base_of(x);
  signed_ties.problem.input.kind = InputKind::ties;
  Figure f = bars("bias", x, answer,
                  {{"normal", stored_in_bf16(normal)},
                   {"ties, V of both signs", stored_in_bf16(signed_ties)},
                   {"tied max, V < 0", stored_in_bf16(tied_maxima(0))},
                   {"the same, beta 2", stored_in_bf16(tied_maxima(2))},
                   {"the same, beta 3", stored_in_bf16(tied_maxima(3))}},
                  {"a.bias"}, false);
  f.panels[0].y.label = "signed mean error";
  const std::vector<double>& y = f.panels[0].series[0].y;
  f.caption = fmt::format(
      "Signed mean error of bf16 Flash Attention that rounds P, O and the output. With tied maxima and negative values it is "
      "{:.2g}, with beta = 2, which scales a tied maximum, {:.2g}: {} of it is left. With normal inputs, and with ties and "
      "values of both signs, it is {:.1g} and {:.1g}. The drift needs ties and one sign, as arXiv 2510.04212 says; N = {} "
      "where "
      "inputs are drawn, else 128, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".",
      y[2], y[3], two_digits(y[3] / y[2]), y[0], y[1], x.n, x.d, x.seeds);
  return f;
}

Figure attribution(const FigureSettings& x, const AnswerSweep& answer) {
  std::vector<NamedExperiment> experiments{{"all steps", base_of(x)}};
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    Experiment e = base_of(x);
    if (step == Step::input || e.a.precision[step].kind == Rounding::Kind::exact) continue;
    e.a.precision[step] = {};
    experiments.push_back({std::string(name(step)) + " exact", e});
  }
  Figure f = bars("attribution", x, answer, experiments, {"a.mean_abs"}, false);
  f.columns = 2;
  f.panels[0].y.min = 0;
  const std::vector<double>& y = f.panels[0].series[0].y;
  const auto least = static_cast<std::size_t>(std::ranges::min_element(y) - y.begin());
  f.caption = "Mean error of bf16 Flash Attention under policy " + x.policy +
              ", and with one rounding step at a time made exact. '" + f.panels[0].x.categories[least] +
              "' takes off most: " + two_digits(100 * (1 - y[least] / y[0])) + " % of the error; " + conditions(x, base_of(x));
  return f;
}

Figure io(const FigureSettings& x, const AnswerSweep&) {
  Experiment e = base_of(x);
  Figure f = figure_of("io", 2);
  constexpr std::array<std::pair<const char*, double Traffic::*>, 3> counts{
      {{"Algorithm 0", &Traffic::algorithm0}, {"FlashAttention", &Traffic::flash1}, {"FlashAttention-2", &Traffic::flash2}}};
  const auto curve = [&](auto set, const std::vector<std::string>& values, double Traffic::* count) {
    Series s;
    for (const std::string& v : values) {
      set(*to_number<int>(v));
      s.x.push_back(*to_number<double>(v));
      s.y.push_back(traffic(e).*count);
    }
    return s;
  };
  const auto panel = [&](const char* label, auto set, const std::vector<std::string>& values) {
    FigurePanel p = panel_of(numbers(label, 2), "HBM bytes");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      p.series.push_back(curve(set, values, counts[i].second));
      p.series.back().label = counts[i].first;
      p.series.back().ink = series_ink(i);
    }
    f.panels.push_back(std::move(p));
  };
  panel("N", [&](int n) { e.problem.n = n; }, powers(128, 65536));
  e.problem.n = x.n;
  panel(
      "on-chip memory M, elements", [&](int memory) { e = with_tiles(e, tiles_for_memory(memory, x.d)); },
      powers(4 * x.d, 4 * x.d * 1024));
  const std::vector<Series>& all = f.panels[0].series;
  f.caption = fmt::format(
      "Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm: left over N with 64 x 64 tiles, "
      "right over on-chip memory M at N = {} with Bc = ceil(M/4d), Br = min(Bc, d). At the largest N FlashAttention moves {} "
      "and "
      "FlashAttention-2 {} of what attention without tiles moves; all grow with the square of N; d = {}, bf16, "
      "attoscope " ATTOSCOPE_VERSION ".",
      x.n, two_digits(all[1].y.back() / all[0].y.back()), two_digits(all[2].y.back() / all[0].y.back()), x.d);
  return f;
}

constexpr std::array<NamedFigure, 15> figures{{
    {"format-difference", "a - b by format",
     "Difference of Flash Attention from three-pass attention by number format (arXiv 2405.02803, figure 3).",
     format_difference},
    {"format-golden", "both against golden", "Errors of both against the truth by number format (arXiv 2405.02803, figure 4).",
     format_golden},
    {"sequence-length", "over N", "Difference and errors over sequence length (arXiv 2405.02803, figure 5).", sequence_length},
    {"tile-area", "over the tile's area", "Difference over the area of a tile (arXiv 2405.02803, figure 6 a).", tile_area},
    {"tile-square", "over square tiles", "Difference over the side of a square tile (arXiv 2405.02803, figure 6 b).",
     tile_square},
    {"tile-swap", "tiles swapped", "Difference for rectangular tiles and the same swapped (arXiv 2405.02803, figure 6 c).",
     tile_swap},
    {"paper-region", "where it is ten times",
     "Ratio of the errors over policy, input and tile: where the abstract's factor of ten holds (arXiv 2405.02803).",
     paper_region},
    {"fa3-table3", "outlier mix", "RMS errors on the outlier mix (FlashAttention-3, arXiv 2407.08608, table 3).", fa3_table3},
    {"rescales", "rescale counts", "How often the running max moves, against H_T - 1.", rescales},
    {"lag", "stale max", "Error and rescales over FlashAttention-4's threshold.", lag},
    {"bias", "ties and bias", "Signed error with ties, with and without the beta mitigation (arXiv 2510.04212).", bias},
    {"attribution", "where the error comes from", "Error with one rounding step at a time made exact.", attribution},
    {"io", "HBM traffic", "HBM bytes of three algorithms over N and over on-chip memory (FlashAttention, arXiv 2205.14135).",
     io},
    {"train-weights", "weights over training",
     "Distance of weights trained with Flash Attention, three-pass attention and exact attention, step by step (arXiv "
     "2405.02803, figure 7).",
     FromTraining{train_weights_figure, weights_trainings, weights_over_seeds}},
    {"train-reference", "training beside references",
     "The same beside another initialisation and other formats: FP16 - FP32, BF16 - FP32, FP16 - BF16 (arXiv 2405.02803, "
     "figure 8).",
     FromTraining{train_reference_figure, reference_trainings, references_over_seeds}},
}};

}  // namespace

std::span<const NamedFigure> named_figures() { return figures; }

const NamedFigure& named_figure(std::string_view name) {
  const auto* const found = std::ranges::find(figures, name, &NamedFigure::name);
  if (found != figures.end()) return *found;
  std::vector<std::string_view> known;
  for (const NamedFigure& f : figures) known.push_back(f.name);
  throw std::invalid_argument("figure " + in_quotes(name) + " is unknown, expected " + listed(known));
}

}  // namespace attoscope
