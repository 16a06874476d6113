/// A table in the window, with ImGui's sorting, resizing and keyboard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kernels/experiment/table.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// A row beside its cells.
struct TableRow {
  std::string id;                ///< its test label: "##id"
  std::string meaning{};         ///< of its tooltip
  std::string formula{};         ///< the same
  bool chosen = false;           ///< drawn as selected
  std::optional<Colour> mark{};  ///< of a dot in front of it
};

struct TableLook {
  std::function<TableRow(std::size_t row)> row;
  /// The share of a cell that a bar below its text fills; negative: there is no bar.
  std::function<float(std::size_t row, std::size_t column)> bar{};
  std::optional<std::size_t>* hovered = nullptr;  ///< set to the row under the mouse
};

/// Draws the columns for people in what room there is. A click on a heading sorts by its column. Returns the row that was
/// clicked, by its place in the table.
std::optional<std::size_t> draw_table(const char* id, const Table& table, const TableLook& look);

}  // namespace attoscope::ui
