#include "ui/picture/picture_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

Box between_bars() {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const ImVec2 from{view->Pos.x, view->Pos.y + px(36)};
  return {from, {view->Pos.x + view->Size.x, std::max(from.y + px(80), view->Pos.y + view->Size.y - px(26))}};
}

PlanLayout plan_layout(float plan, float least, float most) {
  const auto& [from, to] = between_bars();
  const float width = to.x - from.x;
  if (width < px(1160)) {
    const float left = std::floor(from.x + std::min(px(plan), 0.45f * width));
    return {{from, {left, to.y}}, {{left, from.y}, to}, {from, {left, to.y}}, true};
  }
  const float left = std::floor(from.x + px(316)), right = std::floor(to.x - std::clamp(0.28f * width, px(least), px(most)));
  return {{from, {left, to.y}}, {{left, from.y}, {right, to.y}}, {{right, from.y}, to}};
}

Places places(ImVec2 from, ImVec2 to, const Margins& m) {
  Places p;
  const float bar = std::floor(px(12)), labels = std::floor(px(60));
  float right = to.x;
  for (int i = m.bars - 1; i >= 0; --i) {
    p.bars[i].max.x = std::floor(right - labels);
    p.bars[i].min.x = p.bars[i].max.x - bar;
    right = p.bars[i].min.x - std::floor(px(14));
  }
  const float side = std::floor(px(m.side)), below = std::floor(px(m.below)), gap = std::floor(px(8));
  p.min = {std::floor(from.x + px(46)), std::floor(from.y + px(8))};
  p.max = {std::max(p.min.x + 16, right - (side > 0 ? side + gap : 0)),
           std::max(p.min.y + 16, std::floor(to.y - px(34)) - (below > 0 ? below + 2 * gap : 0))};
  for (Box& each : p.bars) {
    each.min.y = p.min.y;
    each.max.y = p.max.y;
  }
  p.side = {{p.max.x + gap, p.min.y}, {p.max.x + gap + side, p.max.y}};
  p.below = {{p.min.x, p.max.y + std::floor(px(22))}, {p.max.x, p.max.y + std::floor(px(22)) + below}};
  p.caption = (below > 0 ? p.below.max.y - std::floor(px(8)) : p.max.y) + px(6);
  return p;
}

float to_y(const Places& p, const CellRect& rect, double row) {
  return p.min.y + static_cast<float>((row - rect.row0) / (rect.row1 - rect.row0)) * p.height();
}
float to_x(const Places& p, const CellRect& rect, double col) {
  return p.min.x + static_cast<float>((col - rect.col0) / (rect.col1 - rect.col0)) * p.width();
}

std::optional<Point> hovered(const Places& p, const CellRect& rect) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_NoNavOverride)) return {};
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  return Point{rect.row0 + (mouse.y - p.min.y) / p.height() * (rect.row1 - rect.row0),
               rect.col0 + (mouse.x - p.min.x) / p.width() * (rect.col1 - rect.col0)};
}

CellRect navigated(const char* label, const Places& p, const CellRect& from, int rows, int cols) {
  ImGui::SetCursorScreenPos(p.min);
  ImGui::SetNextItemAllowOverlap();
  ImGui::InvisibleButton(label, {p.width(), p.height()}, ImGuiButtonFlags_EnableNav);
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const ImGuiIO& io = ImGui::GetIO();
  CellRect rect = from;
  const bool under_mouse = ImGui::IsItemHovered(ImGuiHoveredFlags_NoNavOverride);
  const double per_x = (rect.col1 - rect.col0) / p.width(), per_y = (rect.row1 - rect.row0) / p.height();
  if (under_mouse && io.MouseWheel + io.MouseWheelH != 0) {
    const double factor = std::pow(0.85, io.MouseWheel != 0 ? io.MouseWheel : io.MouseWheelH);
    rect = zoomed(rect, rect.row0 + (io.MousePos.y - p.min.y) * per_y, rect.col0 + (io.MousePos.x - p.min.x) * per_x,
                  io.KeyShift ? 1 : factor, io.KeyCtrl ? 1 : factor, rows, cols);
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left))
    rect = panned(rect, -io.MouseDelta.y * per_y, -io.MouseDelta.x * per_x, rows, cols);
  if (under_mouse && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) rect = seen({}, rows, cols);
  return rect;
}

