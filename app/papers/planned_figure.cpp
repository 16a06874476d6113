#include "app/papers/planned_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/files/paths.h"
#include "app/papers/figure_text.h"
#include "app/sweep/axis.h"
#include "app/sweep/table.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {

using Plan = nlohmann::json;

constexpr EnumArray<ui::Ink> ink_names{"a",   "b",     "golden", "moved", "bad", "good", "one",
                                       "two", "three", "four",   "five",  "six", "text"};
constexpr EnumArray<ui::Shape> shape_names{"line", "marks", "line_and_marks", "steps", "bars", "band", "dots"};

/// The keys of an entry, its panels, lines and bars.
constexpr std::array<std::string_view, 30> known_keys{
    "name",  "title", "what",  "across", "wide",    "caption", "panels", "lines",  "bars",       "for",
    "if",    "set",   "vary",  "seeds",  "measure", "over",    "only",   "level",  "x",          "x_log",
    "names", "y",     "y_log", "y_min",  "label",   "ink",     "shape",  "dashed", "over_first", "least_n"};

/// The rows with this second value (all rows of a one-parameter sweep) as a series over the first axis: its numbers, or indices
/// of its names. Bars span one standard deviation (down to the least seed if they would leave a log axis).
ui::Series rows_series(const Sweep& sweep, const std::vector<SweepRow>& rows, const std::string& second, bool has_names) {
  ui::Series s;
  const std::vector<std::string>& values = sweep.axes[0].values;
  for (const SweepRow& row : rows) {
    if (row.count == 0 || (sweep.axes.size() == 2 && row.values[1] != second)) continue;
    const auto at = static_cast<double>(std::ranges::find(values, row.values[0]) - values.begin());
    s.x.push_back(has_names ? at : to_number<double>(row.values[0]).value_or(NAN));
    s.y.push_back(row.mean);
    s.low.push_back(row.mean - row.std > 0 ? row.mean - row.std : row.min);
    s.high.push_back(row.mean + row.std);
  }
  if (sweep.seeds == 1) {
    s.low.clear();
    s.high.clear();
  }
  return s;
}

/// Value of a key as text; "" if it is missing.
std::string text_of(const Plan& plan, const char* key) {
  const auto found = plan.find(key);
  return found == plan.end() ? "" : found->is_string() ? found->get<std::string>() : found->dump();
}

/// `inner` plus the keys of `outer` that it lacks, except loops and titles; "set" has the settings of both.
Plan within(const Plan& outer, const Plan& inner) {
  Plan all = outer;
  for (const char* const own : {"title", "for", "if", "panels", "lines", "bars"}) all.erase(own);
  all.update(inner);
  Plan settings = outer.value("set", Plan::array());
  for (const Plan& setting : inner.value("set", Plan::array())) settings.push_back(setting);
  all["set"] = std::move(settings);
  return all;
}

/// Sets "key=value": an axis of sweeps; a field of the problem or the backward pass by its path; a whole kernel as a; or a file
/// of the assets as the input.
void set(Experiment& e, const std::string& setting) {
  const std::size_t equals = std::min(setting.find('='), setting.size() - 1);
  const std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
  if (key == "file") {
    e.problem.input.kind = InputKind::tensors;
    e.problem.input.file = assets_directory() + "/" + value;
  } else if (key == "kernel") {
    e = with_kernel(std::move(e), kernel_preset(value));
  } else if (key.starts_with("problem.") || key.starts_with("backward.")) {
    set_field("figure", settings(e), key, value);
  } else {
    vary(e, key, value);
  }
}

/// RMS error of a against golden of the inputs before they are rounded or stored.
double error_from_given(const Experiment& e) {
  const Result rounded = compute(e);
  Experiment given = e;
  for (Method* const m : {&given.a, &given.b}) {
    m->precision[Step::input] = exact;
    m->scaling = {};
    m->accumulator = {};
  }
  const Matrix golden = *compute(given).golden;
  double squares = 0;
  for (std::size_t i = 0; i < golden.values.size(); ++i) squares += std::pow(rounded.a.values[i] - golden.values[i], 2);
  return std::sqrt(squares / static_cast<double>(golden.values.size()));
}

