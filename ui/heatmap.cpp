// The middle panel: where every cell of the output is, and how far off.
#include <algorithm>
#include <cmath>

#include "ui/colour_bar.h"
#include "ui/heatmap_view.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/read_out.h"
#include "ui/sentences.h"
#include "ui/toolbar.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// The places of the panel, whole pixels.
struct Places {
  ImVec2 min, max;                    ///< the picture
  float profile_left, profile_right;  ///< the row error profile
  float bar_left, bar_right;
  float caption;  ///< top of the line under the picture
  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
};

Places places(ImVec2 from, ImVec2 to) {
  Places p;
  p.min = {std::floor(from.x + px(46)), std::floor(from.y + px(6))};
  p.bar_right = std::floor(to.x - px(60));
  p.bar_left = p.bar_right - std::floor(px(12));
  p.profile_right = p.bar_left - std::floor(px(14));
  p.profile_left = p.profile_right - std::floor(px(48));
  p.max = {std::max(p.min.x + 16, p.profile_left - std::floor(px(8))), std::max(p.min.y + 16, std::floor(to.y - px(34)))};
  p.caption = p.max.y + px(6);
  return p;
}

float to_y(const Places& p, const CellRect& seen, double row) {
  return p.min.y + static_cast<float>((row - seen.row0) / (seen.row1 - seen.row0)) * p.height();
}
float to_x(const Places& p, const CellRect& seen, double col) {
  return p.min.x + static_cast<float>((col - seen.col0) / (seen.col1 - seen.col0)) * p.width();
}

/// Zoom by wheel (Shift: columns only, Ctrl: rows only), pan by dragging, reset by double click.
CellRect navigated(const Places& p, CellRect rect, const HeatMemory& memory) {
  const ImGuiIO& io = ImGui::GetIO();
  const double per_x = (rect.col1 - rect.col0) / p.width(), per_y = (rect.row1 - rect.row0) / p.height();
  if (ImGui::IsItemHovered() && io.MouseWheel + io.MouseWheelH != 0) {
    const double factor = std::pow(0.85, io.MouseWheel != 0 ? io.MouseWheel : io.MouseWheelH);
    rect = zoomed(rect, rect.row0 + (io.MousePos.y - p.min.y) * per_y, rect.col0 + (io.MousePos.x - p.min.x) * per_x,
                  io.KeyShift ? 1 : factor, io.KeyCtrl ? 1 : factor, memory.n, memory.cols);
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left))
    rect = panned(rect, -io.MouseDelta.y * per_y, -io.MouseDelta.x * per_x, memory.n, memory.cols);
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) rect = seen({}, memory.n, memory.cols);
  return rect;
}

double tick_step(double span, double pixels, double least_pixels) {
  double step = 1;
  while (step / span * pixels < least_pixels) step *= 2;
  return step;
}

void draw_axes(const Places& p, const CellRect& rect, const Palette& colours) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = line_height(Face::mono_small) / 2;
  const double rows = tick_step(rect.row1 - rect.row0, p.height(), px(40));
  for (double r = std::ceil(rect.row0 / rows) * rows; r < rect.row1; r += rows) {
    const float y = to_y(p, rect, r);
    list->AddLine({p.min.x - px(4), y}, {p.min.x, y}, colours.line);
    draw_text({p.min.x - px(7), y - half}, Face::mono_small, colours.secondary, printed("%.0f", r), 1);
  }
  const double cols = tick_step(rect.col1 - rect.col0, p.width(), px(60));
  for (double c = std::ceil(rect.col0 / cols) * cols; c < rect.col1; c += cols) {
    const float x = to_x(p, rect, c + 0.5);
    if (x > p.max.x) break;
    list->AddLine({x, p.max.y}, {x, p.max.y + px(3)}, colours.line);
    draw_text({x, p.caption - px(2)}, Face::mono_small, colours.secondary, printed("%.0f", c), 0.5f);
  }
}

/// Lines where a new row of tiles begins; none where they would be closer than 4 pixels.
void draw_tiles(const Places& p, const CellRect& rect, const Result& result, const Palette& colours) {
  const double block = std::max(1, std::min(result.experiment.a.block_q, result.experiment.problem.n));
  if (block * p.height() / (rect.row1 - rect.row0) < px(4)) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (double row = std::max(1.0, std::ceil(rect.row0 / block)) * block; row < rect.row1; row += block) {
    const float y = std::floor(to_y(p, rect, row)) + 0.5f;
    list->AddLine({p.min.x, y}, {p.max.x, y}, faded(colours.panel, 0.6f));
    list->AddLine({p.min.x, y + 1}, {p.max.x, y + 1}, faded(colours.text, 0.6f));
  }
}

