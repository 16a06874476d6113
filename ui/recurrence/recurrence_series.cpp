// The series of the recurrence panel, updated once per answer.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "ui/recurrence/recurrence.h"

namespace attoscope::ui {

namespace {

/// Largest end of an axis, so that its length stays finite.
constexpr double beyond = 5e307;

/// Values at the shown tiles; `x` holds the ascending tiles of all values.
std::span<const double> shown_part(const std::vector<double>& x, const std::vector<double>& values, TileRange tiles) {
  const auto place = [&](auto at) { return std::min(static_cast<std::size_t>(at - x.begin()), values.size()); };
  const std::size_t first = place(std::ranges::upper_bound(x, tiles.from - 0.5)),
                    end = place(std::ranges::lower_bound(x, tiles.to + 0.5));
  return std::span(values).subspan(first, std::max(first, end) - first);
}

/// Three to eight whole decades around the positive finite values.
void decades_of(std::initializer_list<double> more, std::span<const double> values, double& low, double& high) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  const auto take = [&](double v) {
    if (std::isfinite(v) && v > 0) least = std::min(least, v), most = std::max(most, v);
  };
  for (const double v : values) take(v);
  for (const double v : more) take(v);
  if (!(most > 0)) least = 1e-8, most = 1e-5;
  high = std::pow(10.0, std::min(307.0, std::ceil(std::log10(most) + 0.05)));
  low = std::max(std::pow(10.0, std::floor(std::log10(least))), high * 1e-8);
  low = std::min(low, high * 1e-3);
}

/// Divides by the largest finite value.
void normalise(std::vector<double>& values) {
  double largest = 0;
  for (const double v : values)
    if (std::isfinite(v)) largest = std::max(largest, v);
  for (double& v : values) v = largest > 0 ? v / largest : 0;
}

/// The largest finite error of b in the traced row; 0 if the row was not computed.
double error_of_b(const Result& r) {
  const auto at = std::lower_bound(r.rows.begin(), r.rows.end(), r.trace.row);
  if (at == r.rows.end() || *at != r.trace.row || !r.golden) return 0;
  const int row = static_cast<int>(at - r.rows.begin());
  double worst = 0;
  for (int c = 0; c < r.b.cols; ++c) {
    const double error = std::abs(r.b(row, c) - (*r.golden)(row, c));
    if (std::isfinite(error)) worst = std::max(worst, error);
  }
  return worst;
}

void take_trace(TracedSeries& m, const Trace& trace) {
  for (const TraceTile& t : trace.tiles) {
    m.tile.push_back(t.tile);
    m.max_true.push_back(t.max_true);
    m.max_used.push_back(t.max_used);
    m.alpha.push_back(t.alpha);
    m.l.push_back(t.l);
    m.P_max.push_back(t.p_max);
    if (t.moved) m.moved_tile.push_back(t.tile - 0.5), m.moved.push_back(t.max_used);
    if (!std::isnan(t.o_norm)) m.O_tile.push_back(t.tile), m.O_norm.push_back(t.o_norm);
    if (t.ties > 0) m.tied_tile.push_back(t.tile), m.tied_max.push_back(t.max_used);
    if (!std::isnan(t.error)) m.error_tile.push_back(t.tile), m.error.push_back(t.error);
    if (t.saturated > 0) m.saturated_tile.push_back(t.tile);
    m.saturated += t.saturated;
    m.ties += t.ties;
    m.stale |= t.max_used < t.max_true;
  }
  normalise(m.l);
  normalise(m.O_norm);
}

void take_rescales(StripState& m, const Rescales& r) {
  for (std::size_t t = 0; t < r.per_tile.size(); ++t) {
    m.rows.tile.push_back(static_cast<double>(t));
    m.rows.rescales.push_back(static_cast<double>(r.per_tile[t]));
    m.rows.expected.push_back(t < r.expected_per_tile.size() ? r.expected_per_tile[t] : 0);
  }
  for (std::size_t q = 0; q < 5; ++q)
    for (const auto& quantiles : r.max_quantiles) m.rows.quantiles[q].push_back(static_cast<double>(quantiles[q]));
}

/// Begins of split_kv's runs but the first, half a tile before their first tiles.
std::vector<double> begins_of_runs(const Experiment& e, int tiles) {
  std::vector<double> begins;
  if (e.a.algorithm != Algorithm::split_kv || tiles <= 1) return begins;
  const int per_run = (tiles - 1) / std::max(1, e.a.splits) + 1;
  for (int t = per_run; t < tiles; t += per_run) begins.push_back(t - 0.5);
  return begins;
}

bool shows(unsigned hidden, Curve c) { return (hidden & bit(c)) == 0; }

/// Fits an axis to the shown curves in these tiles; a plot without shown curves to all of them.
void fit_errors(StripState& m, TileRange tiles) {
  const bool a = shows(m.hidden, Curve::error), b = shows(m.hidden, Curve::b_error) && m.b_error > 0, any = a || b;
  const std::span<const double> of_a = any && !a ? std::span<const double>() : shown_part(m.row.error_tile, m.row.error, tiles);
  decades_of({any && !b ? 0 : m.b_error}, of_a, m.axes.error_low, m.axes.error_high);
}
void fit_P(StripState& m, TileRange tiles) {
  decades_of({1.0}, shown_part(m.row.tile, m.row.P_max, tiles), m.axes.P_low, m.axes.P_high);
  if (m.P_limit <= 100 * m.axes.P_high) m.axes.P_high = std::clamp(3 * m.P_limit, m.axes.P_high, beyond);
}

/// The largest number of P's format; 0 if P is not rounded or not traced.
double limit_of_P(const Experiment& e) {
  const Rounding& r = e.a.precision[Step::P];
  return r.kind == Rounding::Kind::exact || e.a.algorithm == Algorithm::two_pass ? 0 : largest<double>(format_of(r, e.format));
}

void take_answer(StripState& m, const Result& r) {
  take_trace(m.row, r.trace);
  take_rescales(m, r.rescales);
  m.rows.moves = rows_by_moves(r);
  m.run_begins = begins_of_runs(r.experiment, r.rescales.tiles);
  m.b_error = error_of_b(r);
  m.P_limit = limit_of_P(r.experiment);
}

}  // namespace