void on_click(Session& session, UiState& state, const std::function<void()>& act) {
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  if (!ImGui::IsItemDeactivated() || !ImGui::IsItemHovered() || std::hypot(drag.x, drag.y) >= px(4)) return;
  View& view = session.view;
  const int count = ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left];
  auto now = std::tie(session.experiment.problem.traced_row, view.scrubbed_tile, view.cell_row, view.cell_col, view.traced_key,
                      view.follows_key, view.follows_forward);
  if (count == 2) now = state.before_click;
  if (count != 1) return;
  state.before_click = now;
  act();
}

void trace_clicked(Session& session, UiState& state, int row, int tile) {
  on_click(session, state, [&] {
    session.experiment.problem.traced_row = row;
    session.view.scrubbed_tile = tile;
  });
}

bool refresh_pixels(CellPicture& picture, const Places& p, const CellRect& rect) {
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  return refresh_image(picture, rect, std::max(1, static_cast<int>(std::lround(p.width() * scale.x))),
                       std::max(1, static_cast<int>(std::lround(p.height() * scale.y))));
}

double cells_a_pixel(const CellPicture& picture, const Places& p, const CellRect& rect) {
  const double scale = ImGui::GetIO().DisplayFramebufferScale.x, width = p.width() * scale, height = p.height() * scale;
  const double down = (rect.row1 - rect.row0) * picture.per_row / height, across = (rect.col1 - rect.col0) / width;
  return std::max(1.0, std::ceil(down)) * std::max(1.0, std::ceil(across));
}

std::string sampling_text(const CellPicture& picture, const Places& p, const CellRect& rect) {
  const double under = cells_a_pixel(picture, p, rect);
  if (under > 1) return fmt::format("each pixel shows the largest |value| of the {:.0f} cells under it", under);
  return "each cell is at least one pixel";
}

namespace {

double tick_step(double span, double pixels, double least_pixels) {
  double step = 1;
  while (step / span * pixels < least_pixels) step *= 2;
  return step;
}

/// A dark line with a bright one beside it, visible on every colour.
void draw_grid_line(ImVec2 from, ImVec2 to, ImVec2 beside) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine(from, to, faded(colours().panel, 0.5f));
  list->AddLine({from.x + beside.x, from.y + beside.y}, {to.x + beside.x, to.y + beside.y}, faded(colours().text, 0.45f));
}

/// Values to label, the most important first; drawing skips those too close to an earlier one.
std::vector<double> tick_values(const Colouring& c) {
  std::vector<double> ticks{c.range};
  const auto both = [&](double x) {
    ticks.push_back(x);
    if (c.diverging) ticks.push_back(-x);
  };
  if (c.diverging) ticks.push_back(-c.range);
  ticks.push_back(0);
  if (!c.log) {
    for (const double t : {0.5, 0.25, 0.75}) both(t * c.range);
    return ticks;
  }
  const int top = static_cast<int>(std::floor(std::log10(static_cast<double>(c.range)) - 1e-9));
  for (int e = top; e > top - 3; --e) both(std::pow(10.0, e));
  return ticks;
}

struct Marker {
  bool present;
  float value;
  const char* name;
};

}  // namespace

void draw_outline(const Places& p, bool dimmed) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (dimmed) list->AddRectFilled(p.min, p.max, faded(colours().panel, 0.35f));
  list->AddRect({p.min.x - 1, p.min.y - 1}, {p.max.x + 1, p.max.y + 1}, colours().line);
}

