/// A table in the window, with ImGui's sorting, resizing and keyboard.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/table.h"
#include "ui/widgets/theme.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

/// Properties of a row besides its cells.
struct TableRow {
  std::string id;                ///< its test label: "##id"
  std::string meaning{};         ///< sentence of its tooltip
  std::string formula{};         ///< formula of its tooltip
  bool chosen = false;           ///< drawn as selected
  std::optional<Colour> mark{};  ///< colour of a dot in front of it; none: no dot
};

struct TableLook {
  std::function<TableRow(std::size_t row)> row;
  /// The share of the cell's width that the bar below its text fills; negative: no bar.
  std::function<float(std::size_t row, std::size_t column)> bar{};
  std::optional<std::size_t>* hovered = nullptr;  ///< set to the row under the mouse
  /// The numbers of all columns, kept for a table of very many rows; null: they are found in every frame.
  const std::vector<ColumnNumbers>* numbers = nullptr;
};

/// The numbers of a column that has a number of digits.
ColumnNumbers column_numbers(const Table& table, std::size_t column);
/// The numbers of all columns.
std::vector<ColumnNumbers> column_numbers(const Table& table);
/// The text of a cell in the window, where the numbers of a column share a notation; files have "nan" for NaN.
std::string cell_text(const ColumnHeading& heading, const ColumnNumbers& column, const TableCell& cell);

/// Draws the visible columns in the available room. A click on a heading sorts by its column. Returns the index in the table of
/// the clicked row.
std::optional<std::size_t> draw_table(const char* id, const Table& table, const TableLook& look);

}  // namespace attoscope::ui
