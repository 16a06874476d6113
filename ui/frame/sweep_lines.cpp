#include "ui/frame/sweep_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attoscope::ui {
namespace {

/// Indices of the first parameter's values in ascending order; names keep their order.
std::vector<std::size_t> ascending_values(const SweepTable& t) {
  std::vector<std::size_t> order(t.axes[0].names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!has_categories(t)) std::ranges::stable_sort(order, {}, [&](std::size_t i) { return t.axes[0].numbers[i]; });
  return order;
}

/// A line's name: the second parameter's value, after the parameter's title if it is a number; without one the method.
std::string line_name(const SweepTable& t, std::size_t second) {
  if (t.axes.size() < 2) return t.has_rival ? t.methods[0] : "";
  const SweepValues& axis = t.axes[1];
  return (axis.numbers.empty() ? "" : axis.title + " ") + axis.names[second];
}

/// Means for one value of the second parameter; points without an answer are left out.
Series mean_line(const SweepTable& t, std::size_t second, SeedSpread spread, std::vector<SweepPlace>& places) {
  Series line = series_of(line_name(t, second), t.axes.size() < 2 && t.of == "b" ? Ink::b : Ink::a,
                          has_categories(t) ? Shape::marks : Shape::line_and_marks);
  for (const std::size_t i : ascending_values(t)) {
    const SweepCell& c = t.cells[i * t.across() + second];
    if (c.count == 0 || !std::isfinite(c.mean)) continue;
    const SpreadEnds ends = spread_ends(c, spread);
    line.x.push_back(has_categories(t) ? static_cast<double>(i) : t.axes[0].numbers[i]);
    line.y.push_back(c.mean);
    if (t.seeds > 1) {
      line.low.push_back(ends.low);
      line.high.push_back(ends.high);
    }
    places.push_back({static_cast<int>(i), static_cast<int>(second)});
  }
  return line;
}

Series rival_line(const SweepTable& t) {
  Series line = series_of(t.methods[1], Ink::b, has_categories(t) ? Shape::marks : Shape::line_and_marks);
  line.dashed = true;
  for (const std::size_t i : ascending_values(t)) {
    const SweepCell& c = t.cells[i * t.across()];
    if (c.count == 0 || !std::isfinite(c.rival)) continue;
    line.x.push_back(has_categories(t) ? static_cast<double>(i) : t.axes[0].numbers[i]);
    line.y.push_back(c.rival);
  }
  return line;
}

/// True if there are finite numbers and all are above 0.
template <class... Lists>
bool all_positive(const Lists&... lists) {
  bool any = false, all = true;
  const auto take = [&](const std::vector<double>& values) {
    for (const double v : values)
      if (std::isfinite(v)) {
        any = true;
        all &= v > 0;
      }
  };
  (take(lists), ...);
  return any && all;
}

}  // namespace

bool has_categories(const SweepTable& table) { return table.axes[0].numbers.empty(); }

std::string measure_title(const SweepTable& t) {
  std::string title = t.measure;
  const auto named = [&](std::string_view who, const std::string& name) {
    const std::size_t at = title.find(who);
    if (at != std::string::npos) title.replace(at, who.size(), name);
    return at != std::string::npos;
  };
  if (named(", a / b", ", " + t.methods[0] + " / " + t.methods[1])) return title;
  if (t.of == "a") named(", a", t.has_rival ? "" : ", " + t.methods[0]);
  if (t.of == "b") named(", b", ", " + t.methods[1]);
  return title;
}

SpreadEnds spread_ends(const SweepCell& c, SeedSpread spread) {
  if (spread == SeedSpread::min_max) return {c.min, c.max};
  return {c.mean - c.std > 0 || c.mean <= 0 ? c.mean - c.std : c.min, c.mean + c.std};
}

SweepLines sweep_lines(const SweepTable& t, const SweepAxes& axes) {
  SweepLines lines;
  FigurePanel& p = lines.panel;
  const std::size_t all = t.across(), shown = std::min(all, most_lines);
  lines.left_out = all - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t second = shown > 1 ? i * (all - 1) / (shown - 1) : 0;
    Series& s = p.series.emplace_back(mean_line(t, second, axes.spread, lines.places.emplace_back()));
    if (t.axes.size() > 1) take_turn(s, i);
  }
  if (t.has_rival) p.series.push_back(rival_line(t));
  const bool positive =
      std::ranges::any_of(p.series, [](const Series& s) { return all_positive(s.y); }) &&
      std::ranges::all_of(p.series, [](const Series& s) { return s.y.empty() || all_positive(s.y, s.low, s.high); });
  p.x = number_axis(t.axes[0].title, !has_categories(t) && axes.log_x && all_positive(t.axes[0].numbers));
  if (has_categories(t)) p.x.categories = t.axes[0].names;
  if (p.x.log && std::ranges::all_of(t.axes[0].numbers, [](double x) { return x >= 1 && x == std::floor(x); })) p.x.base = 2;
  p.y = number_axis(measure_title(t), axes.log_y && positive);
  return lines;
}

std::size_t heat_cell(const SweepTable& table, std::size_t cell) {
  const std::size_t across = table.axes[0].names.size(), down = table.across();
  return (down - 1 - cell % down) * across + cell / down;
}

FigurePanel sweep_heat_panel(const SweepTable& table, bool log) {
  FigurePanel panel;
  for (const auto& [axis, values] : {std::pair{&panel.x, &table.axes[0]}, std::pair{&panel.y, &table.axes[1]}}) {
    axis->label = values->title;
    axis->categories = values->names;
  }
  const std::size_t across = table.axes[0].names.size(), down = table.across();
  FigureHeat& heat = panel.heat.emplace();
  heat.width = static_cast<int>(across);
  heat.height = static_cast<int>(down);
  heat.values.assign(across * down, FigureHeat::nothing);
  double least = INFINITY, least_above = INFINITY, largest = 0;
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const SweepCell& c = table.cells[i];
    if (c.count == 0) continue;
    heat.values[heat_cell(table, i)] = static_cast<float>(c.mean);
    if (!std::isfinite(c.mean)) continue;
    least = std::min(least, c.mean);
    if (c.mean > 0) least_above = std::min(least_above, c.mean);
    largest = std::max(largest, std::fabs(c.mean));
  }
  heat.x0 = heat.y1 = -0.5;
  heat.x1 = heat.width - 0.5;
  heat.y0 = heat.height - 0.5;
  heat.diverging = least < 0;
  heat.log = log;
  heat.range = largest > 0 ? largest : 1;
  constexpr double most_over_knee = 3000;
  heat.knee = std::isfinite(least_above) ? std::max(least_above, heat.range / most_over_knee) : 0;
  heat.label = measure_title(table);
  return panel;
}

}  // namespace attoscope::ui
