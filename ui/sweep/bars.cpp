// Means over named values, one line each, as a bar, or as a dot for each value of the second parameter.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The columns: names, bars, numbers.
struct Columns {
  float name, left, right, number, top, bottom;  ///< `number`: right edge of the numbers
  float row;                                     ///< height of a line
};

/// Horizontal position of a value, between the names and the numbers.
float to_x(const SweepRange& r, const Columns& c, double value) {
  const double t = r.log ? std::log(value / r.from) / std::log(r.to / r.from) : (value - r.from) / (r.to - r.from);
  return c.left + static_cast<float>(std::clamp(t, 0.0, 1.0)) * (c.right - c.left);
}

Columns columns_of(const SweepDrawing& d, const Box& box) {
  const SweepTable& t = *d.table;
  const float width = box.max.x - box.min.x, names = std::min(text_width(Face::mono, d.longest[0]), 0.4f * width);
  const bool one = t.axes.size() < 2;
  Columns c{};
  c.name = box.min.x + names;
  c.left = c.name + px(10);
  c.number = box.max.x - px(12);
  c.right = c.number - (one ? text_width(Face::mono, "-1.23e-12") + px(8) : px(4));
  c.top = box.min.y;
  c.bottom = box.max.y - px(36);
  c.row =
      std::clamp((c.bottom - c.top) / static_cast<float>(std::max<std::size_t>(1, t.axes[0].names.size())), px(22), px(160));
  return c;
}

void draw_scale(const SweepScene& s, const Columns& c, float bottom) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTicks ticks = value_ticks(d.y, std::max(2.0f, (c.right - c.left) / px(72)));
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const float x = std::floor(to_x(d.y, c, ticks.at[i]));
    list->AddLine({x, c.top}, {x, bottom}, faded(s.colours.line, 0.7f));
    draw_text({x, bottom + px(4)}, Face::mono_small, s.colours.secondary, ticks.texts[i], 0.5f);
  }
  if (d.table->of != "ratio" || d.y.from > 1 || d.y.to < 1) return;
  const float x = to_x(d.y, c, 1);
  draw_dashed(list, {x, c.top}, {x, bottom}, s.colours.secondary, px(5), px(4));
  draw_text({x + px(4), c.top - px(2)}, Face::small, s.colours.faint, "a = b");
}

/// Error bar of a mean.
void draw_spread(const SweepRange& r, const Columns& c, const SpreadEnds& ends, float y, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x0 = to_x(r, c, ends.low), x1 = to_x(r, c, ends.high), foot = px(4);
  list->AddLine({x0, y}, {x1, y}, colour, px(1.5f));
  for (const float x : {x0, x1}) list->AddLine({x, y - foot}, {x, y + foot}, colour, px(1.5f));
}

/// Base of the bars: at a = b, at the left end of a log axis, else at 0.
float base_of(const SweepDrawing& d, const Columns& c) {
  if (d.table->of == "ratio") return to_x(d.y, c, 1);
  return d.y.log ? c.left : to_x(d.y, c, 0);
}

void draw_bar(const SweepScene& s, const Columns& c, const SweepCell& cell, float y) {
  const SweepDrawing& d = s.state.drawing;
  const Colour colour = line_colour(*d.table, 0, s.session.view.theme);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float from = base_of(d, c), to = to_x(d.y, c, cell.mean), half = std::min(px(16), c.row * 0.26f);
  const float x0 = std::min(from, to), x1 = std::max({from, to, x0 + px(2)});
  list->AddRectFilled({x0, y - half}, {x1, y + half}, colour, px(2));
  if (std::isfinite(cell.rival)) {
    const float x = to_x(d.y, c, cell.rival);
    list->AddRectFilled({x - px(1.5f), y - half - px(3)}, {x + px(1.5f), y + half + px(3)}, s.colours.b);
  }
  if (d.table->seeds > 1) draw_spread(d.y, c, spread_ends(cell, d.spread), y, s.colours.text);
  draw_text({c.number, y - line_height(Face::mono) / 2}, Face::mono, s.colours.text, mean_text(d.extremes, cell.mean), 1);
}

/// One dot for each value of the second parameter, each a little below the last.
void draw_dots(const SweepScene& s, const Columns& c, int first, float y) {
  const SweepDrawing& d = s.state.drawing;
  const float step = std::min(px(20), (c.row - px(6)) / static_cast<float>(d.lines.size()));
  float at = y - step * static_cast<float>(d.lines.size() - 1) / 2;
  for (const SweepLine& line : d.lines) {
    const SweepCell& cell = *cell_at(*d.table, {first, line.second});
    const Colour colour = line_colour(*d.table, line.second, s.session.view.theme);
    if (cell.count > 0 && std::isfinite(cell.mean)) {
      if (d.table->seeds > 1 && d.lines.size() <= 6) draw_spread(d.y, c, spread_ends(cell, d.spread), at, faded(colour, 0.7f));
      ImGui::GetWindowDrawList()->AddCircleFilled({to_x(d.y, c, cell.mean), at}, px(4), colour);
    }
    at += step;
  }
}

