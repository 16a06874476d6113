/// The heat map's data: which cells are seen, and the picture of them. No drawing.
#pragma once

#include "ui/memory.h"

namespace attoscope {

/// How many rows of the matrix there are for a row of Q: 1, or less while or where only some were computed.
double matrix_per_row(const HeatMemory& memory);
/// The row of the matrix that stands where row `row` of Q is.
int matrix_row_at(const HeatMemory& memory, double row);
/// The rows of Q, [first, end), over which a row of the matrix is drawn.
struct RowSpan {
  double first, end;
};
RowSpan row_span(const HeatMemory& memory, int matrix_row);
/// True if the result is a first answer: it holds fewer rows than its question asks for.
bool is_first_answer(const Result& result);

/// What `zoom` shows of a matrix: everything where it is empty or lies outside.
CellRect seen(const CellRect& zoom, int rows, int cols);
/// `rect` scaled about a cell; never smaller than 4 x 2 cells, never beyond the matrix.
CellRect zoomed(const CellRect& rect, double row, double col, double row_factor, double col_factor, int rows, int cols);
/// `rect` moved by cells, kept within the matrix.
CellRect panned(const CellRect& rect, double by_rows, double by_cols, int rows, int cols);
/// What is stored for `rect`: all zero where it is the whole matrix.
CellRect stored(const CellRect& rect, int rows, int cols);

/// Brings the field's values up to date; true if they changed.
bool refresh_values(HeatMemory& memory, const std::shared_ptr<const Result>& result, Field field);
/// Brings the picture of `rect` at width x height pixels up to date.
void refresh_image(HeatMemory& memory, const CellRect& rect, int width, int height);

/// The row of the result's matrices that holds `row` of Q, or -1.
int matrix_row(const Result& result, int row);

/// The range of the colour bar: pinned, or the largest finite |value| rounded up.
double colour_range(const HeatMemory& memory, const View& view);
Colouring colouring(const HeatMemory& memory, const View& view);

}  // namespace attoscope