/// `error_from_given` over seeds.
SweepRow errors_from_given(Experiment e, int seeds) {
  std::vector<double> values;
  for (e.problem.seed = 1; e.problem.seed <= static_cast<std::uint64_t>(seeds); ++e.problem.seed)
    values.push_back(error_from_given(e));
  return row_of(values);
}

/// Draws one entry.
class PlanDrawing {
 public:
  PlanDrawing(const ui::FigureSettings& settings, const AnswerSweep& answer) : settings_(settings), answer_(answer) {}

  Figure figure(const Plan& plan) {
    if (const int least = plan.value("least_n", 1); settings_.n < least)
      refuse("N", std::to_string(settings_.n), fmt::format("{} or more", least));
    FigureScope scope = scope_of(settings_);
    scope.figure = &figure_;
    figure_.name = text_of(plan, "name");
    figure_.panels_across = plan.contains("across") ? static_cast<int>(filled_number(text_of(plan, "across"), scope)) : 1;
    figure_.columns = figure_.panels_across > 1 || plan.value("wide", false) ? 2 : 1;
    collect_bars(plan, scope);
    for (const Plan& panel : plan.at("panels"))
      for (const FigureScope& one : each(panel, scope)) add_panel(within(plan, panel), one);
    figure_.caption = filled(text_of(plan, "caption"), scope);
    return std::move(figure_);
  }

 private:
  struct Bar {
    std::string name;
    Experiment experiment;
  };

  /// One scope for each row of a loop that satisfies its condition.
  std::vector<FigureScope> each(const Plan& plan, const FigureScope& scope) const {
    std::vector<FigureScope> all;
    for (const Plan& row : rows_of(plan.value("for", Plan::array({Plan::object()})))) {
      FigureScope& one = all.emplace_back(scope);
      for (const auto& [name, value] : row.items()) one.bind(name, value.get<std::string>());
      if (plan.contains("if") && filled(text_of(plan, "if"), one).empty()) all.pop_back();
    }
    return all;
  }

  /// Rows of a loop, or of the list that the loop names.
  Plan rows_of(const Plan& loop) const {
    if (!loop.is_string()) return loop;
    Plan rows = Plan::array();
    const auto add = [&](const char* name, std::string_view value) { rows.push_back({{name, std::string(value)}}); };
    ui::FigureSettings x = settings_;
    x.all_policies |= loop == "all_policies";
    if (loop == "policies" || loop == "all_policies")
      for (const std::string& policy : policies_of(x)) add("policy", policy);
    else if (loop == "kernels")
      for (const KernelPreset& kernel : kernel_presets()) {
        if (kernel.method.scaling.any()) add("kernel", kernel.name);
      }
    else if (loop == "rounded_steps")
      for (int i = static_cast<int>(Step::input) + 1; i < step_count; ++i) {
        const auto step = static_cast<Step>(i);
        if (base_of(x).a.precision[step].kind != Rounding::Kind::exact) add("step", name(step));
      }
    else
      throw std::invalid_argument("for is " + in_quotes(loop.get<std::string>()) +
                                  ", expected rows or policies, all_policies, kernels or rounded_steps");
    return rows;
  }

  Experiment experiment_of(const Plan& plan, const FigureScope& scope) const {
    Experiment e = base_of(settings_);
    for (const Plan& setting : plan.at("set")) set(e, filled(setting.get<std::string>(), scope));
    return e;
  }

  void collect_bars(const Plan& plan, const FigureScope& scope) {
    for (const Plan& bar : plan.value("bars", Plan::array()))
      for (const FigureScope& one : each(bar, scope))
        bars_.push_back({filled(text_of(bar, "name"), one), experiment_of(within(plan, bar), one)});
  }

