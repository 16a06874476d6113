#include "ui/widgets/table_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "imgui_internal.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

constexpr float bar_height = 3, most_bar_height = 14, cell_padding = 3, row_padding = 2;

/// A column to show (not only for files).
struct ShownColumn {
  std::size_t at;  ///< its index
  ColumnNumbers numbers;
};
std::vector<ShownColumn> shown_columns(const Table& table, const TableLook& look) {
  std::vector<ShownColumn> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].shown != ColumnFor::files)
      shown.push_back({c, look.numbers != nullptr ? (*look.numbers)[c] : column_numbers(table, c)});
  return shown;
}

std::string text_in(const Table& table, std::size_t row, const ShownColumn& column) {
  return cell_text(table.columns[column.at], column.numbers, table.rows[row][column.at]);
}

/// Compares words alphabetically, and numbers by value; NaN and missing numbers count as the largest.
bool is_less(const TableCell& x, const TableCell& y) {
  const auto number = [](const TableCell& cell) {
    if (const auto* const count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
    const auto* const value = std::get_if<double>(&cell);
    return value != nullptr && !std::isnan(*value) ? *value : HUGE_VAL;
  };
  const auto *const a = std::get_if<std::string>(&x), *const b = std::get_if<std::string>(&y);
  return a != nullptr && b != nullptr ? *a < *b : number(x) < number(y);
}

/// The rows in the order chosen by clicks on the headings.
std::vector<std::size_t> order_of(const Table& table, const std::vector<ShownColumn>& columns) {
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || specs->SpecsCount == 0) return order;
  const std::size_t by = columns[static_cast<std::size_t>(specs->Specs[0].ColumnIndex)].at;
  const bool descending = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
    const TableCell &a = table.rows[x][by], &b = table.rows[y][by];
    return descending ? is_less(b, a) : is_less(a, b);
  });
  return order;
}

using TitleLines = std::array<std::string, 2>;

/// The title in the second line, or split into two lines as narrow as possible; text between bars is not split.
TitleLines lines_of(const std::string& title, bool two_lines) {
  TitleLines best{"", title};
  const auto width = [](const TitleLines& l) { return std::max(text_width(Face::small, l[0]), text_width(Face::small, l[1])); };
  for (std::size_t at = two_lines ? title.find(' ') : title.npos; at != title.npos; at = title.find(' ', at + 1))
    if (TitleLines lines{title.substr(0, at), title.substr(at + 1)};
        std::ranges::count(lines[0], '|') % 2 == 0 && width(lines) < width(best))
      best = std::move(lines);
  return best;
}

/// Widths of the columns from their titles and first 64 rows; columns share the spare room evenly. If the room is too small, a
/// first non-minor column of words shrinks to fit, to 100 px or more; else it gets at most 0.6 of the room. `marked`: the first
/// non-minor column holds a dot. Sets `two_lines` if titles in one line need more than the room.
std::vector<float> widths_of(const Table& table, const std::vector<ShownColumn>& columns, bool marked, float room,
                             bool& two_lines) {
  constexpr std::size_t looked_at = 64;
  const float all_room = room;
  std::vector<float> widths;
  float shown = 0;
  bool first = true;
  for (const ShownColumn& column : columns) {
    const ColumnHeading& heading = table.columns[column.at];
    const TitleLines title = lines_of(title_of(heading), two_lines);
    float width = std::max(text_width(Face::small, title[0]), text_width(Face::small, title[1]));
    for (std::size_t row = 0; row < std::min(looked_at, table.rows.size()); ++row)
      width = std::max(width, text_width(Face::mono_small, text_in(table, row, column)));
    widths.push_back(width + px(first && marked && !heading.minor ? 14 : 2));
    first &= heading.minor;
    if (!heading.minor) {
      room -= widths.back() + 2 * px(cell_padding);
      ++shown;
    }
  }
  room -= ImGui::GetStyle().ScrollbarSize;
  if (room < 0 && !two_lines) return widths_of(table, columns, marked, all_room, two_lines = true);
  const float spare = std::max(0.0f, room) / std::max(1.0f, shown);
  for (float& width : widths) width += spare;
  const auto name =
      std::ranges::find(columns, false, [&](const ShownColumn& c) { return table.columns[c.at].minor; }) - columns.begin();
  if (room < 0 && name < std::ssize(columns) && has_words(table, columns[static_cast<std::size_t>(name)].at)) {
    float& width = widths[static_cast<std::size_t>(name)];
    width = width + room >= px(100) ? width + room : std::min(width, 0.6f * all_room);
  }
  return widths;
}

