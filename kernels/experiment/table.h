/// A table as a value: every column is described once, and files, reports and the window render it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace attoscope {

/// Nothing, a count, a number or words.
using TableCell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Readers of a column: readers of files, people, or both.
enum class ColumnFor : std::uint8_t { both, files, people };

/// A column without its cells.
struct ColumnHeading {
  std::string key;        ///< in files
  std::string title{};    ///< for people; empty: the key
  int digits = 0;         ///< significant digits of numbers for people; 0: as many as the number has
  std::string meaning{};  ///< a sentence that explains it
  ColumnFor shown = ColumnFor::both;
  bool minor = false;  ///< hidden in the window by default
};

/// A column of a table of `Row`s.
template <class Row>
struct TableColumn {
  ColumnHeading heading;
  std::function<TableCell(const Row&)> cell;
};

struct Table {
  std::vector<ColumnHeading> columns;
  std::vector<std::vector<TableCell>> rows;  ///< each has one cell for every column
};

/// A cell of any integer, number or text.
template <class T>
TableCell table_cell(T&& x) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_integral_v<Value>)
    return static_cast<std::int64_t>(x);
  else if constexpr (std::is_floating_point_v<Value>)
    return static_cast<double>(x);
  else
    return std::string(std::forward<T>(x));
}

/// A column whose cells are `get(row)`.
template <class Row, class Get>
TableColumn<Row> table_column(ColumnHeading heading, Get get) {
  return {std::move(heading), [get](const Row& row) -> TableCell {
            if constexpr (std::is_same_v<std::invoke_result_t<Get, const Row&>, TableCell>)
              return std::invoke(get, row);
            else
              return table_cell(std::invoke(get, row));
          }};
}

template <class Row>
Table table_of(const std::vector<TableColumn<Row>>& columns, std::span<const Row> rows) {
  Table table;
  for (const TableColumn<Row>& c : columns) table.columns.push_back(c.heading);
  for (const Row& row : rows) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    for (const TableColumn<Row>& c : columns) cells.push_back(c.cell(row));
  }
  return table;
}

/// The heading's title, and the text of a cell, for people.
const std::string& title_of(const ColumnHeading& heading);
std::string text_of(const ColumnHeading& heading, const TableCell& cell);
/// True if the column has words and no numbers; such columns are aligned left.
bool has_words(const Table& table, std::size_t column);

/// The table for files: RFC 4180, a heading of keys, numbers with all their digits.
std::string csv_text(const Table& table);
/// The table for people, its columns aligned by blanks; `most` characters of a cell count for the width of its column.
std::string plain_text(const Table& table, std::size_t most = 40);
/// The same for Markdown, and as a tabular of LaTeX.
std::string markdown_text(const Table& table);
std::string latex_text(const Table& table);

}  // namespace attoscope
