#include "ui/train/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/frame/pair_look.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/plot.h"

namespace attoscope::ui {

namespace {

constexpr std::size_t most_skipped = 4096;
constexpr int most_columns = 768;

constexpr EnumArray<TrainMeasure, MeasureText> measure_texts{{
    {"max |ΔW|", "",
     "The largest difference of any weight of the two models, the first number of arXiv 2405.02803, figure 7. Under Adam it is "
     "about two learning rates after one step, whatever the cause, so conclude nothing from it alone.",
     "max |x - y|"},
    {"Wasserstein-1", "",
     "The distance of the two models' weights as distributions, the second number of arXiv 2405.02803, figure 7. It hides "
     "permutations, and it depends on the number of weights: compare it within one model or one tensor alone.",
     "mean |sorted x - sorted y|"},
    {"relative L2", "", "The norm of the difference over the norm of the weights.", "||x - y|| / ||y||"},
    {"cosine of updates", "",
     "The direction of both models' last steps compared: 1 for the same direction, 0 for unrelated ones.",
     "cos(x - x before, y - y before)"},
    {"directionality", "",
     "The common direction of the steps by which the models drift apart: 1 for random directions, the square root of the "
     "number of steps for a single direction.",
     "||sum of D|| / sqrt(sum of ||D||^2), D the growth of x - y in a step"},
    {"loss difference", "nats", "Loss of the first model minus that of the second on the same batch.", "loss(x) - loss(y)"},
}};

constexpr EnumArray<RunMeasure, MeasureText> run_texts{{
    {"loss", "nats", "Mean cross-entropy of the step's batch, before its update.", "-mean log P(next character)"},
    {"gradient norm", "", "Size of the gradient before it is clipped.", "||dL/dW||"},
    {"bias of δ", "share",
     "Signed mean error of delta, as a share of the mean |delta|: one-sided errors add up over steps (arXiv 2510.04212).",
     "sum(delta - rowsum(dO*O)) / sum |rowsum(dO*O)|, O exact"},
    {"‖W_Q‖", "", "Spectral norm of a head's W_Q, which grows when low precision makes training fail.",
     "largest singular value"},
    {"tied rows", "share", "Rows whose largest score belongs to several keys: P is then 1 more than once.",
     "rows with a tie / rows"},
    {"saturated", "share", "Scores and P beyond the largest number of their format, infinite or NaN.",
     "count / visible (row, key) pairs"},
    {"underflowed", "share", "exp(S - m) above 0 whose P is 0.", "count / visible (row, key) pairs"},
}};

double share(std::int64_t count, std::int64_t of) { return of > 0 ? static_cast<double>(count) / static_cast<double>(of) : 0; }

/// The number of points of a run: its steps, or the measured steps of its heads.
std::size_t count_of(const RunRecord& run, RunMeasure measure) {
  return is_of_heads(measure) ? run.health.size() : run.steps.size();
}

/// Adds `number` of the record at a step, with its least and greatest over all seeds.
template <class Number>
void add_of_seeds(Series& curve, const TrainDrawing& d, int step, Number number) {
  const double y = number(*d.record);
  curve.x.push_back(step);
  curve.y.push_back(std::isfinite(y) ? y : nan);
  if (d.seeds.empty()) return;
  double least = y, greatest = y;
  for (const auto& seed : d.seeds) {
    const double x = number(*seed);
    least = std::fmin(least, x);
    greatest = std::fmax(greatest, x);
  }
  curve.low.push_back(least);
  curve.high.push_back(greatest);
}

/// True if `to` only adds points to the curves drawn from `d.record`.
bool continues(const TrainDrawing& d, const TrainRecord& to) {
  const TrainRecord& from = *d.record;
  if (&from == &to) return true;
  if (from.pairs.size() != to.pairs.size() || from.runs.size() != to.runs.size() || from.forks.size() != to.forks.size() ||
      !(from.plan == to.plan))
    return false;
  for (std::size_t p = 0; p < to.pairs.size(); ++p)
    if (to.pairs[p].points.size() < d.taken_points[p]) return false;
  for (std::size_t r = 0; r < to.runs.size(); ++r)
    if (count_of(to.runs[r], d.look.of_runs) < d.taken_steps[r]) return false;
  return true;
}

/// True if both looks show the same curves.
bool same_curves(const TrainLook& x, const TrainLook& y) {
  const bool same_head = x.worst == y.worst && (x.worst || (x.layer == y.layer && x.head == y.head));
  return x.measure == y.measure && x.tensor == y.tensor && x.relative == y.relative && x.of_runs == y.of_runs &&
         (!is_of_heads(x.of_runs) || same_head);
}

/// The last element of `all`, in ascending steps, at or before a step; negative step: the last of all; null: none.
template <class T>
const T* newest_at(const std::vector<T>& all, int step) {
  const auto beyond = step < 0 ? all.end() : std::ranges::upper_bound(all, step, {}, &T::step);
  return beyond == all.begin() ? nullptr : &*(beyond - 1);
}

/// The shown measure of a comparison at a step, divided by the measure of `reference` unless it is -1; NaN if it was not
/// measured.
double shown_measure(const TrainRecord& r, std::size_t pair, int step, const TrainLook& look, int reference) {
  const PairPoint* const point = point_at(r.pairs[pair], step);
  if (point == nullptr || point->step != step) return nan;
  const double y = measure_of(*point, look.measure, look.tensor);
  return reference < 0 ? y : y / shown_measure(r, static_cast<std::size_t>(reference), step, look, -1);
}

/// The shown number of a run at a step; NaN if there is none.
double shown_number(const TrainRecord& r, std::size_t run, int step, const TrainLook& look) {
  if (is_of_heads(look.of_runs)) {
    const RunHealth* const h = health_at(r.runs[run], step);
    const int head = look.worst ? -1 : look.layer * r.plan.model.heads + look.head;
    return h != nullptr && h->step == step ? measure_of(*h, look.of_runs, head) : nan;
  }
  const StepReport* const report = step_at(r.runs[run], step);
  if (report == nullptr || report->step != step) return nan;
  return look.of_runs == RunMeasure::loss ? report->loss : report->gradient_norm;
}

void take_pairs(TrainDrawing& d) {
  const TrainRecord& r = *d.record;
  const TrainLook& look = d.look;
  for (std::size_t p = 0; p < r.pairs.size(); ++p)
    for (std::size_t& i = d.taken_points[p]; i < r.pairs[p].points.size(); ++i) {
      const int step = r.pairs[p].points[i].step;
      add_of_seeds(d.pairs.series[p], d, step,
                   [&](const TrainRecord& x) { return shown_measure(x, p, step, look, d.reference); });
      if (p != 0 || d.pairs.series.size() == r.pairs.size()) continue;
      Series& sum = d.pairs.series.back();
      sum.x.push_back(step);
      sum.y.push_back((sum.y.empty() ? 0 : sum.y.back()) + shown_measure(r, p, step, look, d.reference));
    }
}

void take_runs(TrainDrawing& d) {
  const TrainRecord& r = *d.record;
  for (std::size_t k = 0; k < r.runs.size(); ++k)
    for (std::size_t& i = d.taken_steps[k]; i < count_of(r.runs[k], d.look.of_runs); ++i) {
      const bool of_heads = is_of_heads(d.look.of_runs);
      const int step = of_heads ? r.runs[k].health[i].step : r.runs[k].steps[i].step;
      add_of_seeds(d.runs.series[k], d, step, [&](const TrainRecord& x) { return shown_number(x, k, step, d.look); });
      if (!of_heads && r.runs[k].steps[i].skipped && d.skipped.size() < most_skipped)
        d.skipped.push_back(r.runs[k].steps[i].step);
    }
}

/// The shortest axis that holds the trained steps, of all steps, a half, a quarter, ...: it seldom changes.
double last_step(const TrainRecord& r) {
  double last = std::max(1, r.plan.recipe.steps);
  while (last / 2 >= std::max(r.step, 10)) last /= 2;
  return std::max(last, static_cast<double>(r.step));
}

std::string titled(const MeasureText& text) { return text.title + (*text.unit ? std::string(", ") + text.unit : ""); }

/// The title of a run measure, with its head.
std::string run_title(const TrainLook& look) {
  const std::string title = titled(text_of(look.of_runs));
  if (!is_of_heads(look.of_runs)) return title;
  return title + (look.worst ? ", worst head" : fmt::format(", layer {} head {}", look.layer, look.head));
}

std::string pair_title(const TrainDrawing& d) {
  std::string title = titled(text_of(d.look.measure));
  if (const ParameterTensor* const tensor = tensor_of(*d.record, d.look)) title += " of " + tensor->name;
  return d.reference < 0 ? title : title + " / that of " + d.record->pairs[static_cast<std::size_t>(d.reference)].pair.name;
}

/// Empty curves with their names and inks.
void begin_curves(TrainDrawing& d, const TrainRecord& r, const TrainLook& look) {
  d = TrainDrawing{};
  const auto add = [](FigurePanel& panel, std::string name, Ink ink, bool dashed) {
    panel.series.push_back(series_of(std::move(name), ink, Shape::line));
    panel.series.back().dashed = dashed;
  };
  for (std::size_t i = 0; i < r.pairs.size(); ++i)
    add(d.pairs, pair_label(r.pairs[i].pair), pair_ink(r.pairs[i].pair, i), is_dashed(r.pairs[i].pair, i));
  if (!r.pairs.empty() && r.pairs[0].pair.role == Role::direct && is_size(look.measure)) add(d.pairs, "added up", Ink::a, true);
  constexpr std::array others{Ink::three, Ink::four, Ink::six, Ink::one};  // in print two and five are close to a's
  const auto ink_of = [&](std::size_t i) {
    if (i < 2) return i == 0 ? Ink::a : Ink::b;
    return r.runs[i].run.name == "exact" ? Ink::golden : others[(i - 2) % others.size()];
  };
  for (std::size_t i = 0; i < r.runs.size(); ++i) add(d.runs, r.runs[i].run.name, ink_of(i), i > 1);
  d.taken_points.resize(r.pairs.size());
  d.taken_steps.resize(r.runs.size());
}

/// Sets axes and shapes: curves of few points show each point.
void set_axes(TrainDrawing& d) {
  constexpr std::size_t few_points = 24;
  d.pairs.y = number_axis(pair_title(d));
  d.runs.y = number_axis(run_title(d.look));
  for (FigurePanel* const p : {&d.pairs, &d.runs}) {
    p->x = {.label = "training step", .whole = true};
    for (Series& s : p->series) s.shape = s.x.size() > few_points ? Shape::line : Shape::line_and_marks;
  }
}

/// The figure of the curves that are not hidden; numbers that a logarithmic axis cannot show are gaps.
FigurePanel figure_of(const FigurePanel& all, std::uint64_t hidden, bool log, double last) {
  constexpr double print_pixels = 2000;
  FigurePanel p;
  p.x = all.x;
  p.y = all.y;
  p.y.log = log && has_positive(all, hidden);
  for (std::size_t i = 0; i < all.series.size(); ++i) {
    if (!is_shown(hidden, i)) continue;
    Series& s = p.series.emplace_back(decimated(all.series[i], 0, last, print_pixels));
    if (std::ranges::equal(s.low, s.high)) {
      s.low.clear();
      s.high.clear();
    }
    for (std::vector<double>* const values : {&s.y, &s.low, &s.high})
      for (double& y : *values)
        if (p.y.log && !(y > 0)) y = nan;
  }
  return p;
}

/// A map of sizes up to its largest finite number.
FigurePanel panel_of(const std::string& x, const std::string& y, FigureHeat h) {
  h.diverging = false;
  double largest = 0;
  for (const float v : h.values)
    if (v != FigureHeat::nothing && std::isfinite(v)) largest = std::max(largest, std::abs(static_cast<double>(v)));
  if (largest > 0) h.range = largest;
  FigurePanel p;
  p.x = number_axis(x);
  p.y = number_axis(y);
  p.heat = std::move(h);
  return p;
}

/// NaN if one is NaN; else the larger.
float worse(float x, float y) {
  return std::isnan(x) || std::isnan(y) ? std::numeric_limits<float>::quiet_NaN() : std::max(x, y);
}

}  // namespace

double measure_of(const PairPoint& point, TrainMeasure measure, int tensor) {
  if (measure == TrainMeasure::loss_difference) return point.loss_difference;
  const auto i = static_cast<std::size_t>(tensor + 1);
  if (point.deviations.empty()) return nan;
  const WeightDeviation& d = point.deviations[i < point.deviations.size() ? i : 0];
  return d.*weight_numbers[static_cast<std::size_t>(measure)].second;
}

const MeasureText& text_of(TrainMeasure measure) { return measure_texts[measure]; }
const MeasureText& text_of(RunMeasure measure) { return run_texts[measure]; }
bool is_size(TrainMeasure m) {
  return m == TrainMeasure::max_abs || m == TrainMeasure::wasserstein || m == TrainMeasure::rel_l2;
}
bool is_of_heads(RunMeasure m) { return m != RunMeasure::loss && m != RunMeasure::gradient_norm; }

double measure_of(const HeadHealth& head, RunMeasure measure) {
  const HeadStatistics& c = head.statistics;
  const EnumArray<RunMeasure, double> numbers{nan,
                                              nan,
                                              head.delta_bias(),
                                              head.query_norm,
                                              share(c.tied_rows, c.rows),
                                              share(c.saturated, c.weights),
                                              share(c.underflowed, c.weights)};
  return numbers[measure];
}

double measure_of(const RunHealth& health, RunMeasure measure, int head) {
  if (head >= 0)
    return static_cast<std::size_t>(head) < health.heads.size()
               ? measure_of(health.heads[static_cast<std::size_t>(head)], measure)
               : nan;
  double worst = nan;
  for (const HeadHealth& h : health.heads) {
    const double x = measure_of(h, measure);
    if (!(std::abs(worst) >= std::abs(x))) worst = x;
  }
  return worst;
}

int reference_of(const TrainRecord& record, TrainMeasure measure, int tensor) {
  int best = -1;
  double most = -1;
  for (std::size_t p = 0; p < record.pairs.size(); ++p) {
    const PairRecord& pair = record.pairs[p];
    if (pair.pair.role == Role::initialisation) return static_cast<int>(p);
    if (pair.pair.role != Role::format) continue;
    const double newest = pair.points.empty() ? 0 : measure_of(pair.points.back(), measure, tensor);
    if (newest > most || best < 0) {
      best = static_cast<int>(p);
      most = newest;
    }
  }
  return best;
}

const PairRecord* pair_of(const TrainRecord& r, const TrainLook& look) {
  return r.pairs.empty() ? nullptr : &r.pairs[std::min(r.pairs.size() - 1, static_cast<std::size_t>(look.pair))];
}

const ParameterTensor* tensor_of(const TrainRecord& r, const TrainLook& look) {
  const auto i = static_cast<std::size_t>(look.tensor);
  return look.tensor >= 0 && i < r.parameters.tensors.size() ? &r.parameters.tensors[i] : nullptr;
}

const PairPoint* point_at(const PairRecord& pair, int step) { return newest_at(pair.points, step); }
const StepReport* step_at(const RunRecord& run, int step) { return newest_at(run.steps, step); }
const RunHealth* health_at(const RunRecord& run, int step) { return newest_at(run.health, step); }

bool refresh(TrainDrawing& d, const std::shared_ptr<const TrainRecord>& record, const TrainLook& look,
             std::vector<std::shared_ptr<const TrainRecord>> seeds) {
  if (!record) {
    const bool had = d.record != nullptr;
    d = TrainDrawing{};
    return had;
  }
  const int reference = look.relative && is_size(look.measure) ? reference_of(*record, look.measure, look.tensor) : -1;
  seeds.resize(std::min(seeds.size(), static_cast<std::size_t>(look.seeds) - 1));
  const bool goes_on =
      d.record && d.seeds == seeds && same_curves(d.look, look) && d.reference == reference && continues(d, *record);
  if (goes_on && d.record == record) {
    d.look = look;
    return false;
  }
  if (!goes_on) begin_curves(d, *record, look);
  d.record = record;
  d.seeds = std::move(seeds);
  d.look = look;
  d.reference = reference;
  d.last = last_step(*record);
  take_pairs(d);
  take_runs(d);
  set_axes(d);
  return true;
}

bool has_positive(const FigurePanel& panel, std::uint64_t hidden) {
  const auto positive = [](double y) { return std::isfinite(y) && y > 0; };
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& s = panel.series[i];
    if (is_shown(hidden, i) && (std::ranges::any_of(s.y, positive) || std::ranges::any_of(s.high, positive))) return true;
  }
  return false;
}

