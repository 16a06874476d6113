/// Common parts of all pictures of cells: layout, zoom and pan, axes and marks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "imgui.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// A rectangle on screen.
struct Box {
  ImVec2 min, max;
  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
  ImVec2 size() const { return {width(), height()}; }
};
/// The window without the bars at its top and bottom.
Box between_bars();

/// A plan, the middle beside it, and numbers at the right; in a narrow window the numbers share their place with the plan.
struct PlanLayout {
  Box plan, middle, numbers;
  bool narrow = false;
};
/// The layout of the window, from lengths at UI scale 1: the largest width of the plan in a narrow window, and the least and
/// largest width of the numbers in another.
PlanLayout plan_layout(float plan, float least, float most);

/// Draws the legend's field for masked pixels.
void draw_hatch(const Box& box, const Colouring& colouring);

void draw_colour_bar(const Box& box, const Colouring& colouring, const CellPicture& state);

/// Space reserved around a picture, at UI scale 1.
struct Margins {
  float side = 48;  ///< right of the picture, for a curve along the rows; 0: none
  float below = 0;  ///< for a curve along the columns; 0: none
  int bars = 1;     ///< number of colour bars
};

/// The rectangle of a picture and those of what surrounds it, in whole pixels.
struct Places : Box {
  Box side, below;    ///< the curves
  Box bars[2];        ///< the colour bars
  float caption = 0;  ///< top of the caption
};
Places places(ImVec2 from, ImVec2 to, const Margins& margins);

float to_y(const Places& p, const CellRect& rect, double row);
float to_x(const Places& p, const CellRect& rect, double col);

/// A point in a picture, in units of its axes.
struct Point {
  double row = 0, col = 0;
};
/// Point under the mouse if the last item is hovered.
std::optional<Point> hovered(const Places& p, const CellRect& rect);

/// Button over the picture: the wheel zooms (Shift: columns only, Ctrl: rows only), dragging pans, a double click shows all.
/// Returns the new visible part.
CellRect navigated(const char* label, const Places& p, const CellRect& rect, int rows, int cols);
/// Calls `act` for a click on the last item; a double click restores the traced row, tile and key, the pinned cell
/// and the pass that the strip follows.
void on_click(Session& session, UiState& state, const std::function<void()>& act);
/// A click on the last item traces the row and scrubs to the tile; a double click changes neither.
void trace_clicked(Session& session, UiState& state, int row, int tile);

/// Updates the picture's image at the resolution of the screen; true if it changed.
bool refresh_pixels(CellPicture& picture, const Places& p, const CellRect& rect);
/// Number of cells under a pixel of the screen, at least 1.
double cells_a_pixel(const CellPicture& picture, const Places& p, const CellRect& rect);
/// "each pixel shows the largest |value| of the 12 cells under it"
std::string sampling_text(const CellPicture& picture, const Places& p, const CellRect& rect);

/// A line around the picture; `dimmed`: a veil over it, because it answers an older question.
void draw_outline(const Places& p, bool dimmed = false);
void draw_row_axis(const Places& p, const CellRect& rect);
void draw_col_axis(const Places& p, const CellRect& rect);
/// Two lines under the picture: name of its columns, and a remark at the right.
void draw_caption(const Places& p, const std::string& columns, const std::string& remark);
/// Lines at every multiple of `block`; none if they would be closer than 4 pixels.
void draw_row_lines(const Places& p, const CellRect& rect, double block);
void draw_col_lines(const Places& p, const CellRect& rect, double block, double offset);
/// Sides of the picture with a triangle at the traced row.
enum class Sides { both, left, right };
void draw_traced(const Places& p, const CellRect& rect, int row, Sides sides = Sides::both);
/// Horizontal and vertical line through a point.
void draw_crosshair(const Places& p, const CellRect& rect, const Point& at);
void draw_cell_mark(const Places& p, const CellRect& rect, const RowSpan& rows, double col, double end_col);
/// Marks consumed columns: a bar above the picture, and a veil over the other columns.
void draw_consumed(const Places& p, const CellRect& rect, double from, double to);
/// The largest |value| of each row as a curve beside the picture.
void draw_row_worst(const Places& p, const CellRect& rect, const CellPicture& picture, double largest, Colour colour);
/// Draws a sentence instead of the picture.
void draw_instead(const Places& p, const std::string& sentence);

/// A line of a note.
struct NoteLine {
  Colour colour;
  std::string text;
};
/// A box with text near `at`, within `bounds`, never over `at`.
void draw_note(const Box& bounds, ImVec2 at, std::span<const NoteLine> lines);
/// A word in a corner of a picture: align 0 at its left, 1 at its right.
void draw_tag(ImVec2 corner, float align, const std::string& text, Colour colour);

/// A window without a title that fills the box.
void panel(const char* name, const Box& box, ImGuiWindowFlags flags, const std::function<void()>& draw);
/// Lines of one pixel at the left of a panel, and at its top if it is below another panel.
void draw_edges(const Box& box, bool top);

}  // namespace attoscope::ui