/// The largest |value| of each row as a curve beside the picture.
void draw_profile(const Places& p, const CellRect& rect, const HeatMemory& memory, Colour colour) {
  const int lines = static_cast<int>(p.height());
  const float room = p.profile_right - p.profile_left;
  std::vector<ImVec2> points;
  points.reserve(static_cast<std::size_t>(lines));
  const double per_line = (rect.row1 - rect.row0) / lines, scale = matrix_per_row(memory);
  for (int i = 0; i < lines; ++i) {
    const int first = matrix_row_at(memory, rect.row0 + i * per_line);
    const int end = std::clamp(static_cast<int>(std::ceil((rect.row0 + (i + 1) * per_line) * scale)), first + 1, memory.rows);
    const float worst = *std::max_element(memory.row_worst.begin() + first, memory.row_worst.begin() + end);
    const float t = memory.largest > 0 ? std::min(1.0f, worst / memory.largest) : (worst > 0 ? 1.0f : 0.0f);
    points.push_back({p.profile_left + t * room, p.min.y + static_cast<float>(i) + 0.5f});
  }
  ImGui::GetWindowDrawList()->AddPolyline(points.data(), lines, colour, 0, px(1));
}

void draw_traced(const Places& p, const CellRect& rect, const Result& result, const Palette& colours) {
  const float y = to_y(p, rect, result.trace.row + 0.5);
  if (y < p.min.y || y > p.max.y) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float s = px(5);
  list->AddTriangleFilled({p.min.x - 1, y}, {p.min.x - 1 - s, y - s}, {p.min.x - 1 - s, y + s}, colours.text);
  list->AddTriangleFilled({p.max.x + 1, y}, {p.max.x + 1 + s, y + s}, {p.max.x + 1 + s, y - s}, colours.text);
}

/// The cell under the mouse, or the pinned one; row of the matrix. row -1: none.
Cell cell_to_read(const Places& p, const CellRect& rect, const HeatMemory& memory, const View& view) {
  if (ImGui::IsItemHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const double row = rect.row0 + (mouse.y - p.min.y) / p.height() * (rect.row1 - rect.row0);
    const double col = rect.col0 + (mouse.x - p.min.x) / p.width() * (rect.col1 - rect.col0);
    return {matrix_row_at(memory, row), std::clamp(static_cast<int>(col), 0, memory.cols - 1)};
  }
  if (view.cell_row < 0 || view.cell_col < 0 || view.cell_col >= memory.cols) return {};
  return {matrix_row(*memory.result, view.cell_row), view.cell_col};
}

/// A click pins the cell and traces its row; a click on the pinned cell lets it go.
void pin(Session& session, const Cell& cell, HeatMemory& memory) {
  const int row = memory.result->rows[static_cast<std::size_t>(cell.row)];
  View& view = session.view;
  memory.earlier_cell_row = view.cell_row;
  memory.earlier_cell_col = view.cell_col;
  memory.earlier_traced_row = session.experiment.problem.traced_row;
  const bool again = view.cell_row == row && view.cell_col == cell.col;
  view.cell_row = again ? -1 : row;
  view.cell_col = again ? -1 : cell.col;
  session.experiment.problem.traced_row = row;
}

/// The second click of a double click takes back what the first one pinned.
void unpin(Session& session, const HeatMemory& memory) {
  session.view.cell_row = memory.earlier_cell_row;
  session.view.cell_col = memory.earlier_cell_col;
  session.experiment.problem.traced_row = memory.earlier_traced_row;
}

/// What a released mouse button means for the cell under it.
void clicked(Session& session, const Cell& cell, HeatMemory& memory) {
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  if (!ImGui::IsItemDeactivated() || !ImGui::IsItemHovered() || std::hypot(drag.x, drag.y) >= px(4)) return;
  const int clicks = ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left];
  if (clicks == 2) unpin(session, memory);
  if (clicks == 1) pin(session, cell, memory);
}

void draw_cell_mark(const Places& p, const CellRect& rect, const RowSpan& rows, int col, const Palette& colours) {
  const ImVec2 from{std::floor(to_x(p, rect, col)) - 1, std::floor(to_y(p, rect, rows.first)) - 1};
  const ImVec2 to{std::max(from.x + px(5), std::ceil(to_x(p, rect, col + 1)) + 1),
                  std::max(from.y + px(5), std::ceil(to_y(p, rect, rows.end)) + 1)};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect({from.x - 1, from.y - 1}, {to.x + 1, to.y + 1}, colours.panel, 0, px(1));
  list->AddRect(from, to, colours.text, 0, px(1));
}

std::string caption(const CellRect& rect, const Places& p, const HeatMemory& memory) {
  const double scale = ImGui::GetIO().DisplayFramebufferScale.x;
  const double cells = (rect.row1 - rect.row0) * matrix_per_row(memory) / (p.height() * scale), across = (rect.col1 - rect.col0) / (p.width() * scale);
  const double under = std::max(1.0, std::ceil(cells)) * std::max(1.0, std::ceil(across));
  if (under > 1) return printed("each pixel shows the largest |value| of the %.0f cells under it", under);
  return "each cell is at least one pixel";
}