  void add_panel(const Plan& plan, const FigureScope& scope) {
    ui::FigurePanel& p = figure_.panels.emplace_back();
    p.title = filled(text_of(plan, "title"), scope);
    p.x = ui::number_axis(text_of(plan, "x"), plan.contains("x_log"));
    p.x.base = plan.value("x_log", 10);
    p.y = ui::number_axis(filled(text_of(plan, "y"), scope), plan.value("y_log", true));
    if (plan.contains("y_min")) p.y.min = plan.at("y_min").get<double>();
    for (const Bar& bar : bars_) p.x.categories.push_back(bar.name);
    if (const std::string names = text_of(plan, "names"); !names.empty())
      for (std::string& name : split(names)) p.x.categories.push_back(std::move(name));
    for (const Plan& line : plan.at("lines"))
      for (const FigureScope& one : each(line, scope)) add_lines(p, within(plan, line), one);
  }

  void add_lines(ui::FigurePanel& panel, const Plan& line, const FigureScope& scope) {
    if (line.contains("level")) {
      const std::vector<double> x = panel.series[0].x;
      return add(panel, line, scope, "", ui::series_of("", {}, {}, x, std::vector(x.size(), line.at("level").get<double>())));
    }
    if (!bars_.empty()) return add(panel, line, scope, "", bar_series(line));
    const Sweep sweep = sweep_of(line, scope);
    const std::string only = filled(text_of(line, "only"), scope);
    const std::vector<SweepRow> table = rows(sweep, {filled(text_of(line, "measure"), scope)}, answers(sweep));
    for (const std::string& value : sweep.axes.size() == 2 ? sweep.axes[1].values : std::vector<std::string>{""}) {
      if (!only.empty() && only != value) continue;
      FigureScope one = scope;
      if (sweep.axes.size() == 2) one.bind(sweep.axes[1].key, value);
      add(panel, line, one, value, rows_series(sweep, table, value, !panel.x.categories.empty()));
    }
  }

  /// Adds the series with label, ink and shape of its line.
  static void add(ui::FigurePanel& panel, const Plan& line, const FigureScope& scope, const std::string& value, ui::Series s) {
    const auto look = [&](const char* key) { return filled(text_of(line, key), scope); };
    const std::string dashed = look("dashed"), ink = look("ink"), shape = look("shape");
    const auto place = [](const auto& names, const std::string& text) {
      const auto found = std::ranges::find(names, text);
      if (found == names.end()) throw std::invalid_argument(in_quotes(text) + " is unknown, expected " + listed(names));
      return found - names.begin();
    };
    s.label = look("label");
    s.dashed = dashed == "yes" || (!dashed.empty() && dashed == value);
    if (ink.empty())
      take_turn(s, panel.series.size());
    else
      s.ink = static_cast<ui::Ink>(place(ink_names, ink));
    s.shape = shape.empty() ? ui::Shape::line_and_marks : static_cast<ui::Shape>(place(shape_names, shape));
    if (line.value("over_first", false)) {
      const double first = s.y.empty() ? 1 : s.y.front();
      for (std::vector<double>* const values : {&s.y, &s.low, &s.high})
        for (double& v : *values) v /= first;
    }
    panel.series.push_back(std::move(s));
  }

  Sweep sweep_of(const Plan& plan, const FigureScope& scope) const {
    Sweep sweep{.base = experiment_of(plan, scope), .axes = {}, .seeds = plan.value("seeds", settings_.seeds)};
    for (const Plan& axis : plan.at("vary")) sweep.axes.push_back(parse_axis(filled(axis.get<std::string>(), scope)));
    return sweep;
  }

  /// A measure of every bar.
  ui::Series bar_series(const Plan& line) {
    const int seeds = line.value("seeds", settings_.seeds);
    ui::Series s;
    for (const Bar& bar : bars_) {
      const SweepRow row = row_of_bar(line, bar.experiment, seeds);
      s.x.push_back(static_cast<double>(s.x.size()));
      s.y.push_back(row.mean);
      if (seeds == 1) continue;
      s.low.push_back(row.mean - row.std);
      s.high.push_back(row.mean + row.std);
    }
    return s;
  }

