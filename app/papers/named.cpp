#include "app/papers/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/sweep/table.h"
#include "app/train/train_figures.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/presets.h"
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
std::string conditions(const FigureSettings& x, const Experiment& e, const char* varied = "") {
  const auto unless = [&](const char* key, const std::string& text) {
    return std::string_view(varied) == key ? std::string() : text + ", ";
  };
  return unless("n", fmt::format("N = {}", x.n)) + fmt::format("d = {}, ", x.d) +
         unless("tile", fmt::format("tile {} x {}", e.a.block_q, e.a.block_k)) +
         (x.seeds == 1 ? "seed 1" : fmt::format("mean and standard deviation over seeds 1 to {}", x.seeds)) +
         ", N(0,1) inputs, attoscope " ATTOSCOPE_VERSION ".";
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

Figure format_difference(const FigureSettings& x, const AnswerSweep& answer) {
  const Sweep sweep = two_axes(x, base_of(x), formats, {"policy", policies_of(x)});
  const auto answers = answer(sweep);
  Figure f = figure_of("format-difference", 2);
  for (const char* const measure : {"a_minus_b.mean_abs", "a_minus_b.max_abs"}) {
    FigurePanel panel = panel_of(names("format", formats.values), title_of({measure}));
    for (std::size_t i = 0; i < sweep.axes[1].values.size(); ++i) {
      Series s = series_of(sweep, {measure}, answers, 1, sweep.axes[1].values[i], true);
      s.label = sweep.axes[1].values[i];
      s.ink = x.all_policies ? series_ink(i) : Ink::a;
      s.shape = Shape::line_and_marks;
      panel.series.push_back(std::move(s));
    }
    f.panels.push_back(std::move(panel));
  }
  f.caption = "Difference between Flash Attention (a) under policy " + listed(policies_of(x)) +
              " and three-pass base_eager (b) by number format; " + conditions(x, sweep.base);
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
  f.caption = "Error of Flash Attention and of three-pass attention against the high-precision truth by number format; " +
              conditions(x, sweep.base);
  return f;
}

Figure sequence_length(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis lengths{"n", powers(std::min(128, x.n), 2 * x.n)};
  const Sweep sweep = two_axes(x, base_of(x), lengths, {"policy", policies_of(x)});
  const auto answers = answer(sweep);
  const FigureAxis n = numbers("N", 2);
  Figure f = figure_of("sequence-length", 2);
  FigurePanel difference = panel_of(n, title_of({"a_minus_b.mean_abs"}));
  for (std::size_t i = 0; i < sweep.axes[1].values.size(); ++i) {
    Series s = series_of(sweep, {"a_minus_b.mean_abs"}, answers, 1, sweep.axes[1].values[i], false);
    s.label = "flash, " + sweep.axes[1].values[i];
    s.ink = x.all_policies ? series_ink(i) : Ink::a;
    difference.series.push_back(std::move(s));
  }
  f.panels = {std::move(difference), against_golden(sweep, x, answers, n, false)};
  f.caption = "bf16 over sequence length: left Flash Attention against three-pass, right both against golden; " +
              conditions(x, sweep.base, "n");
  return f;
}

/// One panel a policy, one series a format, over tiles.
Figure over_tiles(const FigureSettings& x, const AnswerSweep& answer, const char* name, const Axis& tiles,
                  const FigureAxis& axis) {
  Figure f = figure_of(name, x.all_policies ? 2 : 1);
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Sweep sweep = two_axes(x, base_of(own), tiles, formats);
    const auto answers = answer(sweep);
    FigurePanel panel = panel_of(axis, title_of({"a_minus_b.mean_abs"}));
    panel.title = "policy " + rounding;
    for (std::size_t i = 0; i < formats.values.size(); ++i) {
      Series s = series_of(sweep, {"a_minus_b.mean_abs"}, answers, 1, formats.values[i], !axis.categories.empty());
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
  f.caption = "Difference between Flash Attention and three-pass attention over the area of a tile of 64 query rows; " +
              conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_square(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f =
      over_tiles(x, answer, "tile-square", {"tile_square", powers(8, std::min(512, x.n))}, numbers("side of a square tile", 2));
  f.caption = "Difference between Flash Attention and three-pass attention over the side of a square tile; " +
              conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_swap(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"tile", {"16x64", "64x16", "16x128", "128x16", "32x256", "256x32"}};
  Figure f = over_tiles(x, answer, "tile-swap", tiles, names("block_q x block_k", tiles.values));
  f.caption =
      "Difference between Flash Attention and three-pass attention for rectangular tiles and the same tiles swapped: only "
      "block_k can change a bit; " +
      conditions(x, base_of(x), "tile");
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

Figure fa3_table3(const FigureSettings& x, const AnswerSweep& answer) {
  const auto of = [&](const char* title, const Format& format, const char* rounding) {
    FigureSettings own = x;
    own.policy = rounding;
    Experiment e = base_of(own);
    e.problem.input.kind = InputKind::outliers;
    e.format = format;
    return NamedExperiment{title, e};
  };
  Figure f = bars("fa3-table3", x, answer,
                  {of("three-pass fp16", fp16, "base_eager"), of("flash fp16", fp16, "hw"),
                   of("three-pass e4m3", e4m3, "base_eager"), of("flash e4m3", e4m3, "hw")},
                  {"a.rms"}, true);
  f.caption = fmt::format(
      "RMS error on the outlier mix N(0,1) + N(0,100) Bernoulli(0.001) of the FlashAttention-3 paper; fp8 without block scales "
      "or incoherent processing, which are not emulated; N = {}, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".",
      x.n, x.d, x.seeds);
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
  f.caption =
      "How often the running max of a row moves, against H_T - 1, the expectation for exchangeable scores; inputs as named; " +
      conditions(x, sweep.base, "tile");
  return f;
}

Figure lag(const FigureSettings& x, const AnswerSweep& answer) {
  Experiment base = base_of(x);
  base.a.algorithm = Algorithm::flash4;
  base.problem.input.kind = InputKind::outliers;
  const Axis taus{"tau", {"0", "1", "2", "4", "6", "8", "12", "16"}}, types{"format", {"bf16", "fp16", "e4m3"}};
  const Sweep sweep = two_axes(x, base, taus, types);
  const auto answers = answer(sweep);
  Figure f = figure_of("lag", 2);
  for (const char* const measure : {"a.mean_abs/golden", "rescales"}) {
    FigurePanel panel = panel_of(numbers("tau"), title_of({measure}), std::string_view(measure) != "rescales");
    for (std::size_t i = 0; i < types.values.size(); ++i) {
      // tau stays as varied: the sweep sets formats before it
      panel.series.push_back(series_of(sweep, {measure}, answers, 1, types.values[i], false));
      panel.series.back().label = types.values[i];
      panel.series.back().ink = series_ink(i);
    }
    f.panels.push_back(std::move(panel));
  }
  f.caption = "FlashAttention-4's stale max: error and rescales over the threshold tau, policy " + x.policy +
              ", on the outlier mix N(0,1) + N(0,100) Bernoulli(0.001); " +
              fmt::format("N = {}, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".", x.n, x.d, x.seeds);
  return f;
}

Figure bias(const FigureSettings& x, const AnswerSweep& answer) {
  const auto of = [&](const char* title, InputKind input, double beta) {
    FigureSettings own = x;
    own.policy = "hw";
    Experiment e = base_of(own);
    e.problem.input.kind = input;
    e.a.tie_beta = beta;
    return NamedExperiment{title, e};
  };
  Figure f = bars("bias", x, answer,
                  {of("normal", InputKind::normal, 0), of("ties", InputKind::ties, 0), of("ties, beta 2", InputKind::ties, 2),
                   of("ties, beta 8", InputKind::ties, 8)},
                  {"a.bias"}, false);
  f.caption = fmt::format(
      "Signed mean error of bf16 Flash Attention (policy hw) without ties, with planted ties of the row maximum, and with the "
      "mitigation that scales a tied maximum by beta (arXiv 2510.04212); N = {}, d = {}, mean and standard deviation over "
      "seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".",
      x.n, x.d, x.seeds);
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
  f.caption = "Mean error of bf16 Flash Attention under policy " + x.policy +
              ", and with one rounding step at a time made exact; " + conditions(x, base_of(x));
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
  f.caption = fmt::format(
      "Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm: left over N with 64 x 64 tiles, "
      "right over on-chip memory M at N = {} with Bc = ceil(M/4d), Br = min(Bc, d); d = {}, bf16, attoscope " ATTOSCOPE_VERSION
      ".",
      x.n, x.d);
  return f;
}

constexpr std::array<NamedFigure, 14> figures{{
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
    {"fa3-table3", "outlier mix", "RMS errors on the outlier mix (FlashAttention-3, arXiv 2407.08608, table 3).", fa3_table3},
    {"rescales", "rescale counts", "How often the running max moves, against H_T - 1.", rescales},
    {"lag", "stale max", "Error and rescales over FlashAttention-4's threshold.", lag},
    {"bias", "ties and bias", "Signed error with ties, with and without the beta mitigation (arXiv 2510.04212).", bias},
    {"attribution", "where the error comes from", "Error with one rounding step at a time made exact.", attribution},
    {"io", "HBM traffic", "HBM bytes of three algorithms over N and over on-chip memory (FlashAttention, arXiv 2205.14135).",
     io},
    {"train-weights", "weights over training",
     "Weights trained with Flash Attention minus those trained with three-pass attention, step by step (arXiv 2405.02803, "
     "figure 7).",
     FromTraining{weights_plan, train_weights_figure}},
    {"train-reference", "training beside references",
     "The same beside another initialisation and other formats: FP16 - FP32, BF16 - FP32, FP16 - BF16 (arXiv 2405.02803, "
     "figure 8).",
     FromTraining{reference_plan, train_reference_figure}},
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