/// The heading of a column; for numbers it is right-aligned with them, left of the sort arrow.
void draw_heading(const ColumnHeading& heading, bool words, bool two_lines, int column) {
  ImVec2 at = ImGui::GetCursorScreenPos();
  const bool sorted = (ImGui::TableGetColumnFlags(column) & ImGuiTableColumnFlags_IsSorted) != 0;
  const float width =
      ImGui::GetContentRegionAvail().x - (sorted ? 0.65f * ImGui::GetFontSize() + ImGui::GetStyle().FramePadding.x : 0);
  ImGui::TableHeader(("###" + heading.key).c_str());
  for (const std::string& line : lines_of(title_of(heading), two_lines)) {
    draw_fitted({at.x + (words ? 0 : width), at.y}, Face::small, colours().secondary, line, width, words ? 0.0f : 1.0f);
    if (two_lines) at.y += line_height(Face::small);
  }
  if (!heading.meaning.empty()) explain(heading.meaning);
}

/// The headings; `anew`: sets these widths, else the columns keep the widths to which they were dragged.
void draw_headings(const Table& table, const std::vector<ShownColumn>& columns, const std::vector<float>& widths,
                   bool two_lines, bool anew) {
  ImGuiTable* const drawn = ImGui::GetCurrentTable();
  if (anew) drawn->RefScale = 0;  // else a change of the font size would scale the new widths too
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnHeading& heading = table.columns[columns[i].at];
    const bool words = has_words(table, columns[i].at);
    ImGui::TableSetupColumn(
        (title_of(heading) + "###" + heading.key).c_str(),  // the key is its test label
        (words ? 0 : ImGuiTableColumnFlags_PreferSortDescending) | (heading.minor ? ImGuiTableColumnFlags_DefaultHide : 0),
        widths[i]);
    if (anew) drawn->Columns[static_cast<int>(i)].WidthRequest = widths[i];
  }
  ImGui::TableSetupScrollFreeze(1, 1);
  const WithFace face(Face::small);
  ImGui::PushStyleColor(ImGuiCol_Text, colours().secondary);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers, two_lines ? 2 * (line_height(Face::small) + px(row_padding)) : 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ImGui::TableSetColumnIndex(static_cast<int>(i));
    draw_heading(table.columns[columns[i].at], has_words(table, columns[i].at), two_lines, static_cast<int>(i));
  }
  ImGui::PopStyleColor();
}

/// Draws a bar at the bottom of the current cell, which is `height` high.
void draw_bar(float share, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, top = at.y + line_height(Face::mono_small) + px(3),
              bottom = std::clamp(at.y + height - px(4), top + px(bar_height), top + px(most_bar_height));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled({at.x, top}, {at.x + width, bottom}, colours().raised);
  list->AddRectFilled({at.x, top}, {at.x + share * width, bottom}, faded(colours().accent, 0.7f));
}

void draw_cell(const std::string& text, bool words, Colour colour) {
  const float width = text_width(Face::mono_small, text), room = ImGui::GetContentRegionAvail().x;
  if (!words && width < room) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  label(Face::mono_small, colour, words ? fitted(Face::mono_small, text, room) : text);
}

/// The first column that is not hidden.
int first_enabled(int columns) {
  int first = 0;
  while (first + 1 < columns && (ImGui::TableGetColumnFlags(first) & ImGuiTableColumnFlags_IsEnabled) == 0) ++first;
  return first;
}

