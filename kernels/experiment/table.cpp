#include "kernels/experiment/table.h"

#include <algorithm>
#include <charconv>

#include "kernels/experiment/csv_text.h"

namespace attoscope {
namespace {

bool is_for(const ColumnHeading& heading, ColumnFor reader) {
  return heading.shown == ColumnFor::both || heading.shown == reader;
}

std::string file_text(const TableCell& cell) {
  if (const auto* const words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* const count = std::get_if<std::int64_t>(&cell)) return shortest(*count);
  if (const auto* const number = std::get_if<double>(&cell)) return shortest(*number);
  return "";
}

/// The columns for people: titles, then the cells of each row, as texts.
struct Texts {
  std::vector<std::vector<std::string>> lines;
  std::vector<bool> words;  ///< by column
};
Texts texts_of(const Table& table) {
  Texts texts;
  texts.lines.resize(table.rows.size() + 1);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const ColumnHeading& heading = table.columns[c];
    if (!is_for(heading, ColumnFor::people)) continue;
    texts.words.push_back(has_words(table, c));
    texts.lines[0].push_back(title_of(heading));
    for (std::size_t r = 0; r < table.rows.size(); ++r) texts.lines[r + 1].push_back(text_of(heading, table.rows[r][c]));
  }
  return texts;
}

/// `text` with TeX's special characters escaped.
std::string tex(const std::string& text) {
  using Command = std::pair<char, std::string_view>;
  constexpr Command commands[]{{'\\', "\\textbackslash{}"},
                               {'~', "\\textasciitilde{}"},
                               {'^', "\\textasciicircum{}"},
                               {'|', "$\\vert$"},
                               {'<', "$<$"},
                               {'>', "$>$"}};
  std::string result;
  for (const char c : text) {
    const auto* const found = std::ranges::find(commands, c, &Command::first);
    const bool is_escaped = std::string_view("&%$#_{}").find(c) != std::string_view::npos;
    if (found != std::end(commands))
      result += found->second;
    else
      result.append(is_escaped ? "\\" : "").append(1, c);
  }
  return result;
}

}  // namespace

const std::string& title_of(const ColumnHeading& heading) { return heading.title.empty() ? heading.key : heading.title; }

std::string text_of(const ColumnHeading& heading, const TableCell& cell) {
  const auto* const number = std::get_if<double>(&cell);
  if (number == nullptr || heading.digits == 0) return file_text(cell);
  return shortest(*number, std::chars_format::general, heading.digits);
}

bool has_words(const Table& table, std::size_t column) {
  bool words = false;
  for (const std::vector<TableCell>& row : table.rows) {
    if (std::holds_alternative<double>(row[column]) || std::holds_alternative<std::int64_t>(row[column])) return false;
    words |= std::holds_alternative<std::string>(row[column]);
  }
  return words;
}

std::string csv_text(const Table& table) {
  std::vector<std::string> fields;
  for (const ColumnHeading& heading : table.columns)
    if (is_for(heading, ColumnFor::files)) fields.push_back(heading.key);
  std::string text = csv_line(fields);
  for (const std::vector<TableCell>& row : table.rows) {
    fields.clear();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (is_for(table.columns[c], ColumnFor::files)) fields.push_back(file_text(row[c]));
    text += csv_line(fields);
  }
  return text;
}

std::string plain_text(const Table& table, std::size_t most) {
  const Texts texts = texts_of(table);
  std::vector<std::size_t> widths(texts.words.size());
  for (const auto& line : texts.lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], std::min(line[c].size(), most));
  std::string text;
  for (const auto& line : texts.lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string blanks(widths[c] - std::min(widths[c], line[c].size()), ' ');
      text += (texts.words[c] ? line[c] + blanks : blanks + line[c]) + "  ";
    }
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

std::string markdown_text(const Table& table) {
  const Texts texts = texts_of(table);
  std::string text;
  for (std::size_t i = 0; i < texts.lines.size(); ++i) {
    text += '|';
    for (const std::string& cell : texts.lines[i]) {
      text += ' ';
      for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " |";
    }
    text += '\n';
    if (i > 0) continue;
    text += '|';
    for (const bool words : texts.words) text += words ? " --- |" : " ---: |";
    text += '\n';
  }
  return text;
}

std::string latex_text(const Table& table) {
  const Texts texts = texts_of(table);
  std::string text = "\\begin{tabular}{";
  for (const bool words : texts.words) text += words ? 'l' : 'r';
  text += "}\n\\hline\n";
  for (std::size_t i = 0; i < texts.lines.size(); ++i) {
    for (std::size_t c = 0; c < texts.lines[i].size(); ++c) text += (c == 0 ? "" : " & ") + tex(texts.lines[i][c]);
    text += i == 0 ? " \\\\\n\\hline\n" : " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

}  // namespace attoscope
