#include "app/sweep/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "app/words/numbers.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

/// Index of a point's combination, the last axis fastest.
std::size_t combination(const Sweep& s, const PointPlace& p) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < s.axes.size(); ++i) index = index * s.axes[i].values.size() + static_cast<std::size_t>(p.at[i]);
  return index;
}

std::vector<std::string> values_of(const Sweep& s, std::size_t combination) {
  std::vector<std::string> values(s.axes.size());
  for (std::size_t i = s.axes.size(); i-- > 0; combination /= s.axes[i].values.size())
    values[i] = s.axes[i].values[combination % s.axes[i].values.size()];
  return values;
}

/// Values of one combination's seeds, or an error.
struct Gathered {
  std::vector<double> values;
  std::string error;
};

/// Mean and standard deviation in two passes, without cancellation. The mean is clamped to [min, max], so that equal values
/// have a spread of exactly 0.
SweepRow row_of(const Sweep& s, std::size_t combination, const Gathered& g) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(g.values.size());
  SweepRow row{values_of(s, combination), static_cast<int>(g.values.size()), nan, nan, nan, nan, g.error};
  if (g.values.empty()) return row;
  double sum = 0, squares = 0;
  for (const double x : g.values) sum += x;
  row.mean = sum / n;
  if (!std::isnan(sum)) {
    row.min = *std::ranges::min_element(g.values);
    row.max = *std::ranges::max_element(g.values);
    row.mean = std::clamp(row.mean, row.min, row.max);
  }
  for (const double x : g.values) squares += (x - row.mean) * (x - row.mean);
  row.std = n > 1 ? std::sqrt(squares / (n - 1)) : 0 * row.mean;
  return row;
}

/// A number as in files of points, and back; false if the text is invalid.
std::string number_text(double x) { return shortest(x); }
std::string number_text(std::uint64_t digest) { return hex16(digest); }
bool read(const std::string& text, double& x) {
  const auto value = to_number<double>(text);
  x = value.value_or(x);
  return value.has_value();
}
bool read(const std::string& text, std::uint64_t& digest) {
  const auto value = from_hex16(text);
  digest = value.value_or(digest);
  return value.has_value();
}

std::vector<std::string> points_head(const Sweep& sweep) {
  std::vector<std::string> head{"point"};
  for (const Axis& axis : sweep.axes) head.push_back(axis.key);
  head.emplace_back("seed");
  const PointSummary s;
  visit_summary(s, [&](const std::string& name, auto) { head.push_back(name); });
  head.emplace_back("error");
  return head;
}

std::vector<std::string> point_line(const Sweep& sweep, const SweepAnswer& answer) {
  const PointPlace place = place_of(sweep, answer.index);
  std::vector<std::string> line{std::to_string(answer.index)};
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    line.push_back(sweep.axes[i].values[static_cast<std::size_t>(place.at[i])]);
  line.push_back(std::to_string(sweep.base.problem.seed + static_cast<std::uint64_t>(place.seed)));
  const PointSummary s = answer.summary.value_or(PointSummary{});
  const bool known = answer.summary.has_value();
  visit_summary(s, [&](const std::string&, auto x) { line.push_back(known ? number_text(x) : ""); });
  line.push_back(answer.error);
  return line;
}

[[noreturn]] void refuse_line(std::size_t number, const std::string& expected) {
  throw std::runtime_error("line " + std::to_string(number) + " is no point of this sweep, expected " + expected);
}

SweepAnswer parse_point(const Sweep& sweep, const std::vector<std::string>& line, std::size_t number) {
  const std::size_t width = points_head(sweep).size(), first = sweep.axes.size() + 2;
  if (line.size() != width) refuse_line(number, std::to_string(width) + " fields");
  const auto index = to_number<std::size_t>(line[0]);
  if (!index || *index >= point_count(sweep))
    refuse_line(number, "a point from 0 to " + std::to_string(point_count(sweep) - 1));
  SweepAnswer answer{*index, true, std::nullopt, line.back()};
  const std::vector<std::string> expected = point_line(sweep, answer);
  if (!std::equal(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(first), expected.begin()))
    refuse_line(number, "the values and the seed of point " + line[0]);
  if (!answer.error.empty()) return answer;
  PointSummary s;
  std::size_t at = first;
  visit_summary(s, [&]<class T>(const std::string& name, T& x) {
    if (!read(line[at++], x))
      refuse_line(number, (std::is_same_v<T, double> ? "a number in column " : "16 hexadecimal digits in column ") + name);
  });
  answer.summary = s;
  return answer;
}

std::string four_digits(double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : fmt::format("{}", x); }

