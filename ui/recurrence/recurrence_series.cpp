// The series of the recurrence panel, updated once per answer, and its plots as panels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/recurrence/recurrence.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

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
    if (std::isfinite(v) && v > 0) {
      least = std::min(least, v);
      most = std::max(most, v);
    }
  };
  for (const double v : values) take(v);
  for (const double v : more) take(v);
  if (!(most > 0)) {
    least = 1e-8;
    most = 1e-5;
  }
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
    if (t.moved) {
      m.moved_tile.push_back(t.tile - 0.5);
      m.moved.push_back(t.max_used);
    }
    if (!std::isnan(t.o_norm)) {
      m.O_tile.push_back(t.tile);
      m.O_norm.push_back(t.o_norm);
    }
    if (t.ties > 0) {
      m.tied_tile.push_back(t.tile);
      m.tied_max.push_back(t.max_used);
    }
    if (!std::isnan(t.error)) {
      m.error_tile.push_back(t.tile);
      m.error.push_back(t.error);
    }
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

/// Places where the runs of split_kv after the first begin: half a tile before their first tile.
std::vector<double> begins_of_runs(const Result& r) {
  std::vector<double> begins;
  const int per_run = tiles_of_a_run(r.experiment.a, key_count(r.experiment.problem));
  for (int t = per_run; t < r.rescales.tiles; t += per_run) begins.push_back(t - 0.5);
  return begins;
}

bool shows(unsigned hidden, Curve c) { return (hidden & bit(c)) == 0; }

/// Fits the axis of errors to the shown curves in these tiles; if none is shown, to all.
void fit_errors(StripState& m, TileRange tiles) {
  const bool a = shows(m.hidden, Curve::error), b = shows(m.hidden, Curve::b_error) && m.b_error > 0, any = a || b;
  const std::span<const double> of_a = any && !a ? std::span<const double>() : shown_part(m.row.error_tile, m.row.error, tiles);
  decades_of({any && !b ? 0 : m.b_error}, of_a, m.axes.error_low, m.axes.error_high);
}

void take_answer(StripState& m, const Result& r) {
  take_trace(m.row, r.trace);
  take_rescales(m, r.rescales);
  m.rows.moves = rows_by_moves(r);
  m.run_begins = begins_of_runs(r);
  m.b_error = error_of_b(r);
  const Rounding& P = r.experiment.a.precision[Step::P];
  const bool is_traced = P.kind != Rounding::Kind::exact && r.experiment.a.algorithm != Algorithm::two_pass;
  m.P_limit = is_traced ? largest<double>(format_of(P, r.experiment.format)) : 0;
}

/// Removes points outside the shown tiles, except from dashed lines.
void keep_shown(Series& s, const StripAxes& axes) {
  if (s.dashed || s.x.empty()) return;
  const auto first = std::ranges::upper_bound(s.x, axes.first - 0.5) - s.x.begin(),
             end = std::max(first, std::ranges::lower_bound(s.x, axes.last + 0.5) - s.x.begin());
  if (first == 0 && end == std::ssize(s.x)) return;
  for (std::vector<double>* const values : {&s.x, &s.y, &s.low, &s.high})
    if (!values->empty()) *values = std::vector(values->begin() + first, values->begin() + end);
}

bool shows(const View& view, Curve c) { return shows(view.hidden_curves, c); }

Series band_of(std::string label, const StripState& m, std::size_t low, std::size_t high) {
  constexpr std::size_t median = 2;
  Series s = series_of(std::move(label), Ink::text, Shape::band, m.rows.tile, m.rows.quantiles[median]);
  s.low = m.rows.quantiles[low];
  s.high = m.rows.quantiles[high];
  return s;
}

/// A horizontal line over the whole tile axis.
Series level_of(std::string label, Ink ink, const StripState& m, double y) {
  Series s = series_of(std::move(label), ink, Shape::line, {m.axes.first, m.axes.last}, {y, y});
  s.dashed = true;
  return s;
}

/// A panel over tiles, without curves.
FigurePanel over_tiles(const StripState& m, FigureAxis y) {
  FigurePanel p;
  p.x = {.label = "tile", .whole = true, .min = m.axes.first, .max = m.axes.last};
  p.y = std::move(y);
  return p;
}

FigurePanel max_panel(const StripState& m, const View& view) {
  constexpr double few_tiles = 100;
  FigurePanel p = over_tiles(m, {.label = fmt::format("running max of row {}", m.result->trace.row)});
  if (shows(view, Curve::rows)) p.series = {band_of("90 % of rows", m, 0, 4), band_of("50 % of rows", m, 1, 3)};
  if (shows(view, Curve::max_true))
    p.series.push_back(series_of("true max", Ink::golden,
                                 m.row.stale || m.axes.last - m.axes.first > few_tiles ? Shape::steps : Shape::marks,
                                 m.row.tile, m.row.max_true));
  if (shows(view, Curve::m)) {
    p.series.push_back(series_of("m", Ink::a, Shape::steps, m.row.tile, m.row.max_used));
    std::vector<double> tiles = m.row.moved_tile;
    for (double& t : tiles) t += 0.5;
    p.series.push_back(series_of("moved", Ink::moved, Shape::marks, std::move(tiles), m.row.moved));
  }
  if (shows(view, Curve::ties) && m.row.ties > 0)
    p.series.push_back(series_of("ties", Ink::text, Shape::marks, m.row.tied_tile, m.row.tied_max));
  return p;
}