void draw_row_axis(const Places& p, const CellRect& rect) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = line_height(Face::mono_small) / 2;
  const double rows = tick_step(rect.row1 - rect.row0, p.height(), px(40));
  for (double r = std::ceil(rect.row0 / rows) * rows; r < rect.row1; r += rows) {
    const float y = to_y(p, rect, r);
    list->AddLine({p.min.x - px(4), y}, {p.min.x, y}, colours().line);
    draw_text({p.min.x - px(7), y - half}, Face::mono_small, colours().secondary, fmt::format("{:.0f}", r), 1);
  }
}

void draw_col_axis(const Places& p, const CellRect& rect) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double cols = tick_step(rect.col1 - rect.col0, p.width(), px(60));
  for (double c = std::ceil(rect.col0 / cols) * cols; c < rect.col1; c += cols) {
    const float x = to_x(p, rect, c + 0.5);
    if (x > p.max.x) break;
    list->AddLine({x, p.max.y}, {x, p.max.y + px(3)}, colours().line);
    draw_text({x, p.max.y + px(4)}, Face::mono_small, colours().secondary, fmt::format("{:.0f}", c), 0.5f);
  }
}

void draw_caption(const Places& p, const std::string& columns, const std::string& remark) {
  if (text_width(Face::small, remark + columns) + px(20) < p.width())
    draw_text({p.min.x, p.caption + px(14)}, Face::small, colours().faint, columns);
  draw_fitted({p.max.x, p.caption + px(14)}, Face::small, colours().faint, remark, p.width() + px(40), 1);
}

void draw_row_lines(const Places& p, const CellRect& rect, double block) {
  if (block * p.height() / (rect.row1 - rect.row0) < px(4)) return;
  for (double row = std::max(1.0, std::ceil(rect.row0 / block)) * block; row < rect.row1; row += block) {
    const float y = std::floor(to_y(p, rect, row)) + 0.5f;
    draw_grid_line({p.min.x, y}, {p.max.x, y}, {0, 1});
  }
}

void draw_col_lines(const Places& p, const CellRect& rect, double block, double offset) {
  if (block * p.width() / (rect.col1 - rect.col0) < px(4)) return;
  const double first = std::floor((rect.col0 - offset) / block) + 1;
  for (double col = first * block + offset; col < rect.col1; col += block) {
    const float x = std::floor(to_x(p, rect, col)) + 0.5f;
    draw_grid_line({x, p.min.y}, {x, p.max.y}, {1, 0});
  }
}

void draw_traced(const Places& p, const CellRect& rect, int row, Sides sides) {
  const float y = to_y(p, rect, row + 0.5);
  if (y < p.min.y || y > p.max.y) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float s = px(5);
  if (sides != Sides::right)
    list->AddTriangleFilled({p.min.x - 1, y}, {p.min.x - 1 - s, y - s}, {p.min.x - 1 - s, y + s}, colours().text);
  if (sides != Sides::left)
    list->AddTriangleFilled({p.max.x + 1, y}, {p.max.x + 1 + s, y + s}, {p.max.x + 1 + s, y - s}, colours().text);
}

void draw_crosshair(const Places& p, const CellRect& rect, const Point& at) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x = std::floor(to_x(p, rect, at.col)) + 0.5f, y = std::floor(to_y(p, rect, at.row)) + 0.5f;
  for (const auto& [colour, off] :
       {std::pair{faded(colours().panel, 0.55f), 1.0f}, std::pair{faded(colours().text, 0.55f), 0.0f}}) {
    if (y > p.min.y && y < p.max.y) list->AddLine({p.min.x, y + off}, {p.max.x, y + off}, colour);
    if (x > p.min.x && x < p.max.x) list->AddLine({x + off, p.min.y}, {x + off, p.max.y}, colour);
  }
}