/// Cells of a text table: values, mean, spread, seeds.
std::vector<std::vector<std::string>> cells(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  std::vector<std::vector<std::string>> table(1);
  for (const Axis& axis : sweep.axes) table[0].emplace_back(axis_key(axis.key).title);
  for (const std::string& head :
       {title_of(measure), std::string("std"), std::string("min"), std::string("max"), std::string("seeds")})
    table[0].push_back(head);
  for (const SweepRow& row : rows) {
    std::vector<std::string> line = row.values;
    if (row.count == 0) {
      line.push_back(row.error);
      line.resize(line.size() + 3);
    } else {
      for (const double x : {row.mean, row.std, row.min, row.max}) line.push_back(four_digits(x));
    }
    line.push_back(std::to_string(row.count));
    table.push_back(std::move(line));
  }
  return table;
}

/// The text with TeX's special characters escaped.
std::string tex(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\textbackslash{}";
    else if (c == '~')
      result += "\\textasciitilde{}";
    else if (c == '^')
      result += "\\textasciicircum{}";
    else if (c == '|')
      result += "$\\vert$";
    else if (c == '<' || c == '>')
      result.append({'$', c, '$'});
    else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
      result.append({'\\', c});
    else
      result += c;
  }
  return result;
}

}  // namespace

std::vector<SweepRow> rows(const Sweep& sweep, const Measure& measure, std::span<const SweepAnswer> answers) {
  std::map<std::size_t, std::vector<std::pair<int, const SweepAnswer*>>> by_combination;
  for (const SweepAnswer& a : answers) {
    const PointPlace p = place_of(sweep, a.index);
    by_combination[combination(sweep, p)].emplace_back(p.seed, &a);
  }
  std::vector<SweepRow> result;
  for (auto& [index, of_seeds] : by_combination) {
    std::ranges::sort(of_seeds);  // sums in the order of the seeds
    Gathered g;
    for (const auto& [seed, a] : of_seeds) {
      if (a->summary) g.values.push_back(value_of(measure, *a->summary));
      if (!a->error.empty() && g.error.empty()) g.error = a->error;
    }
    result.push_back(row_of(sweep, index, g));
  }
  return result;
}

std::string points_csv(const Sweep& sweep, std::span<const SweepAnswer> answers) {
  std::string text = csv_line(points_head(sweep));
  for (const SweepAnswer& answer : answers) text += csv_line(point_line(sweep, answer));
  return text;
}

std::vector<SweepAnswer> parse_points_csv(const Sweep& sweep, const std::string& text) {
  const std::vector<std::vector<std::string>> lines = csv_lines(text);
  if (lines.empty() || lines[0] != points_head(sweep)) refuse_line(1, "the head of this sweep's points");
  std::vector<SweepAnswer> answers;
  for (std::size_t i = 1; i < lines.size(); ++i) answers.push_back(parse_point(sweep, lines[i], i + 1));
  return answers;
}

std::string rows_csv(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  std::vector<std::string> head;
  for (const Axis& axis : sweep.axes) head.push_back(axis.key);
  for (const char* const what : {"mean", "std", "min", "max"}) head.push_back(measure.name + "." + what);
  head.emplace_back("seeds");
  std::string text = csv_line(head);
  for (const SweepRow& row : rows) {
    std::vector<std::string> line = row.values;
    for (const double x : {row.mean, row.std, row.min, row.max}) line.push_back(row.count == 0 ? "" : shortest(x));
    line.push_back(std::to_string(row.count));
    text += csv_line(line);
  }
  return text;
}

std::string markdown_table(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  std::string text;
  bool head = true;
  for (const std::vector<std::string>& line : cells(sweep, measure, rows)) {
    text += '|';
    for (const std::string& cell : line) {
      text += ' ';
      for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " |";
    }
    text += '\n';
    if (std::exchange(head, false)) {
      text += '|';
      for (std::size_t i = 0; i < line.size(); ++i) text += i < sweep.axes.size() ? " --- |" : " ---: |";
      text += '\n';
    }
  }
  return text;
}

std::string latex_table(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  const auto table = cells(sweep, measure, rows);
  std::string text = "\\begin{tabular}{" + std::string(sweep.axes.size(), 'l') +
                     std::string(table[0].size() - sweep.axes.size(), 'r') + "}\n\\hline\n";
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (std::size_t c = 0; c < table[i].size(); ++c) text += (c == 0 ? "" : " & ") + tex(table[i][c]);
    text += i == 0 ? " \\\\\n\\hline\n" : " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

std::string plain_table(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  const auto table = cells(sweep, measure, rows);
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& line : table)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], std::min<std::size_t>(line[c].size(), 40));
  std::string text;
  for (const auto& line : table) {
    for (std::size_t c = 0; c < line.size(); ++c)
      text += c < sweep.axes.size() ? fmt::format("{:<{}}  ", line[c], widths[c]) : fmt::format("{:>{}}  ", line[c], widths[c]);
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace attoscope
