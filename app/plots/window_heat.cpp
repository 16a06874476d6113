// Heat maps of the window as panels: pooled to printed pixels by the largest |value|, in the colours of the light theme.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "app/plots/window_figures.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {

static_assert(ui::FigureHeat::nothing == ui::PixelImage::nothing && ui::FigureHeat::masked == ui::PixelImage::masked);

/// Printed pixels per inch, and the picture's share of a panel.
constexpr double dots_per_inch = 300, mm_per_inch = 25.4, width_share = 0.68, height_share = 0.76;

/// Converts ImGui's packed colour to 0xRRGGBB.
std::uint32_t to_rgb(ui::Colour c) { return (c & 255U) << 16 | (c & 0xff00U) | (c >> 16 & 255U); }

ui::FigureColours print_colours(bool diverging) {
  const ui::ColourTable table = colour_table(diverging, ui::Theme::light);
  ui::FigureColours c;
  c.map.clear();
  for (int i = 0; i < ui::entry::map_size; ++i) c.map.push_back(to_rgb(table[static_cast<std::size_t>(i)]));
  c.nan = to_rgb(table[ui::entry::nan]);
  c.plus_infinity = to_rgb(table[ui::entry::plus_infinity]);
  c.minus_infinity = to_rgb(table[ui::entry::minus_infinity]);
  c.nothing = to_rgb(table[ui::entry::nothing]);
  c.hatch = to_rgb(table[ui::entry::hatch]);
  return c;
}

/// Widens [low, high] to whole cells, which begin at `first` and have length 1 / per.
void align(double& low, double& high, double first, double per, double end) {
  low = std::max(0.0, first + std::floor((low - first) * per + 1e-9) / per);
  high = std::min(end, first + std::ceil((high - first) * per - 1e-9) / per);
}

/// Number of pixels for `length` cells: one each, at most the printed pixels.
int pixels(double length, double mm, double share) {
  const double most = std::floor(mm * share / mm_per_inch * dots_per_inch);
  return static_cast<int>(std::clamp(std::round(length), 1.0, most));
}

/// Pools the picture to the printed size; `rect` in units of its axes.
ui::FigureHeat heat_of(ui::CellPicture& picture, CellRect rect, const PanelPrint& print, const ui::Colouring& how) {
  picture.on_device = nullptr;  // compute the pixels on the host
  align(rect.row0, rect.row1, picture.first_row, picture.per_row, picture.n);
  align(rect.col0, rect.col1, picture.first_col, 1, picture.across);
  ui::FigureHeat h;
  h.width = pixels(rect.col1 - rect.col0, print.width_mm, width_share);
  h.height = pixels((rect.row1 - rect.row0) * picture.per_row, print.height_mm, height_share);
  refresh_image(picture, rect, h.width, h.height);
  h.values = picture.image.pixels;
  h.x0 = rect.col0;
  h.x1 = rect.col1;
  h.y0 = rect.row0;
  h.y1 = rect.row1;
  h.diverging = how.diverging;
  h.log = how.log;
  h.range = static_cast<double>(how.range);
  h.colours = print_colours(how.diverging);
  return h;
}

ui::FigurePanel panel_of(ui::FigureHeat heat, const std::string& x, const std::string& title) {
  ui::FigurePanel panel;
  panel.title = title;
  panel.x = ui::number_axis(x);
  panel.y = ui::number_axis("query row");
  panel.heat = std::move(heat);
  return panel;
}

/// Pools the picture; in a window of pairs hides keys that no row sees.
ui::FigureHeat heat_of_tensor(ui::HeatState& heat, const CellRect& rect, const PanelPrint& print, const ui::Colouring& how) {
  ui::FigureHeat h = heat_of(heat, rect, print, how);
  if (!heat.window) return h;
  hide_unseen(heat, heat.result->experiment.problem, 1, false);
  h.values = heat.image.pixels;
  return h;
}

