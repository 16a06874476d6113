#include "ui/train/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/train/record.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t most_skipped = 4096;

constexpr std::array<MeasureText, 6> measure_texts{{
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
     "number of steps for a single one.",
     "||sum of D|| / sqrt(sum of ||D||^2), D the growth of x - y in a step"},
    {"loss difference", "nats", "Loss of the first model minus that of the second on the same batch.", "loss(x) - loss(y)"},
}};

constexpr std::array<MeasureText, 7> run_texts{{
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

/// Adds what `number` gives for the record at a step, with that of all seeds.
template <class Number>
void add_of_seeds(GrowingCurve& curve, const TrainDrawing& d, int step, Number number) {
  const double y = number(*d.record);
  double least = y, greatest = y;
  for (const auto& seed : d.seeds) {
    const double x = number(*seed);
    least = std::fmin(least, x), greatest = std::fmax(greatest, x);
  }
  curve.add(step, y, least, greatest);
}

/// True if the curves drawn from `d.record` need only the points that `to` has beyond it.
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

void take_pairs(TrainDrawing& d) {
  const TrainRecord& r = *d.record;
  const TrainLook& look = d.look;
  for (std::size_t p = 0; p < r.pairs.size(); ++p)
    for (std::size_t& i = d.taken_points[p]; i < r.pairs[p].points.size(); ++i) {
      const int step = r.pairs[p].points[i].step;
      add_of_seeds(d.pairs[p], d, step, [&](const TrainRecord& x) { return shown_measure(x, p, step, look, d.reference); });
      if (p == 0 && d.pairs.size() > r.pairs.size())
        d.pairs.back().add(step, d.direct_total += shown_measure(r, p, step, look, d.reference));
    }
}

void take_runs(TrainDrawing& d) {
  const TrainRecord& r = *d.record;
  for (std::size_t k = 0; k < r.runs.size(); ++k)
    for (std::size_t& i = d.taken_steps[k]; i < count_of(r.runs[k], d.look.of_runs); ++i) {
      const bool of_heads = is_of_heads(d.look.of_runs);
      const int step = of_heads ? r.runs[k].health[i].step : r.runs[k].steps[i].step;
      add_of_seeds(d.runs[k], d, step, [&](const TrainRecord& x) { return shown_number(x, k, step, d.look); });
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

Colour on_ramp(double share, Theme theme) {
  const float off_panel = is_light(theme) ? 0.61f : 0.66f;  // from here on, colours of the ramp contrast with the panel
  return colour(off_panel + (1 - off_panel) * static_cast<float>(share),
                {.diverging = false, .log = false, .range = 1, .knee = 1, .theme = theme});
}

/// Quiet colours, told apart by their dashes.
CurveStyle quiet_style(std::size_t i, Theme theme) {
  const Palette& c = palette(theme);
  constexpr std::array<float, 3> dashes{7, 3.5f, 1.6f};
  const std::array<Colour, 3> colours{c.accent, mixed(c.accent, c.golden, 0.5f), c.faint};
  return {colours[i % 3], CurveMark::dashes, 1.3f, dashes[i % 3]};
}

/// The index of a pair among the comparisons of its role, and their number.
struct Rank {
  std::size_t place = 0, count = 0;
};
Rank rank_of(const TrainRecord& r, std::size_t pair) {
  Rank rank;
  for (std::size_t p = 0; p < r.pairs.size(); ++p) {
    if (r.pairs[p].pair.role != r.pairs[pair].pair.role) continue;
    rank.place += p < pair;
    ++rank.count;
  }
  return rank;
}

}  // namespace

void GrowingCurve::add(double x, double y, double least, double greatest) {
  last_x_ = x;
  last_y_ = y;
  asked_ = {};
  const bool finite = std::isfinite(y);
  has_band_ |= least < greatest;
  for (const double number : {y, least, greatest}) {
    if (!std::isfinite(number)) continue;
    least_ = std::min(least_, number);
    largest_ = std::max(largest_, number);
    if (number > 0) least_above_ = std::min(least_above_, number);
  }
  if (stretches_.empty() || stretches_.back().count >= each_) {
    if (stretches_.size() == most_stretches) merge();
    stretches_.push_back({x, finite ? y : nan, x, finite ? y : nan, 1, x, least, greatest});
    return;
  }
  Stretch& s = stretches_.back();
  ++s.count;
  s.least = std::fmin(s.least, least), s.greatest = std::fmax(s.greatest, greatest);
  if (!finite) return;
  if (!(s.low <= y)) s.low_x = x, s.low = y;
  if (!(s.high >= y)) s.high_x = x, s.high = y;
}

void GrowingCurve::merge() {
  std::vector<Stretch> half;
  for (std::size_t i = 0; i < stretches_.size(); i += 2) {
    Stretch s = stretches_[i];
    if (i + 1 < stretches_.size()) {
      const Stretch& t = stretches_[i + 1];
      if (!(s.low <= t.low) && !std::isnan(t.low)) s.low_x = t.low_x, s.low = t.low;
      if (!(s.high >= t.high) && !std::isnan(t.high)) s.high_x = t.high_x, s.high = t.high;
      s.count += t.count;
      s.least = std::fmin(s.least, t.least), s.greatest = std::fmax(s.greatest, t.greatest);
    }
    half.push_back(s);
  }
  stretches_ = std::move(half);
  each_ *= 2;
}

const Points& GrowingCurve::drawn(double x0, double x1, double pixels) {
  if (const std::array asked{x0, x1, pixels}; asked_ != asked) {
    asked_ = asked;
    drawn_ = points(x0, x1, pixels);
  }
  return drawn_;
}

Points GrowingCurve::points(double x0, double x1, double pixels) const {
  Points all;
  all.x.reserve(2 * stretches_.size());
  all.y.reserve(2 * stretches_.size());
  for (const Stretch& s : stretches_) {
    const bool low_first = s.low_x <= s.high_x;
    all.x.push_back(low_first ? s.low_x : s.high_x);
    all.y.push_back(low_first ? s.low : s.high);
    if (s.low_x == s.high_x) continue;
    all.x.push_back(low_first ? s.high_x : s.low_x);
    all.y.push_back(low_first ? s.high : s.low);
  }
  const double margin = 0.05 * (x1 - x0);  // so that lines lead beyond the edges
  return decimated(all.x, all.y, x0 - margin, x1 + margin, pixels);
}

void GrowingCurve::band(const std::vector<double>& x, std::vector<double>& least, std::vector<double>& greatest) const {
  if (!has_band_) return;
  std::size_t k = 0;
  for (const double at : x) {
    while (k + 1 < stretches_.size() && stretches_[k + 1].first_x <= at) ++k;
    least.push_back(stretches_[k].least);
    greatest.push_back(stretches_[k].greatest);
  }
}

double measure_of(const PairPoint& point, TrainMeasure measure, int tensor) {
  if (measure == TrainMeasure::loss_difference) return point.loss_difference;
  const auto i = static_cast<std::size_t>(tensor + 1);
  if (point.deviations.empty()) return nan;
  const WeightDeviation& d = point.deviations[i < point.deviations.size() ? i : 0];
  return d.*weight_numbers[static_cast<std::size_t>(measure)].second;
}

const MeasureText& text_of(TrainMeasure measure) { return measure_texts[static_cast<std::size_t>(measure)]; }
const MeasureText& text_of(RunMeasure measure) { return run_texts[static_cast<std::size_t>(measure)]; }
bool is_size(TrainMeasure m) {
  return m == TrainMeasure::max_abs || m == TrainMeasure::wasserstein || m == TrainMeasure::rel_l2;
}
bool is_of_heads(RunMeasure m) { return m != RunMeasure::loss && m != RunMeasure::gradient_norm; }

double measure_of(const HeadHealth& head, RunMeasure measure) {
  const HeadStatistics& c = head.statistics;
  switch (measure) {
    case RunMeasure::delta_bias:
      return head.delta_bias();
    case RunMeasure::query_norm:
      return head.query_norm;
    case RunMeasure::ties:
      return share(c.tied_rows, c.rows);
    case RunMeasure::saturated:
      return share(c.saturated, c.weights);
    case RunMeasure::underflowed:
      return share(c.underflowed, c.weights);
    default:
      return nan;
  }
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
    if (newest > most || best < 0) best = static_cast<int>(p), most = newest;
  }
  return best;
}

namespace {

/// The last of `all`, whose steps ascend, at or before a step.
template <class T>
const T* newest_at(const std::vector<T>& all, int step) {
  const auto beyond = step < 0 ? all.end() : std::ranges::upper_bound(all, step, {}, &T::step);
  return beyond == all.begin() ? nullptr : &*(beyond - 1);
}

}  // namespace

const PairPoint* point_at(const PairRecord& pair, int step) { return newest_at(pair.points, step); }
const RunHealth* health_at(const RunRecord& run, int step) { return newest_at(run.health, step); }
const StepReport* step_at(const RunRecord& run, int step) { return newest_at(run.steps, step); }

double shown_measure(const TrainRecord& r, std::size_t pair, int step, const TrainLook& look, int reference) {
  const PairPoint* const point = point_at(r.pairs[pair], step);
  if (point == nullptr || point->step != step) return nan;
  const double y = measure_of(*point, look.measure, look.tensor);
  return reference < 0 ? y : y / shown_measure(r, static_cast<std::size_t>(reference), step, look, -1);
}

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
  if (!goes_on) {
    d = TrainDrawing{};
    const bool adds_up = !record->pairs.empty() && record->pairs[0].pair.role == Role::direct && is_size(look.measure);
    d.pairs.resize(record->pairs.size() + (adds_up ? 1 : 0));
    d.runs.resize(record->runs.size());
    d.taken_points.resize(record->pairs.size());
    d.taken_steps.resize(record->runs.size());
  }
  d.record = record;
  d.seeds = std::move(seeds);
  d.look = look;
  d.reference = reference;
  d.last = last_step(*record);
  take_pairs(d);
  take_runs(d);
  return true;
}

CurveStyle pair_style(const TrainRecord& record, std::size_t pair, Theme theme) {
  const Palette& c = palette(theme);
  if (pair >= record.pairs.size()) return {c.a, CurveMark::dashes, 1.3f, 4};
  const Rank rank = rank_of(record, pair);
  switch (record.pairs[pair].pair.role) {
    case Role::method:
    case Role::direct:
      return {c.a, CurveMark::line, 2.0f, 0};
    case Role::initialisation:
      return {c.golden, CurveMark::band, 1.2f, 0};
    case Role::format:
      return quiet_style(rank.place, theme);
    case Role::from_exact:
      if (record.pairs[pair].pair.x != 0) return {c.b, CurveMark::dashes, 3.2f, 5};  // wide, to be seen under a's
      return {c.a, CurveMark::dashes, 1.5f, 5};
    case Role::suspect:
      break;
  }
  return {on_ramp(rank.count > 1 ? static_cast<double>(rank.place) / static_cast<double>(rank.count - 1) : 0.5, theme),
          CurveMark::line, 1.3f, 0};
}

std::string pair_name(const TrainRecord& record, std::size_t pair) {
  return pair < record.pairs.size() ? record.pairs[pair].pair.name : "added up";
}

CurveStyle run_style(const TrainRecord& record, std::size_t run, Theme theme) {
  const Palette& c = palette(theme);
  if (run == 0) return {c.a, CurveMark::line, 2.2f, 0};
  if (run == 1) return {c.b, CurveMark::line, 5, 0};  // wide, to be seen under a's
  for (std::size_t p = 0; p < record.pairs.size(); ++p) {
    const PairPlan& pair = record.pairs[p].pair;
    if (pair.x == static_cast<int>(run) && (pair.role == Role::suspect || pair.role == Role::initialisation))
      return pair_style(record, p, theme);
  }
  return quiet_style(run, theme);
}

TrainAxis axis_of(const std::vector<GrowingCurve>& curves, std::uint64_t hidden, bool log) {
  std::vector<const GrowingCurve*> shown;
  for (std::size_t i = 0; i < curves.size(); ++i)
    if (is_shown(hidden, i)) shown.push_back(&curves[i]);
  return axis_of(shown, log);
}

TrainAxis axis_of(const std::vector<const GrowingCurve*>& curves, bool log) {
  double least = 1e308, largest = -1e308, above = 1e308;
  for (const GrowingCurve* const curve : curves) {
    least = std::min(least, curve->least());
    largest = std::max(largest, curve->largest());
    above = std::min(above, curve->least_above());
  }
  if (least > largest) return {0, 1, false, false};
  if (log && largest > 0) {
    const double top = std::pow(10.0, std::ceil(std::log10(largest) + 1e-9));
    const double bottom = std::max({std::pow(10.0, std::floor(std::log10(above) - 1e-9)), top * 1e-10, 1e-300});
    return {bottom, std::max(top, bottom * 10), true, true};
  }
  if (least >= 0 && least < 0.4 * largest) least = 0;
  const double span = largest - least, air = span > 0 ? 0.06 * span : std::max(std::abs(largest) * 0.1, 1e-300);
  return {least == 0 && span > 0 ? 0 : least - air, largest + air, false, true};
}

}  // namespace attoscope
