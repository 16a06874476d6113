#include "app/sweep/table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "app/words/numbers.h"
#include "kernels/experiment/result.h"

namespace attoscope::app {
namespace {

std::vector<std::string> values_of(const Sweep& s, std::size_t combination) {
  std::vector<std::string> values(s.axes.size());
  for (std::size_t i = s.axes.size(); i-- > 0; combination /= s.axes[i].values.size())
    values[i] = s.axes[i].values[combination % s.axes[i].values.size()];
  return values;
}

/// Converts a number to text of a points file, and back; `read` returns false if the text is invalid.
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

std::vector<std::string> points_header(const Sweep& sweep) {
  std::vector<std::string> header{"point"};
  for (const Axis& axis : sweep.axes) header.push_back(axis.key);
  const std::string repetition(name(sweep.over.kind));
  const bool is_varied = std::ranges::find(header, repetition) != header.end();
  header.push_back((is_varied ? "point_" : "") + repetition);
  const PointSummary s = empty_summary(has_backward(sweep));
  visit_summary(s, [&](const std::string& name, auto) { header.push_back(name); });
  header.emplace_back("error");
  return header;
}

std::vector<std::string> point_line(const Sweep& sweep, const SweepAnswer& answer) {
  const PointPlace place = place_of(sweep, answer.index);
  std::vector<std::string> line{std::to_string(answer.index)};
  const bool of_seeds = sweep.over.kind == ui::SweepOver::seed;
  std::uint64_t first = of_seeds ? sweep.base.problem.seed : 0;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    line.push_back(sweep.axes[i].values[static_cast<std::size_t>(place.at[i])]);
    if (of_seeds && sweep.axes[i].key == "seed") first = to_number<std::uint64_t>(line.back()).value_or(first);
  }
  line.push_back(std::to_string(first + static_cast<std::uint64_t>(place.seed)));
  const PointSummary s = answer.summary.value_or(empty_summary(has_backward(sweep)));
  const bool known = answer.summary.has_value();
  visit_summary(s, [&](const std::string&, auto x) { line.push_back(known ? number_text(x) : ""); });
  line.push_back(answer.error);
  return line;
}

[[noreturn]] void refuse_line(std::size_t number, const std::string& expected) {
  throw std::runtime_error("line " + std::to_string(number) + " is no point of this sweep, expected " + expected);
}

SweepAnswer parse_point(const Sweep& sweep, const std::vector<std::string>& line, std::size_t width, std::size_t number) {
  const std::size_t first = sweep.axes.size() + 2;
  if (line.size() != width) refuse_line(number, std::to_string(width) + " fields");
  const auto index = to_number<std::size_t>(line[0]);
  if (!index || *index >= point_count(sweep))
    refuse_line(number, "a point from 0 to " + std::to_string(point_count(sweep) - 1));
  SweepAnswer answer{*index, true, std::nullopt, line.back()};
  const std::vector<std::string> expected = point_line(sweep, answer);
  if (!std::equal(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(first), expected.begin()))
    refuse_line(number, "the values and the seed of point " + line[0]);
  if (!answer.error.empty()) return answer;
  PointSummary s = empty_summary(has_backward(sweep));
  std::size_t at = first;
  visit_summary(s, [&]<class T>(const std::string& name, T& x) {
    if (!read(line[at++], x))
      refuse_line(number, (std::is_same_v<T, double> ? "a number in column " : "16 hexadecimal digits in column ") + name);
  });
  answer.summary = s;
  return answer;
}

}  // namespace

SweepRow row_of(std::span<const double> values) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(values.size());
  SweepRow row{{}, static_cast<int>(values.size()), nan, nan, nan, nan, ""};
  if (values.empty()) return row;
  double sum = 0, squares = 0;
  for (const double x : values) sum += x;
  row.mean = sum / n;
  if (!std::isnan(sum)) {
    row.min = *std::ranges::min_element(values);
    row.max = *std::ranges::max_element(values);
    row.mean = std::clamp(row.mean, row.min, row.max);
  }
  for (const double x : values) squares += (x - row.mean) * (x - row.mean);
  row.std = n > 1 ? std::sqrt(squares / (n - 1)) : 0 * row.mean;
  return row;
}