std::vector<ui::FigurePanel> field_panels(const ui::Session& session, const PlotData& data, const PanelPrint& print) {
  ui::UiState state;
  ui::View view = session.view;
  if (view.picture == ui::PictureKind::heads) view.picture = ui::PictureKind::output;  // of the open head
  const ui::ShownTensor shown = shown_in(session, data);
  refresh_values(state.heat, shown, view.field);
  if (state.heat.values.empty()) throw std::invalid_argument("The answer has no elements to draw.");
  const CellRect rect = ui::seen(picture_settings(view).zoom, state.heat.n, state.heat.across);
  const ui::MethodNames names = ui::method_names(shown.result->experiment);
  const bool two = heat_panel_count(session) > 1;
  const bool of_slip = two && view.second_slip && data.slip_output;
  ui::ShownTensor beside = shown;
  if (of_slip) beside.result = data.slip_output;
  if (two) refresh_values(state.second, beside, view.second_field);
  const double range = colour_range(state, view);
  const auto panel = [&](ui::HeatState& heat, double own_range) {
    const ui::Colouring how = colouring(text(heat.field).is_signed, own_range, view);
    const bool is_slip = heat.result == data.slip_output;
    ui::FigurePanel p = panel_of(
        heat_of_tensor(heat, rect, print, how), heat.window ? "key" : "head dimension",
        is_slip ? "The slip in its place" : ui::picture_title({view, data.result->experiment, heat, data.file}, heat.field));
    if (heat.keys_down) p.y.label = "key";
    p.heat->label =
        of_tensor(heat, ui::field_title(heat.field, is_slip ? ui::names_with_slip(data.result->experiment) : names));
    return p;
  };
  std::vector<ui::FigurePanel> panels{panel(state.heat, range)};
  if (!two) return panels;
  panels.push_back(panel(state.second, second_colour_range(state, view)));
  if (view.figure.two_columns || view.figure.slide) panels[1].y.label.clear();  // next to the first colour bar
  return panels;
}

constexpr EnumArray<ui::RescaleShow, const char*> rescale_titles{"it moved", "m grew by", "saturated P", "underflowed P"};

std::vector<ui::FigurePanel> rescale_panels(const ui::View& view, const PlotData& data, const PanelPrint& print) {
  ui::UiState state;
  ui::RescaleState& m = state.rescale_map;
  refresh_map(m, data.result, data.side.clipping, view.rescale_show);
  if (m.rows <= 0 || m.cols <= 0)
    throw std::invalid_argument("There is no map of rescales to draw: method a keeps no running max.");
  const Experiment& e = shows_counts(m.show) ? m.clipping->experiment : m.result->experiment;
  const bool moved = m.show == ui::RescaleShow::moved;
  ui::FigureHeat heat = heat_of(m, ui::seen(view.rescale_look.zoom, m.n, m.across), print,
                                colouring(false, moved ? 1 : colour_range(state, view), view));
  hide_unseen(m, e.problem, tile_keys(e.a, key_count(e.problem)), e.a.reverse_keys);
  heat.values = m.image.pixels;
  heat.label = rescale_titles[m.show];
  heat.two_valued = moved;
  if (moved) heat.colours.map = {to_rgb(palette(ui::Theme::light).raised), to_rgb(palette(ui::Theme::light).moved)};
  return {panel_of(std::move(heat), "tile of " + counted(tile_keys(e.a, key_count(e.problem)), "key"),
                   ui::picture_title({view, e, {}, data.file}, view.field) + (moved ? "; purple: it moved" : ""))};
}

constexpr EnumArray<ui::ScoreShow, const char*> score_titles{"S as it is rounded", "P as it multiplies V", "P − true weight"};

std::vector<ui::FigurePanel> score_panels(const ui::View& view, const PlotData& data, const PanelPrint& print) {
  ui::UiState state;
  ui::ScoreState& m = state.scores;
  refresh_scores(m, data.side.scores, view.score_show);
  const Problem& p = data.side.scores->question.experiment.problem;
  ui::FigureHeat heat = heat_of(m, ui::seen(view.score_look.zoom, p.n, key_count(p)), print,
                                colouring(view.score_show != ui::ScoreShow::P, colour_range(state, view), view));
  hide_unseen(m, p, 1, false);
  heat.values = m.image.pixels;
  heat.label = score_titles[view.score_show];
  return {panel_of(std::move(heat), "key", ui::picture_title({view, data.result->experiment, {}, data.file}, view.field))};
}

}  // namespace

ui::ShownTensor shown_in(const ui::Session& session, const PlotData& data) {
  ui::SeenTensor seen;
  ui::SeenPairs pairs;
  if (shows_pairs(session.view, session.experiment))
    return shown_pairs(pairs, data.side.gradient_window, session.view.pair_show);
  return shown_answer(seen, data.result, session.view);
}

int heat_panel_count(const ui::Session& session) {
  const ui::View& view = session.view;
  const bool fields = view.picture == ui::PictureKind::output || shows_pairs(view, session.experiment);
  return fields && view.comparison != ui::Comparison::none ? 2 : 1;
}

std::vector<ui::FigurePanel> heat_panels(const ui::Session& session, const PlotData& data, const PanelPrint& print) {
  const ui::View& view = session.view;
  if (view.picture == ui::PictureKind::rescales) return rescale_panels(view, data, print);
  const bool scores = view.picture == ui::PictureKind::scores && !shows_pairs(view, session.experiment);
  return scores ? score_panels(view, data, print) : field_panels(session, data, print);  // for heads: the open head
}

}  // namespace attoscope::app
