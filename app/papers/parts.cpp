#include "app/papers/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/sweep/table.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"

namespace attoscope::papers {
namespace {

constexpr std::array series_inks{Ink::one, Ink::two, Ink::three, Ink::four, Ink::five, Ink::six};

}  // namespace

Ink series_ink(std::size_t i) { return series_inks[i % series_inks.size()]; }

Experiment base_of(const FigureSettings& x) {
  Experiment e = default_experiment();
  e.problem.n = x.n;
  e.problem.d = x.d;
  e.a.precision = policy(x.policy).precision;
  e.a.algorithm = policy(x.policy).algorithm;
  return e;
}

FigureAxis numbers(const char* label, int log_base) {
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
FigurePanel panel_of(FigureAxis x, const std::string& y, bool log) {
  FigurePanel panel;
  panel.x = std::move(x);
  panel.y.label = y;
  panel.y.log = log;
  return panel;
}
Figure figure_of(const char* name, int panels_across) {
  Figure f;
  f.name = name;
  f.columns = panels_across > 1 ? 2 : 1;
  f.panels_across = panels_across;
  return f;
}

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

std::string conditions(const FigureSettings& x, const Experiment& e, const char* varied, const char* inputs) {
  const auto unless = [&](const char* key, const std::string& text) {
    return std::string_view(varied) == key ? std::string() : text + ", ";
  };
  return unless("n", fmt::format("N = {}", x.n)) + fmt::format("d = {}, ", x.d) +
         unless("tile", fmt::format("tile {} x {}", e.a.block_q, e.a.block_k)) +
         (x.seeds == 1 ? "seed 1" : fmt::format("mean and standard deviation over seeds 1 to {}", x.seeds)) + ", " + inputs +
         ", attoscope " ATTOSCOPE_VERSION ".";
}

Sweep two_axes(const FigureSettings& x, const Experiment& base, Axis first, Axis second) {
  return {.base = base, .axes = {std::move(first), std::move(second)}, .seeds = x.seeds, .measure = {"a.mean_abs"}};
}

Axis formats() { return {"format", {"bf16", "fp16", "fp32", "fp64"}}; }

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

}  // namespace attoscope::papers
