// The pictures of a plan, lines or a heat map of two parameters, and the mouse in them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "implot.h"
#include "ui/frame/sweep_lines.h"
#include "ui/picture/heatmap_view.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// The table as a matrix.
void refresh_heat(SweepState& m, const std::shared_ptr<const SweepTable>& table) {
  if (m.heat_table == table) return;
  m.heat_table = table;
  FigurePanel panel = sweep_heat_panel(*table);
  FigureHeat& heat = *panel.heat;
  CellPicture& p = m.heat;
  p.cols = p.across = heat.width;
  p.rows = p.n = heat.height;
  p.values = std::move(heat.values);
  measure(p);
}

/// Signed map for negative means; else a ramp, logarithmic if the plan says so.
Colouring colouring_of(const SweepDrawing& d) {
  const SweepExtremes& e = d.extremes;
  const bool is_signed = e.known > 0 && d.table->cells[e.least].mean < 0;
  const auto end = static_cast<float>(std::clamp(automatic_range(e.largest_size), 1e-37, 3e38));
  const float knee = e.least_above > 0 ? std::max(static_cast<float>(e.least_above), end / 3000) : end / 300;
  return {.diverging = is_signed, .log = d.axes.log_y, .range = end, .knee = knee, .theme = colours().theme};
}

/// Draws as many names along both axes as fit.
void draw_axes(const SweepTable& t, const Box& map) {
  const float cell_x = (map.max.x - map.min.x) / static_cast<float>(t.axes[0].names.size()),
              cell_y = (map.max.y - map.min.y) / static_cast<float>(t.across()), line = line_height(Face::mono_small);
  float free = -1e30f, lowest = 1e30f;
  for (std::size_t i = 0; i < t.axes[0].names.size(); ++i) {
    const std::string& name = t.axes[0].names[i];
    const float x = map.min.x + (static_cast<float>(i) + 0.5f) * cell_x, half = text_width(Face::mono_small, name) / 2;
    if (x - half < free) continue;
    free = x + half + px(4);
    draw_text({x, map.max.y + px(4)}, Face::mono_small, colours().secondary, name, 0.5f);
  }
  for (std::size_t j = 0; j < t.across(); ++j) {
    const float y = map.max.y - (static_cast<float>(j) + 0.5f) * cell_y;
    if (y + line / 2 > lowest) continue;
    lowest = y - line / 2 - px(2);
    draw_text({map.min.x - px(8), y - line / 2}, Face::mono_small, colours().secondary, t.axes[1].names[j], 1);
  }
  draw_text({(map.min.x + map.max.x) / 2, map.max.y + px(20)}, Face::small, colours().faint, t.axes[0].title, 0.5f);
  draw_text({map.min.x - px(8), map.min.y - px(20)}, Face::small, colours().faint, t.axes[1].title, 1);
}

/// Draws the means into their cells, if the cells are large enough.
void draw_numbers(const SweepTable& t, const SweepExtremes& extremes, const Box& map, const Colouring& how) {
  const float cell_x = (map.max.x - map.min.x) / static_cast<float>(t.axes[0].names.size()),
              cell_y = (map.max.y - map.min.y) / static_cast<float>(t.across()), line = line_height(Face::mono_small);
  if (cell_x < text_width(Face::mono_small, "-1.2e-12") + px(4) || cell_y < line + px(4)) return;
  for (std::size_t k = 0; k < t.cells.size(); ++k) {
    const SweepCell& c = t.cells[k];
    if (c.count == 0) continue;
    const ImVec2 at{map.min.x + (static_cast<float>(k / t.across()) + 0.5f) * cell_x,
                    map.max.y - (static_cast<float>(k % t.across()) + 0.5f) * cell_y - line / 2};
    draw_text(at, Face::mono_small, ink_on(colour(static_cast<float>(c.mean), how)),
              t.of == "ratio"         ? times(c.mean)
              : extremes.decimals < 0 ? scientific(c.mean, 2)
                                      : mean_text(extremes, c.mean),
              0.5f);
  }
}

Box map_box(const SweepDrawing& d, const Box& box) {
  const float names =
      std::min(std::max(text_width(Face::small, d.table->axes[1].title), text_width(Face::mono_small, d.longest[1])),
               (box.max.x - box.min.x) / 4);
  return {{std::floor(box.min.x + names + px(12)), std::floor(box.min.y + px(22))},
          {std::floor(box.max.x - px(92)), std::floor(box.max.y - px(38))}};
}