/// The mark and the read-out of a cell, and what a click on it means.
void read_cell(Session& session, const Cell& cell, HeatMemory& memory, const Places& p, const CellRect& rect,
               const Palette& colours) {
  clicked(session, cell, memory);
  const double row = memory.result->rows[static_cast<std::size_t>(cell.row)];
  const RowSpan rows = ImGui::IsItemHovered() ? row_span(memory, cell.row) : RowSpan{row, row + 1};
  draw_cell_mark(p, rect, rows, cell.col, colours);
  draw_read_out(*memory.result, cell, {{p.min.x, p.min.y}, {p.max.x, p.max.y}},
                {to_x(p, rect, cell.col + 0.5), to_y(p, rect, (rows.first + rows.end) / 2)}, colours);
}

/// The mark of a pinned cell whose row is not among the computed ones: it keeps its place.
void await_cell(const View& view, const HeatMemory& memory, const Places& p, const CellRect& rect, const Palette& colours) {
  const int row = view.cell_row, col = view.cell_col;
  if (row < 0 || row >= memory.n || col < 0 || col >= memory.cols || row + 1 <= rect.row0 || row >= rect.row1) return;
  draw_cell_mark(p, rect, {static_cast<double>(row), row + 1.0}, col, colours);
  const std::string text = printed("row %d, dim %d: ", row, col) +
                           (is_first_answer(*memory.result) ? "on its way" : "not among the computed rows");
  const float y = to_y(p, rect, row) - px(24), x = std::clamp(to_x(p, rect, col), p.min.x, std::max(p.min.x, p.max.x - px(260)));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 from{x + px(8), std::max(p.min.y + px(4), y)};
  const ImVec2 to{from.x + text_width(Face::mono_small, text) + px(16), from.y + px(20)};
  list->AddRectFilled(from, to, faded(colours.background, 0.96f), px(4));
  list->AddRect(from, to, colours.line, px(4));
  draw_text({from.x + px(8), from.y + px(4)}, Face::mono_small, colours.secondary, text);
}

void draw_picture(Session& session, const Frame& frame, HeatMemory& memory, const Palette& colours, const Places& p) {
  const Result& result = *memory.result;
  CellRect rect = seen(session.view.zoom, memory.n, memory.cols);
  ImGui::SetCursorScreenPos(p.min);
  ImGui::InvisibleButton("picture", {p.width(), p.height()});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const CellRect moved = navigated(p, rect, memory);
  if (!(moved == rect)) session.view.zoom = stored(rect = moved, memory.n, memory.cols);

  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  refresh_image(memory, rect, std::max(1, static_cast<int>(std::lround(p.width() * scale.x))),
                std::max(1, static_cast<int>(std::lround(p.height() * scale.y))));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Colouring how = colouring(memory, session.view);
  if (frame.paint) frame.paint(list, p.min, p.max, memory.image, how);
  if (session.view.show_tiles) draw_tiles(p, rect, result, colours);
  if (is_stale(frame)) list->AddRectFilled(p.min, p.max, faded(colours.panel, 0.35f));
  list->AddRect({p.min.x - 1, p.min.y - 1}, {p.max.x + 1, p.max.y + 1}, colours.line);

  draw_axes(p, rect, colours);
  draw_profile(p, rect, memory, field_colour(memory.field, colours));
  draw_traced(p, rect, result, colours);
  draw_colour_bar({{p.bar_left, p.min.y}, {p.bar_right, p.max.y}}, how, memory, colours);
  const std::string note = caption(rect, p, memory);
  if (text_width(Face::small, note + "head dimension") + px(20) < p.width())
    draw_text({p.min.x, p.caption + px(14)}, Face::small, colours.faint, "head dimension");
  draw_text({p.max.x, p.caption + px(14)}, Face::small, colours.faint, fitted(Face::small, note, p.width()), 1);

  const Cell cell = cell_to_read(p, rect, memory, session.view);
  if (cell.row >= 0)
    read_cell(session, cell, memory, p, rect, colours);
  else
    await_cell(session.view, memory, p, rect, colours);
}

}  // namespace

void draw_heatmap(Session& session, const Frame& frame, UiMemory& all, const Palette& colours) {
  HeatMemory& memory = all.heat;
  refresh_values(memory, frame.result, session.view.field);
  draw_toolbar(session, memory, colours);
  draw_probe_sentence(session, frame, all, colours);
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const ImVec2 to{from.x + room.x, from.y + room.y};
  if (memory.rows > 0 && memory.cols > 0) return draw_picture(session, frame, memory, colours, places(from, to));
  const Places p = places(from, to);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect({p.min.x - 1, p.min.y - 1}, {p.max.x + 1, p.max.y + 1}, colours.line);
  draw_text({(p.min.x + p.max.x) / 2, (p.min.y + p.max.y) / 2 - px(8)}, Face::label, colours.faint,
            frame.computing ? "computing the first picture" : "no answer yet", 0.5f);
}

}  // namespace attoscope
