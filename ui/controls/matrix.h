/// The matrix of the controls: names of the rows at the left, a column for a and a column for b at the right.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

inline constexpr float matrix_header_height = 22;  ///< height of combos and buttons above the cells, at UI scale 1

/// Places of the columns, in pixels.
struct MatrixPlace {
  std::array<float, 2> left{};  ///< left edges of a and of b
  float width = 0;              ///< width of a column
  float names = 0;              ///< width of the names at the left
};
/// Columns for the available width at the cursor; the names are at least `least_names` wide.
MatrixPlace matrix_place(float least_names);
/// Height of each of `rows` rows that fill the panel below the cursor; a fixed height, with scrolling, if they do not fit.
float matrix_row_height(int rows);

/// Draws the control of a (0) or b (1) at the cursor.
using DrawColumn = std::function<void(std::size_t column)>;

/// A line of combos and buttons with its title.
void matrix_header(const MatrixPlace& place, const char* title, const DrawColumn& draw);

/// A combo in a column of a header line.
struct ColumnCombo {
  Colour colour;  ///< colour of the closed field
  float width;
  bool possible = true;  ///< it can be opened
  bool tall = false;     ///< the open list may be as high as the window
};
/// Draws the closed field with `preview`, shortened to fit. `explain_closed` draws its tooltip, `choose` the open list.
void column_combo(const char* id, const std::string& preview, const ColumnCombo& look, const std::function<void()>& choose,
                  const std::function<void()>& explain_closed);

/// A row of cells: its name, and the name's tooltip.
struct MatrixRow {
  std::string_view name, what;
  std::string formula;
};
void matrix_row(const MatrixPlace& place, const MatrixRow& row, float height, const DrawColumn& draw);

/// Text in a column of a row that has no cell there.
void draw_no_cell(const MatrixPlace& place, std::size_t column, float height, std::string_view text);

}  // namespace attoscope::ui