/// The read-out of a combination.
std::vector<NoteLine> note(const SweepScene& s, const SweepPlace& place, const SweepCell& c) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const auto in_digits = [&](double x) { return mean_text(d.extremes, x, 1); };
  std::vector<NoteLine> lines{{colours().text, place_text(t, place)}};
  if (c.count > 0) {
    lines.push_back({colours().text, fmt::format("mean {:10} std {:10}", in_digits(c.mean), in_digits(c.std))});
    lines.push_back({colours().secondary, fmt::format("min  {:10} max {:10}", in_digits(c.min), in_digits(c.max))});
  }
  if (t.has_rival && c.count > 0) lines.push_back({colours().b, t.methods[1] + "  " + in_digits(c.rival)});
  if (c.error >= 0) lines.push_back({colours().bad, t.errors[static_cast<std::size_t>(c.error)]});
  lines.push_back({colours().faint, fmt::format("{} of {}", c.count, t.repeats) +
                                        (c.count > 0 && s.opens ? "; a click opens it in Explore" : "")});
  return lines;
}

/// Draws text instead of a missing picture.
void draw_empty(const SweepScene& s, const Box& box) {
  const SweepProgress& p = s.sweep().progress;
  std::string text = "Run the sweep: its points appear here as they are computed.";
  if (p.points == 0)
    text = "The red sentence at the left says what the plan still needs.";
  else if (p.state == SweepProgress::State::running)
    text = "The first points are being computed.";
  else if (p.failed > 0 && p.failed == p.done)
    text = "No point could be computed: the table says why.";
  else if (p.done > 0 && s.state.drawing.extremes.known == 0)
    text = "No mean is a finite number: see the table.";
  draw_text({(box.min.x + box.max.x) / 2, (box.min.y + box.max.y) / 2}, Face::label, colours().faint, text, 0.5f);
}

/// Place of point i of line k on screen.
ImVec2 on_screen(const FigurePanel& p, std::size_t k, std::size_t i) {
  const double x = p.series[k].x[i] + category_shift(p, k), y = p.series[k].y[i];
  return p.x.categories.empty() ? ImPlot::PlotToPixels(x, y) : ImPlot::PlotToPixels(y, x);
}

/// The combination whose mean is nearest to the mouse, within 24 px.
std::optional<SweepPlace> nearest(const SweepDrawing& d) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::optional<SweepPlace> best;
  float reach = px(24);
  for (std::size_t k = 0; k < d.places.size(); ++k)
    for (std::size_t i = 0; i < d.places[k].size(); ++i) {
      const ImVec2 at = on_screen(d.panel, k, i);
      if (const float away = std::hypot(at.x - mouse.x, at.y - mouse.y); away < reach) {
        reach = away;
        best = d.places[k][i];
      }
    }
  return best;
}

/// A ring around the combination under the mouse, here or in the table.
void draw_pointed(const SweepScene& s) {
  const SweepDrawing& d = s.state.drawing;
  for (std::size_t k = 0; k < d.places.size(); ++k)
    for (std::size_t i = 0; i < d.places[k].size(); ++i)
      if (s.state.pointed == d.places[k][i])
        ImPlot::GetPlotDrawList()->AddCircle(on_screen(d.panel, k, i), px(7), colours().text, 0, px(1.5f));
}

/// Line at a ratio of 1.
void draw_equal(const SweepDrawing& d) {
  if (d.table->of != "ratio") return;
  if (has_categories(*d.table)) return draw_vertical(1, colours().secondary, 1, "equal errors");
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float y = ImPlot::PlotToPixels(ImPlot::GetPlotLimits().X.Min, 1).y;
  draw_dashed(ImPlot::GetPlotDrawList(), {at.x, y}, {at.x + size.x, y}, colours().secondary, px(5), px(4));
  draw_text(ImPlot::GetPlotDrawList(), {at.x + px(6), y - px(16)}, Face::small, colours().faint, "equal errors");
}

/// Shows within the box the numbers of a combination if the mouse is `over` it; a click opens it in Explore if the scene allows
/// that.
void point_at(const SweepScene& s, const std::optional<SweepPlace>& place, bool over, bool clicked, const Box& box) {
  const SweepCell* const cell = place ? cell_at(*s.state.drawing.table, *place) : nullptr;
  if (!over || cell == nullptr) return;
  s.state.pointing = place;
  if (clicked && s.opens && cell->count > 0) s.requests.open_point = place;
  draw_note(box, ImGui::GetIO().MousePos, note(s, *place, *cell));
}

