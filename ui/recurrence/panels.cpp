#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/recurrence/recurrence.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// Removes points outside the shown tiles, except from dashed lines.
void keep_shown(Series& s, const StripAxes& axes) {
  if (s.dashed || s.x.empty()) return;
  const auto first = std::ranges::upper_bound(s.x, axes.first - 0.5) - s.x.begin(),
             end = std::max(first, std::ranges::lower_bound(s.x, axes.last + 0.5) - s.x.begin());
  if (first == 0 && end == std::ssize(s.x)) return;
  for (std::vector<double>* const values : {&s.x, &s.y, &s.low, &s.high})
    if (!values->empty()) *values = std::vector(values->begin() + first, values->begin() + end);
}

bool shows(const View& view, Curve c) { return (view.hidden_curves & bit(c)) == 0; }

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
FigurePanel over_tiles(const StripState& m, const std::string& y, bool log = false) {
  FigurePanel p;
  p.x = number_axis("tile");
  p.x.whole = true;
  p.x.min = m.axes.first;
  p.x.max = m.axes.last;
  p.y = number_axis(y, log);
  return p;
}

FigurePanel max_panel(const StripState& m, const View& view) {
  constexpr double few_tiles = 100;
  FigurePanel p = over_tiles(m, fmt::format("running max of row {}", m.result->trace.row));
  if (shows(view, Curve::rows))
    p.series = {band_of(curve_label::most_rows, m, 0, 4), band_of(curve_label::half_the_rows, m, 1, 3)};
  if (shows(view, Curve::max_true))
    p.series.push_back(series_of(curve_label::max_true, Ink::golden,
                                 m.row.stale || m.axes.last - m.axes.first > few_tiles ? Shape::steps : Shape::marks,
                                 m.row.tile, m.row.max_true));
  if (shows(view, Curve::m)) {
    p.series.push_back(series_of(curve_label::m, Ink::a, Shape::steps, m.row.tile, m.row.max_used));
    std::vector<double> tiles = m.row.moved_tile;
    for (double& t : tiles) t += 0.5;
    p.series.push_back(series_of(curve_label::moved, Ink::moved, Shape::marks, std::move(tiles), m.row.moved));
  }
  if (shows(view, Curve::ties) && m.row.ties > 0)
    p.series.push_back(series_of(curve_label::ties, Ink::text, Shape::marks, m.row.tied_tile, m.row.tied_max));
  return p;
}

FigurePanel rescale_panel(const StripState& m, const View& view) {
  constexpr double few_tiles = 300;
  FigurePanel p = over_tiles(m, "rows rescaled");
  if (shows(view, Curve::rescales))
    p.series.push_back(series_of(curve_label::rescales, Ink::moved,
                                 m.axes.last - m.axes.first > few_tiles ? Shape::steps : Shape::bars, m.rows.tile,
                                 m.rows.rescales));
  if (shows(view, Curve::expected))
    p.series.push_back(series_of(curve_label::expected, Ink::text, Shape::steps, m.rows.tile, m.rows.expected));
  p.y.min = 0;
  return p;
}

FigurePanel sum_panel(const StripState& m, const View& view) {
  FigurePanel p = over_tiles(m, "share of the largest, α");
  if (shows(view, Curve::O_norm))
    p.series.push_back(series_of(curve_label::O_norm, Ink::text, Shape::steps, m.row.O_tile, m.row.O_norm));
  if (shows(view, Curve::l)) p.series.push_back(series_of(curve_label::l, Ink::a, Shape::steps, m.row.tile, m.row.l));
  if (shows(view, Curve::alpha) && !m.row.tile.empty())
    p.series.push_back(series_of(curve_label::alpha, Ink::moved, Shape::marks, {m.row.tile.begin() + 1, m.row.tile.end()},
                                 {m.row.alpha.begin() + 1, m.row.alpha.end()}));
  if (m.row.saturated > 0)
    p.series.push_back(series_of("P saturated", Ink::bad, Shape::marks, m.row.saturated_tile,
                                 std::vector<double>(m.row.saturated_tile.size(), 0.0)));
  p.y.min = -0.03;
  p.y.max = 1.08;
  return p;
}

FigurePanel largest_P_panel(const StripState& m) {
  FigurePanel p = over_tiles(m, fmt::format("largest P of row {}", m.result->trace.row), true);
  p.series = {series_of("largest P", Ink::a, Shape::steps, m.row.tile, m.row.P_max)};
  if (m.P_limit > 0 && m.P_limit < m.axes.P_high) p.series.push_back(level_of(curve_label::saturates, Ink::bad, m, m.P_limit));
  p.y.min = m.axes.P_low;
  p.y.max = m.axes.P_high;
  return p;
}

FigurePanel error_panel(const StripState& m, const View& view) {
  const MethodNames names = method_names(m.result->experiment);
  FigurePanel p = over_tiles(m, fmt::format("max |error| of row {} so far", m.result->trace.row), true);
  if (shows(view, Curve::error)) p.series.push_back(series_of(names.a, Ink::a, Shape::steps, m.row.error_tile, m.row.error));
  if (shows(view, Curve::b_error) && m.b_error > 0)
    p.series.push_back(level_of(names.b_after_a + " at the end", Ink::b, m, m.b_error));
  p.y.min = m.axes.error_low;
  p.y.max = m.axes.error_high;
  return p;
}

FigurePanel whole_panel(StripPlot plot, const StripState& m, const View& view) {
  switch (plot) {
    case StripPlot::running_max:
      return max_panel(m, view);
    case StripPlot::rescales:
      return rescale_panel(m, view);
    case StripPlot::row_sum:
      return sum_panel(m, view);
    case StripPlot::largest_P:
      return largest_P_panel(m);
    case StripPlot::error:
      return error_panel(m, view);
  }
  return {};
}

}  // namespace

FigurePanel strip_panel(StripPlot plot, const StripState& m, const View& view) {
  FigurePanel panel = whole_panel(plot, m, view);
  for (Series& s : panel.series) keep_shown(s, m.axes);
  return panel;
}

FigurePanel row_move_panel(const StripState& m) {
  FigurePanel p;
  p.x = number_axis("moves of the running max in a row");
  p.x.whole = true;
  p.y = number_axis("rows");
  p.y.min = 0;
  Series counts = series_of("rows", Ink::moved, Shape::bars, {}, m.rows.moves);
  for (std::size_t k = 0; k < m.rows.moves.size(); ++k) counts.x.push_back(static_cast<double>(k));
  const double expected = m.result->rescales.expected;
  Series line =
      series_of("expected mean, H_T − 1", Ink::text, Shape::line, {expected, expected}, {0, std::ranges::max(m.rows.moves)});
  line.dashed = true;
  p.series = {std::move(counts), std::move(line)};
  p.x.min = -0.6;
  p.x.max = std::max(static_cast<double>(m.rows.moves.size()), std::ceil(expected) + 1) - 0.4;
  return p;
}

}  // namespace attoscope::ui