std::vector<SweepRow> rows(const Sweep& sweep, const Measure& measure, std::span<const SweepAnswer> answers) {
  std::map<std::size_t, std::vector<std::pair<int, const SweepAnswer*>>> by_combination;
  for (const SweepAnswer& a : answers) {
    const PointPlace p = place_of(sweep, a.index);
    by_combination[combination(sweep, p)].emplace_back(p.seed, &a);
  }
  std::vector<SweepRow> result;
  for (auto& [index, of_seeds] : by_combination) {
    std::ranges::sort(of_seeds);  // sums in the order of the seeds
    std::vector<double> values;
    std::string error;
    for (const auto& [seed, a] : of_seeds) {
      if (a->summary) values.push_back(value_of(measure, *a->summary));
      if (error.empty()) error = a->error;
    }
    SweepRow& row = result.emplace_back(row_of(values));
    row.values = values_of(sweep, index);
    row.error = std::move(error);
  }
  return result;
}

std::string points_csv(const Sweep& sweep, std::span<const SweepAnswer> answers) {
  std::string text = csv_line(points_header(sweep));
  for (const SweepAnswer& answer : answers) text += csv_line(point_line(sweep, answer));
  return text;
}

std::vector<SweepAnswer> parse_points_csv(const Sweep& sweep, const std::string& text) {
  const std::vector<std::vector<std::string>> lines = csv_lines(text);
  if (lines.empty() || lines[0] != points_header(sweep)) refuse_line(1, "the header of this sweep's points");
  std::vector<SweepAnswer> answers;
  for (std::size_t i = 1; i < lines.size(); ++i) answers.push_back(parse_point(sweep, lines[i], lines[0].size(), i + 1));
  return answers;
}

std::uint64_t points_digest(std::span<const SweepAnswer> answers, std::uint64_t before) {
  std::vector<std::uint64_t> digests{before};
  const auto add = [&](const auto& s) { digests.insert(digests.end(), {s.golden_digest, s.a_digest, s.b_digest}); };
  for (const SweepAnswer& answer : answers) {
    if (!answer.summary) continue;
    add(*answer.summary);
    if (answer.summary->backward) add(*answer.summary->backward);
  }
  return XXH3_64bits(digests.data(), digests.size() * sizeof(std::uint64_t));
}

Table rows_table(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  std::vector<TableColumn<SweepRow>> columns;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    columns.push_back(
        table_column<SweepRow>({.key = sweep.axes[i].key, .title = std::string(axis_key(sweep.axes[i].key).title)},
                               [i](const SweepRow& row) { return row.values[i]; }));
  const auto add = [&](const char* name, const std::string& title, double SweepRow::* value) {
    columns.push_back(
        table_column<SweepRow>({.key = measure.name + "." + name, .title = title, .digits = 4},
                               [value](const SweepRow& row) { return row.count == 0 ? TableCell{} : TableCell{row.*value}; }));
  };
  columns.push_back(
      table_column<SweepRow>({.key = "error", .title = title_of(measure), .digits = 4, .shown = ColumnFor::people},
                             [](const SweepRow& row) { return row.count == 0 ? TableCell{row.error} : TableCell{row.mean}; }));
  add("mean", "", &SweepRow::mean);
  columns.back().heading.shown = ColumnFor::files;
  add("std", "std", &SweepRow::std);
  add("min", "min", &SweepRow::min);
  add("max", "max", &SweepRow::max);
  columns.push_back(table_column<SweepRow>({.key = std::string(name(sweep.over.kind)) + "s"}, &SweepRow::count));
  return table_of(columns, rows);
}

}  // namespace attoscope::app