void draw_sweep_heat_map(const SweepScene& s, const Box& box) {
  const SweepTable& t = *s.state.drawing.table;
  const Box map = map_box(s.state.drawing, box);
  const float width = map.max.x - map.min.x, height = map.max.y - map.min.y;
  if (width < px(40) || height < px(10)) return;
  CellPicture& p = s.state.heat;
  refresh_heat(s.state, s.state.drawing.table);
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  refresh_image(p, {0, 0, static_cast<double>(p.rows), static_cast<double>(p.cols)}, static_cast<int>(width * scale.x),
                static_cast<int>(height * scale.y));
  const Colouring how = colouring_of(s.state.drawing);
  if (s.input.paint) s.input.paint(ImGui::GetWindowDrawList(), map.min, map.max, p.image, how);
  ImGui::GetWindowDrawList()->AddRect({map.min.x - 1, map.min.y - 1}, {map.max.x + 1, map.max.y + 1}, colours().line);
  draw_numbers(t, s.state.drawing.extremes, map, how);
  draw_axes(t, map);
  draw_colour_bar({{map.max.x + px(14), map.min.y}, {map.max.x + px(26), map.max.y}}, how, p);
  if (s.state.pointed && cell_at(t, *s.state.pointed)) {
    const auto [i, j] = *s.state.pointed;
    const float cell_x = width / static_cast<float>(p.cols), cell_y = height / static_cast<float>(p.rows);
    ImGui::GetWindowDrawList()->AddRect(
        {map.min.x + static_cast<float>(i) * cell_x, map.max.y - static_cast<float>(j + 1) * cell_y},
        {map.min.x + static_cast<float>(i + 1) * cell_x, map.max.y - static_cast<float>(j) * cell_y}, colours().text, 0, 0,
        px(2));
  }
  ImGui::SetCursorScreenPos(map.min);
  ImGui::SetNextItemAllowOverlap();
  const bool pressed = ImGui::InvisibleButton("points", {width, height}, ImGuiButtonFlags_EnableNav);
  explain("The mean over seeds of every combination; a click on one opens its experiment in Explore.");
  const auto under = pointed_place(map.min, {width / static_cast<float>(p.cols), height / static_cast<float>(p.rows)},
                                   static_cast<int>(p.cols), static_cast<int>(p.rows));
  if (under) point_at(s, SweepPlace{under->column, static_cast<int>(p.rows) - 1 - under->row}, true, pressed, map);
}

}  // namespace

void draw_sweep_picture(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const Box box{{at.x, at.y + px(8)}, {at.x + room.x, at.y + room.y}};
  if (room.x < px(120) || room.y < px(80)) return;
  const SweepDrawing& d = s.state.drawing;
  const bool shows_names = d.table && has_categories(*d.table);
  if (!d.table || (d.extremes.known == 0 && !(shows_names && s.sweep().progress.done > 0))) return draw_empty(s, box);
  if (d.table->axes.size() > 1 && s.plan().heat_map)
    draw_sweep_heat_map(s, box);
  else
    draw_sweep_lines(s, box);
  if (s.sweep().progress.stale) ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, faded(colours().panel, 0.5f));
  offer_export({Plot::sweep, "sweep", at, box.max, [&] { return sweep_csv(*d.table); }}, s.session.view, s.requests);
}

void draw_sweep_lines(const SweepScene& s, const Box& box) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const bool names = has_categories(t), named = d.panel.series.size() > 1;
  const float width = box.max.x - box.min.x, header = names && named ? px(20) : 0;
  if (header > 0) {  // marks have no line ends for names
    std::vector<LegendName> above;
    for (const Series& line : d.panel.series) above.push_back(legend_name(line, false));
    for (LegendName& name : above) {
      name.mark = CurveMark::dot;
      name.what.clear();
    }
    draw_legend(box.min, width, above);
  }
  PanelLook look{.id = "points"};
  if (!names) {
    if (s.opens) look.shown = {&s.state.zoom_from, &s.state.zoom_to, 1e-9};  // a lesson's page keeps the wheel
    look.ticks = t.axes[0].numbers;
    look.names = t.axes[0].names;
    look.label_width = px(8);
    if (named)
      for (const Series& line : d.panel.series)
        look.label_width =
            std::max(look.label_width, std::min(text_width(Face::mono_small, line.label) + px(14), 0.3f * width));
    if (named) look.label = [](const Series& line) { return line.label; };
  }
  std::optional<SweepPlace> under;
  look.behind = [&] { draw_equal(d); };
  look.above = [&] { draw_pointed(s), under = nearest(d); };
  const float below = px(20), room = box.max.y - box.min.y - below - header;
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + header});
  if (names)
    ImGui::BeginChild("lines", {width, room}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);  // it scrolls
  const float tall = names ? px(40) + px(14) * static_cast<float>(t.axes[0].names.size()) : 0;
  const PanelMouse mouse = draw_panel(d.panel, look, {names ? ImGui::GetContentRegionAvail().x : width, std::max(room, tall)});
  point_at(s, under, mouse.over, mouse.clicked, {mouse.from, mouse.to});
  if (names) ImGui::EndChild();
  const FigureAxis& across = d.panel.x.categories.empty() ? d.panel.x : d.panel.y;
  const std::size_t lines = d.places.size();
  const std::string few = d.left_out > 0 ? fmt::format("; {} of {} lines, evenly chosen", lines, lines + d.left_out) : "",
                    caption = fitted(Face::small, across.label + (across.log ? ", log" : "") + few, width);
  const float half = text_width(Face::small, caption) / 2,
              middle = std::max(box.min.x + half, std::min((mouse.from.x + mouse.to.x) / 2, box.max.x - half));
  draw_text({middle, box.max.y - px(16)}, Face::small, colours().faint, caption, 0.5f);
}

}  // namespace attoscope::ui
