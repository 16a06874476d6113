// Heat map of two parameters: one across, one upwards.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/frame/sweep_lines.h"
#include "ui/picture/heatmap_view.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// The table as a matrix whose last row is the second parameter's first value.
void refresh_heat(SweepState& m, const std::shared_ptr<const SweepTable>& table) {
  if (m.heat_table == table) return;
  m.heat_table = table;
  const FigurePanel panel = sweep_heat_panel(*table);
  const FigureHeat& heat = *panel.heat;
  CellPicture& p = m.heat;
  p.cols = p.across = heat.width;
  p.rows = p.n = heat.height;
  p.values.clear();
  for (auto row = heat.values.end(); row != heat.values.begin(); row -= heat.width)
    p.values.insert(p.values.end(), row - heat.width, row);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  p.has_nan = std::ranges::any_of(p.values, [](float x) { return std::isnan(x); });
  p.has_infinity = std::ranges::find(p.values, infinity) != p.values.end();
  p.has_minus_infinity = std::ranges::find(p.values, -infinity) != p.values.end();
  p.image.width = 0;
}

/// Signed map for negative means; else a ramp, logarithmic if the plan says so.
Colouring colouring_of(const SweepDrawing& d) {
  const SweepExtremes& e = d.extremes;
  const bool is_signed = e.known > 0 && d.table->cells[e.least].mean < 0;
  const auto end = static_cast<float>(std::clamp(automatic_range(e.largest_size), 1e-37, 3e38));
  const float knee = e.least_above > 0 ? std::max(static_cast<float>(e.least_above), end / 3000) : end / 300;
  return {.diverging = is_signed, .log = d.log_y, .range = end, .knee = knee, .theme = colours().theme};
}

/// Draws as many names along an axis as fit: `place(i)` is the position of name i, `room` its length.
template <class Place, class Room, class Draw>
void draw_names(const std::vector<std::string>& names, Place place, Room room, Draw draw) {
  float free = -1e30f;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const float at = place(i), half = room(names[i]) / 2;
    if (at - half < free) continue;
    free = at + half + px(4);
    draw(at, names[i]);
  }
}

void draw_axes(const SweepTable& t, const Box& map) {
  const float cell_x = (map.max.x - map.min.x) / static_cast<float>(t.axes[0].names.size()),
              cell_y = (map.max.y - map.min.y) / static_cast<float>(t.across()), line = line_height(Face::mono_small);
  draw_names(
      t.axes[0].names, [&](std::size_t i) { return map.min.x + (static_cast<float>(i) + 0.5f) * cell_x; },
      [](const std::string& name) { return text_width(Face::mono_small, name); },
      [&](float x, const std::string& name) {
        draw_text({x, map.max.y + px(4)}, Face::mono_small, colours().secondary, name, 0.5f);
      });
  float lowest = 1e30f;
  for (std::size_t j = 0; j < t.across(); ++j) {
    const float y = map.max.y - (static_cast<float>(j) + 0.5f) * cell_y;
    if (y + line / 2 > lowest) continue;
    lowest = y - line / 2 - px(2);
    draw_text({map.min.x - px(8), y - line / 2}, Face::mono_small, colours().secondary, t.axes[1].names[j], 1);
  }
  draw_text({(map.min.x + map.max.x) / 2, map.max.y + px(20)}, Face::small, colours().faint, t.axes[0].title, 0.5f);
  draw_text({map.min.x - px(8), map.min.y - px(20)}, Face::small, colours().faint, t.axes[1].title, 1);
}

/// Black or white, whichever has more contrast on `under`.
Colour ink_on(Colour under) {
  const double light = 0.299 * (under & 255) + 0.587 * ((under >> 8) & 255) + 0.114 * ((under >> 16) & 255);
  return light > 140 ? 0xff101010u : 0xfff4f4f4u;
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

}  // namespace

void draw_sweep_heat_map(const SweepScene& s, const Box& box) {
  const SweepTable& t = *s.state.drawing.table;
  const Box map = map_box(s.state.drawing, box);
  const float width = map.max.x - map.min.x, height = map.max.y - map.min.y;
  if (width < px(40) || height < px(40)) return;
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

}  // namespace attoscope::ui