void draw_cell_mark(const Places& p, const CellRect& rect, const RowSpan& rows, double col, double end_col) {
  const ImVec2 from{std::floor(to_x(p, rect, col)) - 1, std::floor(to_y(p, rect, rows.first)) - 1};
  const ImVec2 to{std::max(from.x + px(5), std::ceil(to_x(p, rect, end_col)) + 1),
                  std::max(from.y + px(5), std::ceil(to_y(p, rect, rows.end)) + 1)};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect({p.min.x - px(4), p.min.y - px(4)}, {p.max.x + px(4), p.max.y + px(4)}, true);
  list->AddRect({from.x - 1, from.y - 1}, {to.x + 1, to.y + 1}, colours().panel, 0, px(1));
  list->AddRect(from, to, colours().text, 0, px(1));
  list->PopClipRect();
}

void draw_consumed(const Places& p, const CellRect& rect, double from, double to) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x0 = std::clamp(to_x(p, rect, from), p.min.x, p.max.x), x1 = std::clamp(to_x(p, rect, to), p.min.x, p.max.x);
  const float top = p.min.y - px(5), bottom = p.min.y - px(2);
  list->AddRectFilled({p.min.x, top}, {p.max.x, bottom}, colours().line);
  list->AddRectFilled({x0, top}, {x1, bottom}, colours().a);
  list->AddRectFilled(p.min, {x0, p.max.y}, faded(colours().panel, 0.5f));
  list->AddRectFilled({x1, p.min.y}, p.max, faded(colours().panel, 0.5f));
}

void draw_row_worst(const Places& p, const CellRect& rect, const CellPicture& picture, double largest, Colour colour) {
  const int lines = static_cast<int>(p.height());
  const float room = p.side.width();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double per_line = (rect.row1 - rect.row0) / lines;
  for (int i = 0; i < lines; ++i) {
    const int first = matrix_row_at(picture, rect.row0 + i * per_line);
    const double after = (rect.row0 + (i + 1) * per_line - picture.first_row) * picture.per_row;
    const int end = std::clamp(static_cast<int>(std::ceil(after)), first + 1, picture.rows);
    const float worst = *std::max_element(picture.row_worst.begin() + first, picture.row_worst.begin() + end);
    const float t = largest > 0 ? std::min(1.0f, worst / static_cast<float>(largest)) : (worst > 0 ? 1.0f : 0.0f);
    list->PathLineTo({p.side.min.x + t * room, p.min.y + static_cast<float>(i) + 0.5f});
  }
  list->PathStroke(colour, 0, px(1));
}

void draw_instead(const Places& p, const std::string& sentence) {
  draw_outline(p);
  take_room(p.min, {p.width(), p.height()});
  const float width = std::min(px(460), p.width() - px(24));
  const float lines = std::ceil(text_width(Face::label, sentence) / width);
  if (lines <= 1) {
    draw_text({(p.min.x + p.max.x) / 2, (p.min.y + p.max.y) / 2 - px(8)}, Face::label, colours().secondary, sentence, 0.5f);
    return;
  }
  ImGui::SetCursorScreenPos({(p.min.x + p.max.x - width) / 2, (p.min.y + p.max.y) / 2 - lines * px(9)});
  paragraph(Face::label, colours().secondary, sentence, width);
}

void draw_note(const Box& bounds, ImVec2 at, std::span<const NoteLine> lines) {
  const float line = std::floor(px(18)), pad = std::floor(px(10));
  float width = 0;
  for (const NoteLine& l : lines) width = std::max(width, text_width(Face::mono_small, l.text));
  width += 2 * pad;
  const float height = static_cast<float>(lines.size()) * line + px(10);
  ImVec2 from{at.x + px(16), at.y - height - px(12)};
  if (from.y < bounds.min.y + px(4)) from.y = at.y + px(16);
  if (from.x + width > bounds.max.x - px(4)) from.x = at.x - px(16) - width;
  from.x = std::max(from.x, bounds.min.x + px(4));
  from.y = std::min(from.y, bounds.max.y - height - px(4));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, {from.x + width, from.y + height}, faded(colours().background, 0.96f), px(4));
  list->AddRect(from, {from.x + width, from.y + height}, colours().line, px(4));
  float y = from.y + px(6);
  for (const NoteLine& l : lines) {
    draw_text(list, {from.x + pad, y}, Face::mono_small, l.colour, l.text);
    y += line;
  }
}

