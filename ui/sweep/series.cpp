#include "ui/sweep/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/experiment/csv_text.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The first parameter's values in ascending order; names keep theirs.
std::vector<std::size_t> ascending(const SweepTable& t) {
  std::vector<std::size_t> order(t.axes[0].names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!has_categories(t)) std::ranges::stable_sort(order, {}, [&](std::size_t i) { return t.axes[0].numbers[i]; });
  return order;
}

/// Means for one value of the second parameter; points without an answer are left out.
Series mean_line(const SweepTable& t, std::size_t second, SeedSpread spread, std::vector<SweepPlace>& places) {
  Series line = series_of(t.axes.size() > 1 ? t.axes[1].names[second]
                          : t.has_rival     ? "a"
                                            : "",
                          Ink::a, has_categories(t) ? Shape::marks : Shape::line_and_marks);
  for (const std::size_t i : ascending(t)) {
    const SweepCell& c = t.cells[i * t.across() + second];
    if (c.count == 0 || !std::isfinite(c.mean)) continue;
    const SpreadEnds ends = spread_ends(c, spread);
    line.x.push_back(has_categories(t) ? static_cast<double>(i) : t.axes[0].numbers[i]);
    line.y.push_back(c.mean);
    if (t.seeds > 1) line.low.push_back(ends.low), line.high.push_back(ends.high);
    places.push_back({static_cast<int>(i), static_cast<int>(second)});
  }
  return line;
}

Series rival_line(const SweepTable& t) {
  Series line = series_of("b", Ink::b, has_categories(t) ? Shape::marks : Shape::line_and_marks);
  line.dashed = true;
  for (const std::size_t i : ascending(t)) {
    const SweepCell& c = t.cells[i * t.across()];
    if (c.count == 0 || !std::isfinite(c.rival)) continue;
    line.x.push_back(has_categories(t) ? static_cast<double>(i) : t.axes[0].numbers[i]);
    line.y.push_back(c.rival);
  }
  return line;
}

/// True if all finite numbers are above 0, and there is one.
template <class... Lists>
bool all_positive(const Lists&... lists) {
  bool any = false, all = true;
  const auto take = [&](const std::vector<double>& values) {
    for (const double v : values)
      if (std::isfinite(v)) any = true, all &= v > 0;
  };
  (take(lists), ...);
  return any && all;
}

/// Decimals that give the largest of numbers in this range four digits; -1 if some are too small or too large.
int plain_decimals(double least, double largest) {
  if (!(largest > 0) || least < 0.01 || largest >= 1e4) return -1;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(largest))), 0, 3);
}

}  // namespace

bool has_categories(const SweepTable& table) { return table.axes[0].numbers.empty(); }

SpreadEnds spread_ends(const SweepCell& c, SeedSpread spread) {
  if (spread == SeedSpread::min_max) return {c.min, c.max};
  return {c.mean - c.std > 0 || c.mean <= 0 ? c.mean - c.std : c.min, c.mean + c.std};
}

SweepExtremes extremes(const SweepTable& t) {
  SweepExtremes e;
  double least_size = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < t.cells.size(); ++i) {
    const SweepCell& c = t.cells[i];
    if (c.count == 0 || !std::isfinite(c.mean)) continue;
    if (e.known == 0) e.least = e.largest = i;
    if (c.mean < t.cells[e.least].mean) e.least = i;
    if (c.mean > t.cells[e.largest].mean) e.largest = i;
    e.largest_size = std::max(e.largest_size, std::abs(c.mean));
    if (c.mean != 0) least_size = std::min(least_size, std::abs(c.mean));
    if (c.mean > 0 && (e.least_above == 0 || c.mean < e.least_above)) e.least_above = c.mean;
    e.below_one += c.mean < 1;
    ++e.known;
  }
  e.decimals = plain_decimals(least_size, e.largest_size);
  return e;
}

std::string mean_text(const SweepExtremes& e, double x, int more) {
  const bool plain = e.decimals >= 0 && std::isfinite(x) && std::abs(x) < 1e6;
  if (!plain) return scientific(x, 3 + more);
  const int decimals = e.decimals + more;
  if (x != 0 && std::abs(x) < 0.5 * std::pow(10.0, -decimals)) return scientific(x, 2);
  return fmt::format("{:.{}f}", x, decimals);
}

bool refresh(SweepDrawing& d, const std::shared_ptr<const SweepTable>& table, const SweepPlan& plan) {
  if (d.table == table && d.spread == plan.spread && d.log_x == plan.log_x && d.log_y == plan.log_y) return false;
  d = {table, plan.spread, plan.log_x, plan.log_y, {}, {}, {}, {}, 0};
  if (!table) return true;
  const SweepTable& t = *table;
  const std::size_t all = t.across(), shown = std::min(all, most_lines);
  d.left_out = all - shown;
  FigurePanel& p = d.panel;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t second = shown > 1 ? i * (all - 1) / (shown - 1) : 0;
    Series& s = p.series.emplace_back(mean_line(t, second, plan.spread, d.places.emplace_back()));
    if (t.axes.size() > 1) s.ink = static_cast<Ink>(static_cast<std::size_t>(Ink::one) + i % 6);
  }
  if (t.has_rival) p.series.push_back(rival_line(t));
  const bool positive =
      std::ranges::any_of(p.series, [](const Series& s) { return all_positive(s.y); }) &&
      std::ranges::all_of(p.series, [](const Series& s) { return s.y.empty() || all_positive(s.y, s.low, s.high); });
  p.x = number_axis(t.axes[0].title, !has_categories(t) && plan.log_x && all_positive(t.axes[0].numbers));
  if (has_categories(t)) p.x.categories = t.axes[0].names;
  if (p.x.log && std::ranges::all_of(t.axes[0].numbers, [](double x) { return x >= 1 && x == std::floor(x); })) p.x.base = 2;
  p.y = number_axis(t.measure, plan.log_y && positive);
  d.extremes = extremes(t);
  for (std::size_t i = 0; i < t.axes.size(); ++i) d.longest[i] = std::ranges::max(t.axes[i].names, {}, &std::string::size);
  return true;
}

const SweepCell* cell_at(const SweepTable& table, const SweepPlace& place) {
  const auto count = [&](std::size_t i) { return i < table.axes.size() ? static_cast<int>(table.axes[i].names.size()) : 1; };
  if (place[0] < 0 || place[1] < 0 || place[0] >= count(0) || place[1] >= count(1)) return nullptr;
  return &table.cells[static_cast<std::size_t>(place[0]) * table.across() + static_cast<std::size_t>(place[1])];
}

std::string sweep_csv(const SweepTable& table) {
  std::string head;
  for (const SweepValues& axis : table.axes) head += axis.key + ",";
  CsvText csv(head + "mean,std,min,max,seeds,error");
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const SweepCell& c = table.cells[i];
    if (c.count == 0 && c.error < 0) continue;
    csv.add(table.axes[0].names[i / table.across()]);
    if (table.axes.size() > 1) csv.add(table.axes[1].names[i % table.across()]);
    for (const double x : {c.mean, c.std, c.min, c.max}) csv.add(c.count > 0 ? fmt::format("{:.17g}", x) : "");
    csv.add(c.count).add(c.error < 0 ? "" : table.errors[static_cast<std::size_t>(c.error)]).end_line();
  }
  return csv.take();
}

}  // namespace attoscope
