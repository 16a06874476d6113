#include "app/figures/sweep_figure.h"

#include <algorithm>
#include <cmath>

#include "app/numbers.h"

namespace attoscope {
namespace {

/// The first axis: numbers on a log axis of base 2 where they grow by factors, names otherwise.
FigureAxis x_of(const Axis& axis) {
  FigureAxis x;
  x.label = axis_key(axis.key).title;
  std::vector<double> values;
  for (const std::string& v : axis.values)
    if (const auto number = to_number<double>(v)) values.push_back(*number);
  if (values.size() < axis.values.size()) {
    x.categories = axis.values;
    return x;
  }
  const auto [least, largest] = std::ranges::minmax(values);
  const bool whole = std::ranges::all_of(values, [](double v) { return v >= 1 && v == std::floor(v); });
  x.log = whole && values.size() > 2 && largest / least >= 8;
  x.base = x.log ? 2 : 10;
  return x;
}

Series series_of(const Sweep& sweep, std::span<const SweepRow> rows, const std::string& of, const FigureAxis& x, std::size_t index) {
  Series s;
  s.label = of;
  s.ink = sweep.axes.size() == 1 ? Ink::a : static_cast<Ink>(static_cast<std::size_t>(Ink::one) + index % 6);
  s.shape = x.categories.empty() ? Shape::line_and_marks : Shape::marks;
  const std::vector<std::string>& values = sweep.axes[0].values;
  for (const SweepRow& row : rows) {
    if (row.count == 0 || (sweep.axes.size() == 2 && row.values[1] != of)) continue;
    const auto at = static_cast<double>(std::ranges::find(values, row.values[0]) - values.begin());
    s.x.push_back(x.categories.empty() ? to_number<double>(row.values[0]).value_or(NAN) : at);
    s.y.push_back(row.mean);
    s.low.push_back(row.mean - row.std > 0 ? row.mean - row.std : row.min);
    s.high.push_back(row.mean + row.std);
  }
  if (sweep.seeds == 1) s.low.clear(), s.high.clear();
  return s;
}

/// True where all that is shown is above 0 and spans more than a factor of 4.
bool wants_log(const std::vector<Series>& series) {
  double least = INFINITY, largest = 0;
  for (const Series& s : series)
    for (const double y : s.y) least = std::min(least, y), largest = std::max(largest, y);
  return least > 0 && largest > 4 * least;
}

}  // namespace

Figure sweep_figure(const std::string& name, const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  FigurePanel panel;
  panel.x = x_of(sweep.axes[0]);
  panel.y.label = title_of(measure);
  const std::vector<std::string> whole{""};
  const std::vector<std::string>& lines = sweep.axes.size() == 2 ? sweep.axes[1].values : whole;
  for (std::size_t i = 0; i < lines.size(); ++i) panel.series.push_back(series_of(sweep, rows, lines[i], panel.x, i));
  panel.y.log = wants_log(panel.series);
  Figure f;
  f.name = name;
  f.panels.push_back(std::move(panel));
  return f;
}

}  // namespace attoscope
