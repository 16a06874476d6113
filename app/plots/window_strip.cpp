// The recurrence of a row as panels over tiles.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "app/plots/window_figures.h"
#include "app/plots/window_plots.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/panel_input.h"
#include "ui/recurrence/panels.h"
#include "ui/recurrence/tile_range.h"

namespace attoscope {

namespace {

/// Curves of a in the colour of what is followed, and those of b in a's.
void exchange_inks(FigurePanel& panel, Ink followed) {
  for (Series& s : panel.series) s.ink = s.ink == Ink::a ? followed : s.ink == Ink::b ? Ink::a : s.ink;
}

}  // namespace

std::vector<FigurePanel> strip_panels(Plot plot, const View& view, const PlotData& data) {
  constexpr std::array<std::pair<Plot, StripPlot>, 5> plots{{{Plot::running_max, StripPlot::running_max},
                                                             {Plot::rescales, StripPlot::rescales},
                                                             {Plot::row_sum, StripPlot::row_sum},
                                                             {Plot::largest_P, StripPlot::largest_P},
                                                             {Plot::error, StripPlot::error}}};
  PanelInput input;
  input.answer.result = data.result;
  input.side.followed = data.followed;
  if (const std::string why = why_no_recurrence(input); !why.empty()) throw std::invalid_argument(why);
  StripState state;
  const std::shared_ptr<const Result> followed = recurrence_answer(input);
  const bool of_b = followed != data.result;
  refresh_strip(state, followed, view.hidden_curves, of_b);
  if (view.figure.shown_tiles) show_axes(state, shown_tiles(*followed, view));
  const auto in_strip = [&](StripPlot p) { return std::ranges::find(strip_plots(view), p) != strip_plots(view).end(); };
  std::vector<FigurePanel> panels;
  for (const auto& [one, of_strip] : plots)
    if (plot == one || (plot == Plot::strip && in_strip(of_strip))) panels.push_back(strip_panel(of_strip, state, view));
  if (plot == Plot::rescales && (view.hidden_curves & bit(Curve::row_moves)) == 0 && !state.rows.moves.empty())
    panels.push_back(row_move_panel(state));
  for (FigurePanel& p : panels)
    if (of_b) exchange_inks(p, followed_name(data.result->experiment) == "b" ? Ink::b : Ink::text);
  for (FigurePanel& p : panels)
    if (p.series.empty()) p.series.push_back(series_of("", Ink::text, Shape::line));
  return panels;
}

}  // namespace attoscope