  SweepRow row_of_bar(const Plan& line, const Experiment& e, int seeds) {
    const std::string measure = text_of(line, "measure"), over = text_of(line, "over");
    if (measure == "rms_from_given") {
      const bool counted = !(figure_.panels[0].series[0].y[0] > 0);  // this pass only counts points
      return counted ? SweepRow{} : errors_from_given(e, seeds);
    }
    const Sweep one{.base = e, .axes = {{"d", {std::to_string(e.problem.d)}}}, .seeds = seeds};
    const std::vector<SweepAnswer>& found = answers(one);
    SweepRow row = rows(one, {measure}, found).at(0);
    if (!over.empty()) {
      row.mean /= rows(one, {over}, found).at(0).mean;
      row.std = NAN;
    }
    return row;
  }

  const std::vector<SweepAnswer>& answers(const Sweep& sweep) {
    const auto known = std::ranges::find(answered_, sweep, &std::pair<Sweep, std::vector<SweepAnswer>>::first);
    return known != answered_.end() ? known->second : answered_.emplace_back(sweep, answer_(sweep)).second;
  }

  const ui::FigureSettings& settings_;
  const AnswerSweep& answer_;
  Figure figure_;
  std::vector<Bar> bars_;
  std::vector<std::pair<Sweep, std::vector<SweepAnswer>>> answered_;
};

}  // namespace

void check_plan(const Plan& plan) {
  for (const auto& [key, value] : plan.items()) {
    if (std::ranges::find(known_keys, key) == known_keys.end())
      throw std::runtime_error(in_quotes(key) + " is not a known key");
    if (value.is_array() && key != "for")
      for (const Plan& part : value)
        if (part.is_object()) check_plan(part);
  }
}

Figure planned_figure(const Plan& plan, const ui::FigureSettings& settings, const AnswerSweep& answer) {
  const auto refused = [&](const std::exception& error) {
    return std::invalid_argument("figure " + text_of(plan, "name") + ": " + error.what());
  };
  try {
    return PlanDrawing(settings, answer).figure(plan);
  } catch (const std::invalid_argument& error) {
    throw refused(error);
  } catch (const nlohmann::json::exception& error) {
    throw refused(error);
  }
}

FigureScope scope_of(const ui::FigureSettings& x) {
  const std::vector<std::string> shown = policies_of(x);
  const Experiment e = base_of(x);
  const bool rotates = (x.d & (x.d - 1)) == 0;
  const std::string seeds_used = x.seeds == 1 ? "seed 1" : fmt::format("seeds 1 to {}", x.seeds);
  return {.texts = {{"policy", x.policy},
                    {"first_policy", shown[0]},
                    {"policies", listed(shown)},
                    {"shown_policies", fmt::format("{}", fmt::join(shown, ","))},
                    {"tile", fmt::format("tile {} x {}", e.a.block_q, e.a.block_k)},
                    {"seeds_used", seeds_used},
                    {"over_seeds", x.seeds == 1 ? seeds_used : "mean and standard deviation over " + seeds_used},
                    {"version", "attoscope " ATTOSCOPE_VERSION}},
          .numbers = {{"N", x.n}, {"d", x.d}, {"seeds", x.seeds}, {"all", x.all_policies}, {"rotates", rotates}}};
}

Experiment base_of(const ui::FigureSettings& x) {
  Experiment e = default_experiment();
  e.problem.n = x.n;
  e.problem.d = x.d;
  e.a.precision = policy(x.policy).precision;
  e.a.algorithm = policy(x.policy).algorithm;
  return e;
}

std::vector<std::string> policies_of(const ui::FigureSettings& x) {
  std::vector<std::string> names;
  if (!x.all_policies) return {x.policy};
  for (const Policy& p : policies())
    if (p.algorithm == Algorithm::flash2 && p.name != "exact") names.emplace_back(p.name);
  return names;
}

}  // namespace attoscope::app