/// Text of a line without a bar: an infinite mean, an error, or "·".
void draw_nothing(const SweepScene& s, const Columns& c, const SweepCell& cell, float y) {
  const std::string text = cell.count > 0    ? scientific(cell.mean)
                           : cell.error >= 0 ? s.state.drawing.table->errors[static_cast<std::size_t>(cell.error)]
                                             : "·";
  const bool bad = cell.count > 0 || cell.error >= 0;
  draw_text({c.left + px(4), y - line_height(Face::small) / 2}, Face::small, bad ? s.colours.bad : s.colours.faint,
            fitted(Face::small, text, c.number - c.left - px(8)));
}

/// Index of the second parameter whose dot is nearest to the mouse.
int nearest(const SweepDrawing& d, const Columns& c, int first, float x) {
  int best = 0;
  float least = 1e30f;
  for (const SweepLine& line : d.lines) {
    const SweepCell& cell = *cell_at(*d.table, {first, line.second});
    if (cell.count == 0 || !std::isfinite(cell.mean)) continue;
    if (const float away = std::abs(to_x(d.y, c, cell.mean) - x); away < least) least = away, best = line.second;
  }
  return best;
}

void draw_row(const SweepScene& s, const Columns& c, int i, const Box& clip) {
  const SweepTable& t = *s.state.drawing.table;
  const float top = c.top + static_cast<float>(i) * c.row, y = top + c.row / 2;
  if (s.state.pointed && (*s.state.pointed)[0] == i)
    ImGui::GetWindowDrawList()->AddRectFilled({clip.min.x, top}, {clip.max.x, top + c.row}, faded(s.colours.raised, 0.7f));
  const std::string& name = t.axes[0].names[static_cast<std::size_t>(i)];
  draw_text({c.name, y - line_height(Face::mono) / 2}, Face::mono, s.colours.text,
            fitted(Face::mono, name, c.name - clip.min.x), 1);
  const SweepCell& cell = *cell_at(t, {i, 0});
  if (t.axes.size() > 1 && i > 0)
    ImGui::GetWindowDrawList()->AddLine({c.left, top}, {c.right, top}, faded(s.colours.line, 0.5f));
  if (t.axes.size() > 1)
    draw_dots(s, c, i, y);
  else if (cell.count > 0 && std::isfinite(cell.mean))
    draw_bar(s, c, cell, y);
  else
    draw_nothing(s, c, cell, y);
}

/// Names of the second parameter's values in their colours, in one line; as many as fit.
void draw_legend(const SweepScene& s, ImVec2 at, float right) {
  for (const SweepLine& line : s.state.drawing.lines) {
    const float width = text_width(Face::mono_small, line.curve.label);
    if (at.x + px(12) + width > right) return;
    const Colour colour = line_colour(*s.state.drawing.table, line.second, s.session.view.theme);
    ImGui::GetWindowDrawList()->AddCircleFilled({at.x + px(4), at.y + px(7)}, px(4), colour);
    draw_text({at.x + px(12), at.y}, Face::mono_small, s.colours.text, line.curve.label);
    at.x += width + px(28);
  }
}

}  // namespace

void draw_sweep_bars(const SweepScene& s, const Box& box) {
  const SweepTable& t = *s.state.drawing.table;
  const bool two = t.axes.size() > 1;
  const float head = two ? px(20) : 0;
  if (two) draw_legend(s, box.min, box.max.x);
  const Box inner{{box.min.x, box.min.y + head}, box.max};
  Columns c = columns_of(s.state.drawing, inner);
  const int count = static_cast<int>(t.axes[0].names.size());
  const float shown = std::min(c.bottom - c.top, c.row * static_cast<float>(count));
  draw_scale(s, c, c.top + shown);
  draw_text({(c.left + c.right) / 2, c.top + shown + px(20)}, Face::small, s.colours.faint,
            t.measure + (s.state.drawing.y.log ? ", log" : ""), 0.5f);
  ImGui::SetCursorScreenPos(inner.min);
  ImGui::BeginChild("bars", {inner.max.x - inner.min.x, shown}, ImGuiChildFlags_None, ImGuiWindowFlags_NoBackground);
  c.top = ImGui::GetCursorScreenPos().y;
  const float from = inner.min.y - c.top;
  for (int i = std::max(0, static_cast<int>(from / c.row)); i < std::min(count, static_cast<int>((from + shown) / c.row) + 1);
       ++i)
    draw_row(s, c, i, inner);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const int under = static_cast<int>(std::floor((mouse.y - c.top) / c.row));
  std::optional<SweepPlace> place;
  if (under >= 0 && under < count) place = SweepPlace{under, nearest(s.state.drawing, c, under, mouse.x)};
  point_at(s, place, {{inner.min.x, c.top}, {inner.max.x, c.top + c.row * static_cast<float>(count)}});
  ImGui::EndChild();
}

}  // namespace attoscope
