// Markdown of lessons as HTML.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "app/explore/lesson_pages.h"
#include "app/words/mathml.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

using Number = std::function<std::string(int)>;

/// Text between `open` at `at` and the next `close`; moves `at` behind it; none if empty or not closed.
std::optional<std::string_view> between(std::string_view text, std::size_t& at, std::string_view open, std::string_view close) {
  if (!text.substr(at).starts_with(open)) return std::nullopt;
  const std::size_t first = at + open.size(), end = text.find(close, first);
  if (end == std::string_view::npos || end == first) return std::nullopt;
  at = end + close.size();
  return text.substr(first, end - first);
}

/// Text and address of a link at `at`; moves `at` behind it.
std::optional<std::pair<std::string_view, std::string_view>> link_at(std::string_view text, std::size_t& at) {
  const std::size_t middle = text.find("](", at), end = text.find(')', middle == std::string_view::npos ? at : middle);
  if (text[at] != '[' || middle == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  if (text.substr(at, middle - at).find('\n') != std::string_view::npos) return std::nullopt;
  const std::pair found{text.substr(at + 1, middle - at - 1), text.substr(middle + 2, end - middle - 2)};
  at = end + 1;
  return found;
}

/// HTML of inline Markdown.
std::string inline_html(std::string_view text, const Number& number) {
  std::string html;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto code = between(text, at, "`", "`")) {
      html += "<code>" + html_escaped(*code) + "</code>";
    } else if (const auto shown = between(text, at, "$$", "$$")) {
      html += mathml(*shown, true);
    } else if (const auto formula = between(text, at, "$", "$")) {
      html += mathml(*formula, false);
    } else if (const auto index = between(text, at, "<num", "/>")) {
      html += number(to_number<int>(*index).value_or(-1));
    } else if (const auto strong = between(text, at, "**", "**")) {
      html += "<strong>" + inline_html(*strong, number) + "</strong>";
    } else if (const auto emphasis = between(text, at, "*", "*")) {
      html += "<em>" + inline_html(*emphasis, number) + "</em>";
    } else if (const auto link = link_at(text, at)) {
      html += "<a href=\"" + html_escaped(link->second) + "\">" + inline_html(link->first, number) + "</a>";
    } else {
      const std::size_t end = std::min(text.find_first_of("`$<*[", at + 1), text.size());
      html += html_escaped(text.substr(at, end - at));
      at = end;
    }
  }
  return html;
}

/// A displayed formula in parts that can wrap: each begins with a relation, or after a wide gap.
std::string formula_html(std::string_view formula) {
  static constexpr std::array<std::string_view, 6> relations{"=", "\\le ", "\\ge ", "\\approx ", "\\propto ", "<"};
  constexpr std::string_view gap = "\\qquad";
  constexpr std::size_t shortest = 16;  // shorter left sides stay with the next part
  std::string html = "<div class=\"formula\">", kind;
  std::size_t first = 0;
  const auto end_part = [&](std::size_t end) {
    if (formula.substr(first, end - first).find_first_not_of(' ') != std::string_view::npos)
      html += "<span" + kind + ">" + mathml(formula.substr(first, end - first), true) + "</span>";
  };
  int depth = 0;
  for (std::size_t at = 0; at < formula.size(); ++at) {
    const std::string_view rest = formula.substr(at);
    const auto begins = [&](std::string_view sign) { return rest.starts_with(sign); };
    depth += begins("{") || begins("(") || begins("\\left") ? 1 : begins("}") || begins(")") || begins("\\right") ? -1 : 0;
    const bool wide = begins(gap);
    const bool parts = wide || (at - first >= shortest && std::ranges::any_of(relations, begins));
    if (depth > 0 || !parts) continue;
    end_part(at);
    first = at + (wide ? gap.size() : 0);
    kind = wide ? " class=\"apart\"" : "";
  }
  end_part(formula.size());
  return html + "</div>\n";
}

/// Cells of a table's line.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  line.remove_prefix(1);
  bool in_code = false, in_formula = false;
  for (std::size_t i = 0, first = 0; i < line.size(); ++i) {
    in_code = line[i] == '`' ? !in_code : in_code;
    in_formula = line[i] == '$' ? !in_formula : in_formula;
    if (line[i] != '|' || in_code || in_formula) continue;
    cells.push_back(line.substr(first, i - first));
    first = i + 1;
  }
  return cells;
}

std::string table_html(const std::vector<std::string_view>& lines, const Number& number) {
  const std::vector<std::string_view> rule = lines.size() > 1 ? cells_of(lines[1]) : std::vector<std::string_view>{};
  std::string html = "<div class=\"table\"><table>\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 1) continue;
    const std::string cell = i == 0 ? "th" : "td";
    const std::vector<std::string_view> cells = cells_of(lines[i]);
    html += "<tr>";
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const bool right = c < rule.size() && ui::trimmed(rule[c]).ends_with(':');
      html += "<" + cell + (right ? " class=\"right\">" : ">") + inline_html(ui::trimmed(cells[c]), number) + "</" + cell + ">";
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

/// A fenced block that begins at line `at`; moves `at` behind it.
std::string code_html(const std::vector<std::string_view>& lines, std::size_t& at) {
  std::string code;
  for (++at; at < lines.size() && !lines[at].starts_with("```"); ++at) code += std::string(lines[at]) + "\n";
  ++at;
  return "<pre><code>" + html_escaped(code) + "</code></pre>\n";
}

/// A list whose items begin with "- ", with their continuation lines; moves `at` behind it.
std::string list_html(const std::vector<std::string_view>& lines, std::size_t& at, const Number& number) {
  constexpr std::string_view mark = "- ";
  std::vector<std::string> entries;
  for (; at < lines.size() && !lines[at].empty(); ++at) {
    if (lines[at].starts_with(mark))
      entries.emplace_back(lines[at].substr(mark.size()));
    else
      entries.back() += "\n" + std::string(lines[at]);
  }
  std::string html = "<ul>\n";
  for (const std::string& entry : entries) html += "<li>" + inline_html(entry, number) + "</li>\n";
  return html + "</ul>\n";
}

}  // namespace

std::string html_of(std::string_view markdown, const Number& number) {
  const std::vector<std::string_view> lines = attoscope::split(markdown, "\n");
  std::string html;
  for (std::size_t at = 0; at < lines.size();) {
    if (lines[at].empty() || lines[at].starts_with("> ")) {
      ++at;
    } else if (lines[at].starts_with("```")) {
      html += code_html(lines, at);
    } else if (lines[at].starts_with("|")) {
      std::vector<std::string_view> rows;
      while (at < lines.size() && lines[at].starts_with("|")) rows.push_back(lines[at++]);
      html += table_html(rows, number);
    } else if (lines[at].starts_with("- ")) {
      html += list_html(lines, at, number);
    } else if (lines[at].starts_with("### ")) {
      html += "<h3>" + inline_html(lines[at++].substr(4), number) + "</h3>\n";
    } else {
      std::string paragraph;
      while (at < lines.size() && !lines[at].empty() && !lines[at].starts_with("- ") && !lines[at].starts_with("|") &&
             !lines[at].starts_with("> "))
        paragraph += (paragraph.empty() ? "" : "\n") + std::string(lines[at++]);
      const bool formula = paragraph.starts_with("$$") && paragraph.ends_with("$$");
      html += formula ? formula_html(std::string_view(paragraph).substr(2, paragraph.size() - 4))
                      : "<p>" + inline_html(paragraph, number) + "</p>\n";
    }
  }
  return html;
}

}  // namespace attoscope::app
