// Heat maps of the window as panels: pooled by largest |value| to the pixels of print, coloured by the window's light theme.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/plots/window_figures.h"
#include "kernels/experiment/rules.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {
namespace {

static_assert(FigureHeat::nothing == PixelImage::nothing && FigureHeat::masked == PixelImage::masked);

/// Pixels of print in an inch, and the share of a panel that the picture itself has.
constexpr double dots_per_inch = 300, mm_per_inch = 25.4, width_share = 0.68, height_share = 0.76;

/// 0xRRGGBB of ImGui's packing.
std::uint32_t to_rgb(Colour c) { return (c & 255U) << 16 | (c & 0xff00U) | (c >> 16 & 255U); }

FigureColours print_colours(bool diverging) {
  const ColourTable table = colour_table(diverging, Theme::light);
  FigureColours c;
  c.map.clear();
  for (int i = 0; i < entry::map_size; ++i) c.map.push_back(to_rgb(table[static_cast<std::size_t>(i)]));
  c.nan = to_rgb(table[entry::nan]);
  c.plus_infinity = to_rgb(table[entry::plus_infinity]);
  c.minus_infinity = to_rgb(table[entry::minus_infinity]);
  c.nothing = to_rgb(table[entry::nothing]);
  c.hatch = to_rgb(table[entry::hatch]);
  return c;
}

/// [low, high] moved outwards to whole cells that begin at `first` and are 1 / per long.
void align(double& low, double& high, double first, double per, double end) {
  low = std::max(0.0, first + std::floor((low - first) * per + 1e-9) / per);
  high = std::min(end, first + std::ceil((high - first) * per - 1e-9) / per);
}

/// The number of pixels that show `length` cells: one each, or as many as print has.
int pixels(double length, double mm, double share) {
  const double most = std::floor(mm * share / mm_per_inch * dots_per_inch);
  return static_cast<int>(std::clamp(std::round(length), 1.0, most));
}

/// The picture pooled to the size of print; `rect` in units of its axes.
FigureHeat heat_of(CellPicture& picture, CellRect rect, const PanelPrint& print, const Colouring& how) {
  picture.on_device = nullptr;  // pixels are wanted here
  align(rect.row0, rect.row1, picture.first_row, picture.per_row, picture.n);
  align(rect.col0, rect.col1, picture.first_col, 1, picture.across);
  FigureHeat h;
  h.width = pixels(rect.col1 - rect.col0, print.width_mm, width_share);
  h.height = pixels((rect.row1 - rect.row0) * picture.per_row, print.height_mm, height_share);
  refresh_image(picture, rect, h.width, h.height);
  h.values = picture.image.pixels;
  h.x0 = rect.col0, h.x1 = rect.col1, h.y0 = rect.row0, h.y1 = rect.row1;
  h.diverging = how.diverging;
  h.log = how.log;
  h.range = static_cast<double>(how.range);
  h.colours = print_colours(how.diverging);
  return h;
}

FigurePanel panel_of(FigureHeat heat, const std::string& x, const std::string& title) {
  FigurePanel panel;
  panel.title = title;
  panel.x = number_axis(x);
  panel.y = number_axis("query row");
  panel.heat = std::move(heat);
  return panel;
}

/// The picture pooled, without the keys that no row sees where it is a window.
FigureHeat heat_of_tensor(HeatState& heat, const CellRect& rect, const PanelPrint& print, const Colouring& how) {
  FigureHeat h = heat_of(heat, rect, print, how);
  if (!heat.window) return h;
  hide_unseen(heat, heat.result->experiment.problem, 1, false);
  h.values = heat.image.pixels;
  return h;
}

std::vector<FigurePanel> field_panels(const Session& session, const PlotData& data, const PanelPrint& print) {
  UiState state;
  View view = session.view;
  if (view.picture == PictureKind::heads) view.picture = PictureKind::output;  // of the head that is open
  const ShownTensor shown = shown_in(session, data);
  refresh_values(state.heat, shown, view.field);
  if (state.heat.values.empty()) throw std::invalid_argument("The answer has no elements to draw.");
  const CellRect rect = seen(picture_settings(view).zoom, state.heat.n, state.heat.across);
  const MethodNames names = method_names(data.result->experiment);
  const bool two = heat_panel_count(session) > 1;
  const bool of_slip = two && view.second_slip && data.slip_output;
  ShownTensor beside = shown;
  if (of_slip) beside.result = data.slip_output;
  if (two) refresh_values(state.second, beside, view.second_field);
  const double range = colour_range(state, view);
  const auto panel = [&](HeatState& heat, double own_range) {
    const Colouring how = colouring(text(heat.field).is_signed, own_range, view);
    const bool is_slip = heat.result == data.slip_output;
    FigurePanel p = panel_of(
        heat_of_tensor(heat, rect, print, how), heat.window ? "key" : "head dimension",
        is_slip ? "The slip in its place" : picture_title({view, data.result->experiment, heat, data.file}, heat.field));
    if (heat.keys_down) p.y.label = "key";
    p.heat->label = of_tensor(heat, field_title(heat.field, is_slip ? names_with_slip(data.result->experiment) : names));
    return p;
  };
  std::vector<FigurePanel> panels{panel(state.heat, range)};
  if (!two) return panels;
  panels.push_back(panel(state.second, second_colour_range(state, view)));
  if (view.figure.two_columns || view.figure.slide) panels[1].y.label.clear();  // it is drawn beside the first one's colour bar
  return panels;
}

constexpr EnumArray<RescaleShow, const char*> rescale_titles{"it moved", "m grew by", "saturated P", "underflowed P"};

std::vector<FigurePanel> rescale_panels(const View& view, const PlotData& data, const PanelPrint& print) {
  UiState state;
  RescaleState& m = state.rescale_map;
  refresh_map(m, data.result, data.clipping, view.rescale_show);
  if (m.rows <= 0 || m.cols <= 0)
    throw std::invalid_argument("There is no map of rescales to draw: method a keeps no running max.");
  const Experiment& e = shows_counts(m.show) ? m.clipping->experiment : m.result->experiment;
  const bool moved = m.show == RescaleShow::moved;
  FigureHeat heat = heat_of(m, seen(view.rescale_look.zoom, m.n, m.across), print,
                            colouring(false, moved ? 1 : colour_range(state, view), view));
  hide_unseen(m, e.problem, tile_keys(e.a, key_count(e.problem)), e.a.reverse_keys);
  heat.values = m.image.pixels;
  heat.label = rescale_titles[m.show];
  heat.two_valued = moved;
  if (moved) heat.colours.map = {to_rgb(palette(Theme::light).raised), to_rgb(palette(Theme::light).moved)};
  return {panel_of(std::move(heat), fmt::format("tile of {} keys", tile_keys(e.a, key_count(e.problem))),
                   picture_title({view, e, {}, data.file}, view.field) + (moved ? "; purple: it moved" : ""))};
}

constexpr EnumArray<ScoreShow, const char*> score_titles{"S as it is rounded", "P as it multiplies V", "P − true weight"};

std::vector<FigurePanel> score_panels(const View& view, const PlotData& data, const PanelPrint& print) {
  UiState state;
  ScoreState& m = state.scores;
  refresh_scores(m, data.scores, view.score_show);
  const Problem& p = data.scores->question.experiment.problem;
  FigureHeat heat = heat_of(m, seen(view.score_look.zoom, p.n, key_count(p)), print,
                            colouring(view.score_show != ScoreShow::P, colour_range(state, view), view));
  hide_unseen(m, p, 1, false);
  heat.values = m.image.pixels;
  heat.label = score_titles[view.score_show];
  return {panel_of(std::move(heat), "key", picture_title({view, data.result->experiment, {}, data.file}, view.field))};
}

}  // namespace

ShownTensor shown_in(const Session& session, const PlotData& data) {
  SeenTensor seen;
  SeenPairs pairs;
  if (shows_pairs(session.view, session.experiment)) return shown_pairs(pairs, data.pairs, session.view.pair_show);
  return shown_answer(seen, data.result, session.view);
}

int heat_panel_count(const Session& session) {
  const View& view = session.view;
  const bool fields = view.picture == PictureKind::output || shows_pairs(view, session.experiment);
  return fields && view.comparison != Comparison::none ? 2 : 1;
}

std::vector<FigurePanel> heat_panels(const Session& session, const PlotData& data, const PanelPrint& print) {
  switch (session.view.picture) {
    case PictureKind::rescales:
      return rescale_panels(session.view, data, print);
    case PictureKind::scores:
      if (shows_pairs(session.view, session.experiment)) break;
      return score_panels(session.view, data, print);
    case PictureKind::output:
    case PictureKind::heads:  // of the one head that is open
      break;
  }
  return field_panels(session, data, print);
}

}  // namespace attoscope