void draw_tag(ImVec2 corner, float align, const std::string& text, Colour colour) {
  const float width = text_width(Face::small, text) + px(16), height = px(20), gap = px(6);
  const ImVec2 from{align > 0 ? corner.x - width - gap : corner.x + gap, corner.y + gap};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, {from.x + width, from.y + height}, faded(colours().background, 0.9f), px(3));
  draw_text(list, {from.x + px(8), from.y + px(3)}, Face::small, colour, text);
}

void panel(const char* name, const Box& box, ImGuiWindowFlags flags, const std::function<void()>& draw) {
  ImGui::SetNextWindowPos(box.min);
  ImGui::SetNextWindowSize(box.size());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(10)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  const bool open = ImGui::Begin(name, nullptr,
                                 flags | ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                                     ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar(3);
  if (open) draw();
  ImGui::End();
}

void draw_edges(const Box& box, bool top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({box.min.x, box.min.y}, {box.min.x, box.max.y}, colours().line);
  if (top) list->AddLine({box.min.x, box.min.y}, {box.max.x, box.min.y}, colours().line);
}

void draw_hatch(const Box& box, const Colouring& c) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = box.height();
  list->AddRectFilled(box.min, box.max, colour(PixelImage::nothing, c));
  list->PushClipRect(box.min, box.max, true);
  for (float x = box.min.x - height; x < box.max.x; x += px(5))
    list->AddLine({x, box.max.y}, {x + height, box.min.y}, colour(PixelImage::masked, c), px(1.5f));
  list->PopClipRect();
  list->AddRect(box.min, box.max, colours().line);
}

void draw_colour_bar(const Box& box, const Colouring& c, const CellPicture& state) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Marker markers[] = {{state.has_nan, std::numeric_limits<float>::quiet_NaN(), "NaN"},
                            {state.has_infinity, inf, "+inf"},
                            {state.has_minus_infinity, -inf, "-inf"},
                            {state.has_masked, PixelImage::masked, "masked"}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float line = line_height(Face::mono_small), width = box.width();
  float bottom = box.max.y;
  for (const Marker& m : markers) {
    if (!m.present) continue;
    const float top = bottom - width;
    if (m.value == PixelImage::masked)
      draw_hatch({{box.min.x, top}, {box.max.x, bottom}}, c);
    else
      list->AddRectFilled({box.min.x, top}, {box.max.x, bottom}, colour(m.value, c));
    draw_text({box.max.x + px(8), top + (width - line) / 2}, Face::mono_small, colours().text, m.name);
    bottom = top - px(6);
  }
  const float height = bottom - box.min.y;
  if (height < px(40)) return;
  constexpr int parts = 96;
  Colour above = colour(c.range, c);
  for (int i = 0; i < parts; ++i) {
    const Colour below = colour(bar_value(1 - static_cast<float>(i + 1) / parts, c), c);
    list->AddRectFilledMultiColor({box.min.x, box.min.y + height * static_cast<float>(i) / parts},
                                  {box.max.x, box.min.y + height * static_cast<float>(i + 1) / parts}, above, above, below,
                                  below);
    above = below;
  }
  std::vector<float> taken;
  for (const double value : tick_values(c)) {
    const float y = box.min.y + (1 - bar_position(static_cast<float>(value), c)) * height;
    const float text_y = std::clamp(y - line / 2, box.min.y - px(2), bottom - line + px(2));
    if (std::any_of(taken.begin(), taken.end(), [&](float other) { return std::abs(other - text_y) < 1.3f * line; })) continue;
    taken.push_back(text_y);
    list->AddLine({box.max.x, y}, {box.max.x + px(4), y}, colours().secondary);
    const bool end = std::abs(value) == static_cast<double>(c.range);
    draw_text({box.max.x + px(8), text_y}, Face::mono_small, end ? colours().text : colours().secondary, compact(value));
  }
}

}  // namespace attoscope::ui