/// True if the row was clicked.
bool draw_row(const Table& table, std::size_t row, const std::vector<ShownColumn>& columns, const TableLook& look,
              float height) {
  const int first = first_enabled(static_cast<int>(columns.size()));
  const TableRow about = look.row(row);
  ImGui::TableNextRow();
  ImGui::TableSetColumnIndex(first);
  const bool clicked =
      ImGui::Selectable(("##" + about.id).c_str(), about.chosen, ImGuiSelectableFlags_SpanAllColumns, {0, height});
  if (look.hovered != nullptr && ImGui::IsItemHovered()) *look.hovered = row;
  explain(about.meaning.empty() ? text_in(table, row, columns[static_cast<std::size_t>(first)]) : about.meaning, about.formula);
  ImGui::SameLine(0, 0);
  if (about.mark) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddCircleFilled({at.x + px(4), at.y + line_height(Face::mono_small) / 2}, px(3), *about.mark);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(i))) continue;
    const std::size_t c = columns[i].at;
    if (const float share = look.bar ? look.bar(row, c) : -1; share >= 0) draw_bar(share, height);
    const bool beside_mark = static_cast<int>(i) == first && about.mark;
    if (beside_mark) ImGui::Indent(px(12));
    draw_cell(text_in(table, row, columns[i]), has_words(table, c), about.chosen ? colours().text : colours().secondary);
    if (beside_mark) ImGui::Unindent(px(12));
  }
  return clicked;
}

/// Height of a row, for `room` pixels: rows with bars use the available height, others are closer in a low panel.
float row_height(std::size_t rows, bool bars, float room) {
  const float least = line_height(Face::mono_small) + px(bars ? bar_height + 4 : room < px(160) ? 2 : 5);
  const float even = room / static_cast<float>(rows + 1) - 2 * px(row_padding);
  return bars ? std::clamp(even, least, std::max(least, px(44))) : least;
}

}  // namespace

ColumnNumbers column_numbers(const Table& table, std::size_t column) {
  ColumnNumbers numbers;
  if (table.columns[column].digits == 0) return numbers;
  for (const std::vector<TableCell>& row : table.rows)
    if (const auto* const number = std::get_if<double>(&row[column])) numbers.take(*number);
  return numbers;
}

std::vector<ColumnNumbers> column_numbers(const Table& table) {
  std::vector<ColumnNumbers> all;
  for (std::size_t c = 0; c < table.columns.size(); ++c) all.push_back(column_numbers(table, c));
  return all;
}

std::string cell_text(const ColumnHeading& heading, const ColumnNumbers& column, const TableCell& cell) {
  const auto* const number = std::get_if<double>(&cell);
  if (number != nullptr && std::isnan(*number)) return "NaN";
  return number != nullptr && heading.digits > 0 ? column.text(*number, heading.digits) : text_of(heading, cell);
}

std::optional<std::size_t> draw_table(const char* id, const Table& table, const TableLook& look) {
  constexpr ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate | ImGuiTableFlags_Resizable |
                                    ImGuiTableFlags_Hideable | ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY |
                                    ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoBordersInBody;
  std::optional<std::size_t> clicked;
  if (table.rows.empty()) return clicked;
  const std::vector<ShownColumn> columns = shown_columns(table, look);
  bool two_lines = false;
  const std::vector<float> widths =
      widths_of(table, columns, look.row(0).mark.has_value(), ImGui::GetContentRegionAvail().x, two_lines);
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {px(cell_padding), px(row_padding)});
  const float height = row_height(table.rows.size(), look.bar != nullptr, ImGui::GetContentRegionAvail().y);
  const std::array<int, 2> fits{static_cast<int>(ImGui::GetContentRegionAvail().x), static_cast<int>(table.rows.size())};
  const int fitted_to = static_cast<int>(ImHashData(fits.data(), sizeof fits));
  const bool anew = std::exchange(*ImGui::GetStateStorage()->GetIntRef(ImGui::GetID(id), 0), fitted_to) != fitted_to;
  const bool open = ImGui::BeginTable(id, static_cast<int>(columns.size()), flags);
  ImGui::PopStyleVar();
  if (!open) return clicked;
  draw_headings(table, columns, widths, two_lines, anew);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing,
                      {ImGui::GetStyle().ItemSpacing.x, 2 * px(row_padding)});  // rows that do not overlap
  const std::vector<std::size_t> order = order_of(table, columns);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      if (const std::size_t row = order[static_cast<std::size_t>(i)]; draw_row(table, row, columns, look, height))
        clicked = row;
  ImGui::PopStyleVar();
  ImGui::EndTable();
  return clicked;
}

}  // namespace attoscope::ui
