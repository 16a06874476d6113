#include "app/papers/sweep_figure.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/json/settings_json.h"
#include "app/sweep/sweep_json.h"
#include "app/words/numbers.h"
#include "ui/frame/sweep_heat.h"

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

/// True where all that is shown is above 0 and spans more than a factor of 4.
bool wants_log(const std::vector<Series>& series) {
  double least = INFINITY, largest = 0;
  for (const Series& s : series)
    for (const double y : s.y) least = std::min(least, y), largest = std::max(largest, y);
  return least > 0 && largest > 4 * least;
}

FigurePanel lines(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows, SweepSpread spread) {
  FigurePanel panel;
  panel.x = x_of(sweep.axes[0]);
  panel.y.label = title_of(measure);
  if (sweep.over.kind != SweepOver::seed) panel.y.label += ", over " + count_text(sweep.over, sweep.seeds);
  const bool has_names = !panel.x.categories.empty();
  const std::vector<std::string> whole{""};
  const std::vector<std::string>& names = sweep.axes.size() == 2 ? sweep.axes[1].values : whole;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series& s = panel.series.emplace_back(rows_series(sweep, rows, names[i], has_names, spread));
    s.label = names[i];
    s.ink = sweep.axes.size() == 1 ? Ink::a : static_cast<Ink>(static_cast<std::size_t>(Ink::one) + i % 6);
    s.shape = has_names ? Shape::marks : Shape::line_and_marks;
  }
  panel.y.log = wants_log(panel.series);
  return panel;
}

/// The rows' means, each in the place of its combination.
SweepTable table_of(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows) {
  SweepTable table;
  table.measure = title_of(measure);
  for (const Axis& axis : sweep.axes) table.axes.push_back({axis.key, std::string(axis_key(axis.key).title), axis.values, {}});
  table.cells.resize(table.axes[0].names.size() * table.across());
  const auto place = [&](std::size_t axis, const std::string& value) {
    const std::vector<std::string>& names = table.axes[axis].names;
    return static_cast<std::size_t>(std::ranges::find(names, value) - names.begin());
  };
  for (const SweepRow& row : rows) {
    SweepCell& cell = table.cells[place(0, row.values[0]) * table.across() + place(1, row.values[1])];
    cell.count = row.count;
    cell.mean = row.mean;
  }
  return table;
}

}  // namespace

Series rows_series(const Sweep& sweep, std::span<const SweepRow> rows, const std::string& second, bool has_names,
                   SweepSpread spread) {
  Series s;
  const bool all = spread == SweepSpread::min_max;
  const std::vector<std::string>& values = sweep.axes[0].values;
  for (const SweepRow& row : rows) {
    if (row.count == 0 || (sweep.axes.size() == 2 && row.values[1] != second)) continue;
    const auto at = static_cast<double>(std::ranges::find(values, row.values[0]) - values.begin());
    s.x.push_back(has_names ? at : to_number<double>(row.values[0]).value_or(NAN));
    s.y.push_back(row.mean);
    s.low.push_back(!all && row.mean - row.std > 0 ? row.mean - row.std : row.min);
    s.high.push_back(all ? row.max : row.mean + row.std);
  }
  if (sweep.seeds == 1) s.low.clear(), s.high.clear();
  return s;
}

Json sweep_reproduction(const Sweep& sweep, const SweepStyle& style) {
  Json json = sweep_json(sweep);
  json["style"] = {{"spread", sweep_spread_names[static_cast<std::size_t>(style.spread)]}, {"heat_map", style.heat_map}};
  return json;
}

SweepStyle parse_sweep_style(std::string_view text, std::vector<std::string>& remarks) {
  const nlohmann::json json = parse_json(text, 8);
  SweepStyle style;
  if (json.contains("style"))
    read_settings({{"style", json["style"]}}, "",
                  {{"style", Settings{{"spread", named(style.spread, sweep_spread_names)}, {"heat_map", &style.heat_map}}}},
                  remarks);
  return style;
}

Figure sweep_figure(const std::string& name, const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows,
                    const SweepStyle& style) {
  Figure f;
  f.name = name;
  f.panels.push_back(style.heat_map && sweep.axes.size() == 2 ? sweep_heat_panel(table_of(sweep, measure, rows))
                                                              : lines(sweep, measure, rows, style.spread));
  return f;
}

}  // namespace attoscope