FigurePanel rescale_panel(const StripState& m, const View& view) {
  constexpr double few_tiles = 300;
  FigurePanel p = over_tiles(m, {.label = "rows rescaled", .min = 0});
  if (shows(view, Curve::rescales))
    p.series.push_back(series_of("m moved", Ink::moved, m.axes.last - m.axes.first > few_tiles ? Shape::steps : Shape::bars,
                                 m.rows.tile, m.rows.rescales));
  if (shows(view, Curve::expected))
    p.series.push_back(series_of("1/t, scores in random order", Ink::text, Shape::steps, m.rows.tile, m.rows.expected));
  return p;
}

FigurePanel sum_panel(const StripState& m, const View& view) {
  FigurePanel p = over_tiles(m, {.label = "share of the largest, α", .min = -0.03, .max = 1.08});
  if (shows(view, Curve::O_norm)) p.series.push_back(series_of("|O|", Ink::text, Shape::steps, m.row.O_tile, m.row.O_norm));
  if (shows(view, Curve::l)) p.series.push_back(series_of("l", Ink::a, Shape::steps, m.row.tile, m.row.l));
  if (shows(view, Curve::alpha) && !m.row.tile.empty())
    p.series.push_back(series_of("α", Ink::moved, Shape::marks, {m.row.tile.begin() + 1, m.row.tile.end()},
                                 {m.row.alpha.begin() + 1, m.row.alpha.end()}));
  if (m.row.saturated > 0)
    p.series.push_back(series_of("P saturated", Ink::bad, Shape::marks, m.row.saturated_tile,
                                 std::vector<double>(m.row.saturated_tile.size(), 0.0)));
  return p;
}

FigurePanel largest_P_panel(const StripState& m, const View&) {
  const std::string title = fmt::format("largest P of row {}", m.result->trace.row);
  FigurePanel p = over_tiles(m, {.label = title, .log = true, .min = m.axes.P_low, .max = m.axes.P_high});
  p.series = {series_of("largest P", Ink::a, Shape::steps, m.row.tile, m.row.P_max)};
  if (m.P_limit > 0 && m.P_limit < m.axes.P_high) p.series.push_back(level_of("saturates", Ink::bad, m, m.P_limit));
  return p;
}

FigurePanel error_panel(const StripState& m, const View& view) {
  const MethodNames names = method_names(m.result->experiment);
  const std::string title = fmt::format("max |error| of row {} so far", m.result->trace.row);
  FigurePanel p = over_tiles(m, {.label = title, .log = true, .min = m.axes.error_low, .max = m.axes.error_high});
  if (shows(view, Curve::error)) p.series.push_back(series_of(names.a, Ink::a, Shape::steps, m.row.error_tile, m.row.error));
  if (shows(view, Curve::b_error) && m.b_error > 0)
    p.series.push_back(level_of(names.b_after_a + " at the end", Ink::b, m, m.b_error));
  return p;
}

/// Panel of a plot of `all_strip_plots`.
constexpr std::array whole_panel{max_panel, rescale_panel, sum_panel, largest_P_panel, error_panel};
static_assert(whole_panel.size() == all_strip_plots.size());

}  // namespace

std::vector<double> rows_by_moves(const Result& r) {
  const RescaleMap& map = r.rescale_map;
  if (map.tiles <= 0 || map.m.empty()) return {};
  const std::size_t rows = map.m.size() / static_cast<std::size_t>(map.tiles);
  const int per_run = tiles_of_a_run(r.experiment.a, key_count(r.experiment.problem));
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
  decades_of({1.0}, shown_part(m.row.tile, m.row.P_max, tiles), m.axes.P_low, m.axes.P_high);
  if (m.P_limit <= 100 * m.axes.P_high) m.axes.P_high = std::clamp(3 * m.P_limit, m.axes.P_high, beyond);
}

FigurePanel strip_panel(Plot plot, const StripState& m, const View& view) {
  FigurePanel panel = whole_panel[place_in(all_strip_plots, plot)](m, view);
  for (Series& s : panel.series) keep_shown(s, m.axes);
  return panel;
}

FigurePanel row_move_panel(const StripState& m) {
  Series counts = series_of("rows", Ink::moved, Shape::bars, {}, m.rows.moves);
  for (std::size_t k = 0; k < m.rows.moves.size(); ++k) counts.x.push_back(static_cast<double>(k));
  const double expected = m.result->rescales.expected;
  Series line =
      series_of("expected mean, H_T − 1", Ink::text, Shape::line, {expected, expected}, {0, std::ranges::max(m.rows.moves)});
  line.dashed = true;
  const double most = std::max(static_cast<double>(m.rows.moves.size()), std::ceil(expected) + 1);
  FigurePanel p;
  p.x = {.label = "moves of the running max in a row", .whole = true, .min = -0.6, .max = most - 0.4};
  p.y = {.label = "rows", .min = 0};
  p.series = {std::move(counts), std::move(line)};
  return p;
}

}  // namespace attoscope::ui