FigurePanel deviation_panel(const TrainDrawing& d, const TrainLook& look) {
  return figure_of(d.pairs, look.hidden, look.log_y && is_size(look.measure), d.last);
}

FigurePanel run_panel(const TrainDrawing& d, const TrainLook& look) {
  return figure_of(d.runs, look.hidden_runs, look.log_runs, d.last);
}

std::vector<float> weight_column(const PairPoint& point, int tensor) {
  const auto t = static_cast<std::size_t>(tensor);
  if (tensor >= 0) return t < point.profiles.size() ? point.profiles[t] : std::vector<float>{};
  std::vector<float> all;
  for (std::size_t i = 1; i < point.deviations.size(); ++i) all.push_back(static_cast<float>(point.deviations[i].max_abs));
  return all;
}

WeightCells weight_cells(const std::vector<PairPoint>& points, int tensor, const StepSpan& x, int every) {
  WeightCells p;
  const std::size_t rows = points.empty() ? 0 : weight_column(points.back(), tensor).size();
  const int columns = std::clamp(static_cast<int>(x.to - x.from), 1, most_columns);
  p.rows = static_cast<int>(rows);
  p.columns = columns;
  p.values.assign(rows * static_cast<std::size_t>(columns), FigureHeat::nothing);
  const double per_step = columns / (x.to - x.from);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double end = i + 1 < points.size() ? points[i + 1].step : points[i].step + every;
    if (end <= x.from) continue;
    const std::vector<float> values = weight_column(points[i], tensor);
    const int from = std::max(0, static_cast<int>(std::floor((points[i].step - x.from) * per_step))),
              to = std::min(columns, std::max(from + 1, static_cast<int>(std::floor((end - x.from) * per_step))));
    for (int c = from; c < to; ++c)
      for (std::size_t k = 0; k < std::min(rows, values.size()); ++k) {
        float& cell = p.values[k * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)];
        cell = cell == FigureHeat::nothing ? values[k] : worse(cell, values[k]);
      }
  }
  return p;
}

