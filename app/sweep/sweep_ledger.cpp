#include "app/sweep/sweep_ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "app/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Factor of a point's multiply-adds for a value of an axis.
double cost(const Axis& axis, const std::string& value) {
  const double x = std::clamp(to_number<double>(value).value_or(1), 1.0, double{max_n});
  if (axis.key == "n") return x * x;
  return axis.key == "d" ? x : 1;
}

/// Name of the measure without its method: "mean |error|".
std::string quantity_of(const Measure& measure) {
  const std::size_t dot = measure.name.rfind('.') + 1;
  const DeviationMeasure* const field =
      is_of_backward(measure) ? nullptr : deviation_measure(measure.name.substr(dot, measure.name.find('/') - dot));
  return field == nullptr ? title_of(measure) : std::string(field->title);
}

}  // namespace

ui::SweepValues values_of(const Axis& axis) {
  ui::SweepValues v{axis.key, std::string(axis_key(axis.key).title), axis.values, {}};
  for (const std::string& text : axis.values)
    if (const auto x = to_number<double>(text); x && std::isfinite(*x)) v.numbers.push_back(*x);
  if (v.numbers.size() < v.names.size()) v.numbers.clear();
  return v;
}

SweepLedger::SweepLedger(Sweep sweep)
    : sweep_(std::move(sweep)),
      points_(point_count(sweep_)),
      methods_(ui::legend_names(varied_experiments(sweep_))),
      answers_(points_ / static_cast<std::size_t>(sweep_.seeds)),
      known_(points_) {
  all_ = sweep_.seeds;
  for (std::size_t i = 0; i < sweep_.axes.size(); ++i) {
    for (const std::string& value : sweep_.axes[i].values) weights_[i].push_back(cost(sweep_.axes[i], value));
    all_ *= std::accumulate(weights_[i].begin(), weights_[i].end(), 0.0);
  }
  cells_.assign(answers_.size(), ui::SweepCell{0, nan, nan, nan, nan, nan, -1});
}

double SweepLedger::share() const { return weight_done_ / all_; }
double SweepLedger::computed_share() const { return weight_computed_ / all_; }

double SweepLedger::weight(const PointPlace& place) const {
  double product = 1;
  for (std::size_t i = 0; i < sweep_.axes.size(); ++i) product *= weights_[i][static_cast<std::size_t>(place.at[i])];
  return product;
}

void SweepLedger::add(SweepAnswer answer) {
  const PointPlace place = place_of(sweep_, answer.index);
  const std::size_t at = combination(sweep_, place);
  const bool has_failed = !answer.summary, computed = !answer.remembered;
  {
    const std::lock_guard lock(mutex_);
    if (known_[answer.index]) return;
    known_[answer.index] = true;
    answers_[at].reserve(static_cast<std::size_t>(sweep_.seeds));
    answers_[at].push_back(std::move(answer));
    changed_.push_back(at);
  }
  weight_done_ += weight(place);
  if (computed) weight_computed_ += weight(place);
  failed_ += has_failed;
  ++done_;
  ++changes_;
}

void SweepLedger::forget_failures() {
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < answers_.size(); ++at) {
    const auto forget = [&](const SweepAnswer& answer) {
      if (answer.summary) return false;
      const double share = weight(place_of(sweep_, answer.index));
      weight_done_ -= share;
      if (!answer.remembered) weight_computed_ -= share;
      known_[answer.index] = false;
      --failed_;
      --done_;
      return true;
    };
    if (std::erase_if(answers_[at], forget) > 0) changed_.push_back(at);
  }
  ++changes_;
}

std::vector<std::size_t> SweepLedger::missing(std::size_t most, std::size_t first) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> list;
  for (std::size_t i = first; i < points_ && list.size() < most; ++i)
    if (!known_[i]) list.push_back(i);
  return list;
}

std::optional<std::size_t> SweepLedger::point_at(const ui::SweepPlace& place) const {
  for (std::size_t i = 0; i < sweep_.axes.size(); ++i)
    if (place[i] < 0 || place[i] >= static_cast<int>(sweep_.axes[i].values.size())) return std::nullopt;
  const std::size_t at = combination(sweep_, {place, 0});
  const std::lock_guard lock(mutex_);
  if (answers_[at].empty()) return std::nullopt;
  return std::ranges::min(answers_[at], {}, [&](const SweepAnswer& a) { return place_of(sweep_, a.index).seed; }).index;
}

ui::SweepCell SweepLedger::cell(const std::vector<SweepAnswer>& answers, const Measure& measure,
                                const std::optional<Measure>& rival) {
  if (answers.empty()) return {0, nan, nan, nan, nan, nan, -1};  // its failures were forgotten
  const SweepRow row = rows(sweep_, measure, answers).front();
  ui::SweepCell c{row.count, row.mean, row.std, row.min, row.max, nan, -1};
  if (rival) c.rival = rows(sweep_, *rival, answers).front().mean;
  if (row.error.empty()) return c;
  const auto [known, is_new] = error_numbers_.try_emplace(row.error, static_cast<std::int32_t>(errors_.size()));
  if (is_new) errors_.push_back(row.error);
  c.error = known->second;
  return c;
}

std::shared_ptr<ui::SweepTable> SweepLedger::table(const Measure& measure, const std::optional<Measure>& rival) {
  auto table = std::make_shared<ui::SweepTable>();
  for (const Axis& axis : sweep_.axes) table->axes.push_back(values_of(axis));
  table->measure = title_of(measure);
  if (const std::size_t dot = measure.name.find('.'); dot != std::string::npos) table->of = measure.name.substr(0, dot);
  table->quantity = quantity_of(measure);
  table->has_rival = rival.has_value();
  table->methods = methods_;
  table->seeds = sweep_.seeds;
  table->repeats = count_text(sweep_.over, sweep_.seeds);
  const std::lock_guard lock(mutex_);
  if (measure_ != measure || rival_ != rival) {
    changed_.clear();
    for (std::size_t i = 0; i < answers_.size(); ++i)
      if (!answers_[i].empty()) changed_.push_back(i);
  }
  std::ranges::sort(changed_);
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::size_t i : changed_) cells_[i] = cell(answers_[i], measure, rival);
  changed_.clear();
  measure_ = measure;
  rival_ = rival;
  table->cells = cells_;
  table->errors = errors_;
  return table;
}

std::vector<Experiment> varied_experiments(const Sweep& sweep) {
  constexpr std::size_t most_values = 64;
  std::vector<Experiment> all;
  for (const std::array<int, 2>& at : single_values(sweep, most_values)) {
    try {
      all.push_back(with_values(sweep, at));
    } catch (const std::exception&) {  // the point reports the error
    }
  }
  if (all.empty()) all.push_back(sweep.base);
  return all;
}

std::optional<Measure> rival_of(const Sweep& sweep, const Measure& measure) {
  if (sweep.axes.size() != 1 || !measure.name.starts_with("a.")) return std::nullopt;
  return parse_measure("b" + measure.name.substr(1));
}

std::shared_ptr<const ui::SweepTable> sweep_table(const Sweep& sweep, const Measure& measure,
                                                  std::span<const SweepAnswer> answers) {
  SweepLedger ledger(sweep);
  for (const SweepAnswer& answer : answers) ledger.add(answer);
  return ledger.table(measure, rival_of(sweep, measure));
}

}  // namespace attoscope::app
