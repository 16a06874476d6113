/// The pictures' data: which cells are seen, and the picture of them. No drawing.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

/// The row of the matrix that stands where row `row` of Q is.
int matrix_row_at(const CellPicture& picture, double row);
/// The column of the matrix that stands at `col` of the picture's axis.
int matrix_col_at(const CellPicture& picture, double col);
/// The rows of Q, [first, end), over which a row of the matrix is drawn.
struct RowSpan {
  double first, end;
};
RowSpan row_span(const CellPicture& picture, int matrix_row);

/// What `zoom` shows of a matrix: everything where it is empty or lies outside.
CellRect seen(const CellRect& zoom, int rows, int cols);
/// `rect` scaled about a cell; never smaller than 4 x 2 cells, never beyond the matrix.
CellRect zoomed(const CellRect& rect, double row, double col, double row_factor, double col_factor, int rows, int cols);
/// `rect` moved by cells, kept within the matrix.
CellRect panned(const CellRect& rect, double by_rows, double by_cols, int rows, int cols);
/// What is stored for `rect`: all zero where it is the whole matrix.
CellRect stored(const CellRect& rect, int rows, int cols);

/// Brings the field's values up to date; true if they changed.
bool refresh_values(HeatState& state, const std::shared_ptr<const Result>& result, Field field);
/// What follows from the values: the largest of each row and of all, NaN and infinities; the image is to be made again.
void measure(CellPicture& picture);
/// Brings the picture of `rect` at width x height pixels up to date; true if it changed.
bool refresh_image(CellPicture& picture, const CellRect& rect, int width, int height);
/// Empties the pixels under which no row sees a key. A column of the picture is `keys_per_col` keys.
void hide_unseen(CellPicture& picture, const Problem& problem, int keys_per_col, bool reversed);
/// "each pixel shows the largest |value| of the 12 cells under it"
std::string sampling_text(const CellPicture& picture, const CellRect& rect, double width, double height);

/// The row of the result's matrices that holds `row` of Q, or -1.
int matrix_row(const Result& result, int row);

/// How the picture on show is looked at, to be changed.
struct Looked {
  CellRect& zoom;
  bool& range_pinned;
  double& range;
};
Looked looked(View& view);
/// The picture on show.
const CellPicture& shown_picture(const UiState& state, const View& view);

/// The range of a colour bar where it is not pinned: the largest finite |value| rounded up.
double automatic_range(double largest);
/// The range of the colour bar on show: pinned, else held while a control is moved, else automatic.
double colour_range(const UiState& state, const View& view);
/// The range of the second field's colour bar: the first one's where both are in one unit.
double second_colour_range(const UiState& state, const View& view);
/// The largest finite |value| that the range of the colour bar on show has to hold.
double largest_shown(const UiState& state, const View& view);
/// Ends a frame: its ranges are those that may be held in the next one.
void note_ranges(UiState& state, const View& view);
/// Pins the range on show, or lets it follow the values again.
void toggle_pinned_range(const UiState& state, View& view);
/// The range becomes that of the values now, pinned or not.
void fit_range(UiState& state, View& view);
/// How a picture's values become colours.
Colouring colouring(bool diverging, double range, const View& view);

/// Whether two fields are in the same unit, so that one range serves both.
bool same_unit(Field x, Field y);

}  // namespace attoscope