FigurePanel matrix_panel(const TrainRecord& r, const TrainLook& look, const WeightGap* gap) {
  if (gap == nullptr || gap->tensor != look.tensor || gap->pair != look.pair || look.tensor < 0) return {};
  const std::string& tensor = r.parameters.tensors[static_cast<std::size_t>(look.tensor)].name;
  return panel_of("column of " + tensor, "row of " + tensor,
                  {.width = gap->cols,
                   .height = gap->rows,
                   .values = gap->values,
                   .x1 = static_cast<double>(gap->cols),
                   .y1 = static_cast<double>(gap->rows),
                   .label = "|ΔW|, " + r.pairs[static_cast<std::size_t>(look.pair)].pair.name});
}

FigurePanel weights_panel(const TrainRecord& r, const TrainLook& look) {
  const PairRecord* const pair = pair_of(r, look);
  if (pair == nullptr) return {};
  const double last = last_step(r);
  WeightCells cells = weight_cells(pair->points, look.tensor, {0, last}, r.plan.measure_every);
  if (cells.values.empty()) return {};
  const ParameterTensor* const tensor = tensor_of(r, look);
  FigurePanel p = panel_of("training step", tensor != nullptr ? "row of " + tensor->name : "",
                           {.width = cells.columns,
                            .height = cells.rows,
                            .values = std::move(cells.values),
                            .x1 = last,
                            .y0 = tensor != nullptr ? 0 : -0.5,
                            .y1 = tensor != nullptr ? tensor->rows : cells.rows - 0.5,
                            .label = "max |ΔW|, " + pair->pair.name});
  if (tensor == nullptr)
    for (const ParameterTensor& t : r.parameters.tensors) p.y.categories.push_back(t.name);
  return p;
}

}  // namespace attoscope::ui