std::vector<double> rows_by_moves(const Result& r) {
  const RescaleMap& map = r.rescale_map;
  if (map.tiles <= 0 || map.m.empty()) return {};
  const Method& a = r.experiment.a;
  const std::size_t rows = map.m.size() / static_cast<std::size_t>(map.tiles);
  const int runs = a.algorithm == Algorithm::split_kv ? a.splits : 1, per_run = (map.tiles - 1) / runs + 1;
  constexpr float none = -std::numeric_limits<float>::infinity();
  std::vector<float> before(rows, none);
  std::vector<std::int32_t> moves(rows, 0);
  for (int t = 0; t < map.tiles; ++t) {
    if (t % per_run == 0) std::ranges::fill(before, none);
    const float* m = map.m.data() + static_cast<std::size_t>(t) * rows;
    for (std::size_t row = 0; row < rows; ++row) {
      const float now = m[row], earlier = before[row];
      moves[row] += (now == now) & (earlier > none) & (now != earlier);
      before[row] = now == now ? now : earlier;
    }
  }
  std::vector<double> counts(rows == 0 ? 0 : static_cast<std::size_t>(std::ranges::max(moves)) + 1, 0.0);
  for (const std::int32_t count : moves) ++counts[static_cast<std::size_t>(count)];
  return counts;
}

void refresh_strip(StripState& state, const std::shared_ptr<const Result>& result, unsigned hidden, bool of_b) {
  if (state.result == result && state.hidden == hidden) return;
  if (state.result != result) {
    state = StripState{};
    state.result = result;
    state.of_b = of_b;
    if (result) take_answer(state, *result);
  }
  state.hidden = hidden;
  state.has_axes = false;
  if (result) show_axes(state, all_tiles(*result));
}

void show_axes(StripState& m, TileRange tiles) {
  if (m.has_axes && m.axes.first == tiles.from && m.axes.last == tiles.to) return;
  m.has_axes = true;
  m.axes = {};
  m.axes.first = tiles.from;
  m.axes.last = tiles.to;
  fit_errors(m, tiles);
  fit_P(m, tiles);
}

}  // namespace attoscope::ui
