/// Read-out of a cell: golden, a and b in decimal and bits, and errors.
#pragma once

#include "ui/picture/colour_bar.h"

namespace attoscope {

/// A cell of the result's matrices; row -1: none.
struct Cell {
  int row = -1, col = -1;
};

/// Draws the box near `at`, within `bounds`, never over the cell.
void draw_read_out(const Result& result, const Cell& cell, const Box& bounds, ImVec2 at);

}  // namespace attoscope
