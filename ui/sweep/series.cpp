#include "ui/sweep/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/experiment/csv_text.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/plot.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Position of value `i` of the first parameter.
double x_of(const SweepTable& t, std::size_t i) { return has_categories(t) ? static_cast<double>(i) : t.axes[0].numbers[i]; }

/// Points of the cells with a finite `value`; `ends` returns their spread.
template <class Value, class Ends>
SweepLine line_of(const SweepTable& t, std::size_t second, Value value, Ends ends) {
  SweepLine line;
  line.second = static_cast<int>(second);
  line.curve.shape = has_categories(t) ? Shape::marks : Shape::line_and_marks;
  for (std::size_t i = 0; i < t.axes[0].names.size(); ++i) {
    const SweepCell& c = t.cells[i * t.across() + second];
    if (c.count == 0 || !std::isfinite(value(c))) continue;
    const SpreadEnds spread = ends(c);
    line.curve.x.push_back(x_of(t, i));
    line.curve.y.push_back(value(c));
    line.curve.low.push_back(spread.low);
    line.curve.high.push_back(spread.high);
    line.first.push_back(static_cast<int>(i));
  }
  return line;
}

SweepLine mean_line(const SweepTable& t, std::size_t second, SeedSpread spread) {
  SweepLine line =
      line_of(t, second, [](const SweepCell& c) { return c.mean; }, [&](const SweepCell& c) { return spread_ends(c, spread); });
  line.curve.label = t.axes.size() > 1 ? t.axes[1].names[second] : t.has_rival ? "a" : "";
  return line;
}

SweepLine rival_line(const SweepTable& t) {
  const auto mean = [](const SweepCell& c) { return c.rival; };
  SweepLine line = line_of(t, 0, mean, [&](const SweepCell& c) { return SpreadEnds{c.rival, c.rival}; });
  line.curve.label = "b";
  line.curve.ink = Ink::b;
  line.curve.dashed = true;
  return line;
}

/// Sorts by x; a typed list may have any order.
void sort_by_x(SweepLine& line) {
  Series& c = line.curve;
  if (std::ranges::is_sorted(c.x)) return;
  std::vector<std::size_t> order(c.x.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return c.x[i]; });
  const auto sorted = [&](auto& values) {
    auto result = values;
    for (std::size_t i = 0; i < order.size(); ++i) result[i] = values[order[i]];
    values = std::move(result);
  };
  sorted(c.y);
  sorted(c.low);
  sorted(c.high);
  sorted(line.first);
  sorted(c.x);
}

/// [low, high] with a margin; from 0 if low is less than half of high.
SweepRange padded(double low, double high, bool wants_log, bool from_zero) {
  if (!(low <= high)) return {0, 1, false};
  if (wants_log && low > 0) {
    const double air = high > low ? std::pow(high / low, 0.05) : 2;
    return {low / air, high * air, true};
  }
  const double air = high > low ? 0.05 * (high - low) : std::max(0.5 * std::abs(high), 1e-300);
  const bool zero = from_zero && low >= 0 && low < high / 2;
  return {zero ? 0 : low - air, high + air, false};
}

/// Range of the finite numbers that `each` passes to its argument.
template <class F>
SweepRange hull(F each) {
  SweepRange r{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), false};
  each([&](std::span<const double> values) {
    for (const double v : values)
      if (std::isfinite(v)) r.from = std::min(r.from, v), r.to = std::max(r.to, v);
  });
  return r;
}

SweepRange x_range(const SweepTable& t, bool wants_log) {
  if (has_categories(t)) return {-0.5, static_cast<double>(t.axes[0].names.size()) - 0.5, false};
  const SweepRange all = hull([&](auto take) { take(t.axes[0].numbers); });
  return padded(all.from, all.to, wants_log, false);
}

SweepRange y_range(const SweepDrawing& d, bool wants_log) {
  const SweepRange all = hull([&](auto take) {
    for (const SweepLine& line : d.lines) take(line.curve.low), take(line.curve.high), take(line.curve.y);
    if (d.rival) take(d.rival->curve.y);
  });
  return padded(all.from, all.to, wants_log, true);
}

/// Ticks at powers of ten; within two decades also at 2 and 5 times them.
std::vector<double> log_ticks(double from, double to, double most) {
  if (to < 8 * from) return round_ticks(from, to, most);
  const int first = static_cast<int>(std::floor(std::log10(from))), last = static_cast<int>(std::ceil(std::log10(to)));
  const int step = std::max(1, static_cast<int>(std::ceil((last - first) / std::max(1.0, most))));
  const bool fine = to <= 100 * from;
  std::vector<double> ticks;
  for (int e = first; e <= last; e += step)
    for (const double factor : {1.0, 2.0, 5.0})
      if (const double t = factor * std::pow(10.0, e); (fine || factor == 1) && t >= from && t <= to) ticks.push_back(t);
  return ticks;
}

/// Decimals that give the largest of numbers in this range four digits; -1 if some are too small or too large.
int plain_decimals(double least, double largest) {
  if (!(largest > 0) || least < 0.01 || largest >= 1e4) return -1;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(largest))), 0, 3);
}

/// Significant digits needed to distinguish evenly spaced ticks.
int digits_apart(const std::vector<double>& ticks) {
  if (ticks.size() < 2) return 2;
  const double step = ticks[1] - ticks[0], decade = std::floor(std::log10(step)), lead = step / std::pow(10.0, decade);
  const bool half = std::abs(lead - std::round(lead)) > 1e-6;  // a step of 2.5 needs one digit more
  return std::clamp(static_cast<int>(std::floor(std::log10(ticks.back())) - decade) + (half ? 2 : 1), 1, 6);
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
  d = {table, plan.spread, plan.log_x, plan.log_y, {}, {}, {}, {}, {}, {}, 0};
  if (!table) return true;
  const std::size_t all = table->across(), shown = std::min(all, most_lines);
  d.left_out = all - shown;
  for (std::size_t i = 0; i < shown; ++i)
    d.lines.push_back(mean_line(*table, shown > 1 ? i * (all - 1) / (shown - 1) : 0, plan.spread));
  if (table->has_rival) d.rival = rival_line(*table);
  for (SweepLine& line : d.lines) sort_by_x(line);
  if (d.rival) sort_by_x(*d.rival);
  d.extremes = extremes(*table);
  for (std::size_t i = 0; i < table->axes.size(); ++i)
    d.longest[i] = std::ranges::max(table->axes[i].names, {}, &std::string::size);
  d.x = x_range(*table, plan.log_x);
  d.y = y_range(d, plan.log_y);
  return true;
}

FigurePanel sweep_panel(const SweepDrawing& d) {
  const SweepTable& t = *d.table;
  FigurePanel panel;
  panel.x = number_axis(t.axes[0].title, d.x.log);
  if (has_categories(t)) panel.x.categories = t.axes[0].names;
  const bool doubles = std::ranges::all_of(t.axes[0].numbers, [](double x) { return x >= 1 && x == std::floor(x); });
  if (d.x.log && doubles) panel.x.base = 2;
  panel.y = number_axis(t.measure, d.y.log);
  for (std::size_t i = 0; i < d.lines.size(); ++i) {
    Series& s = panel.series.emplace_back(d.lines[i].curve);
    s.ink = t.axes.size() == 1 ? Ink::a : static_cast<Ink>(static_cast<std::size_t>(Ink::one) + i % 6);
    if (t.seeds == 1) s.low.clear(), s.high.clear();
  }
  if (d.rival) {
    Series& s = panel.series.emplace_back(d.rival->curve);
    s.low.clear(), s.high.clear();
  }
  return panel;
}

void SweepTicks::add(double value, std::string text) {
  at.push_back(value);
  texts.push_back(std::move(text));
}

std::vector<const char*> SweepTicks::labels() const {
  std::vector<const char*> list;
  for (const std::string& text : texts) list.push_back(text.c_str());
  return list;
}

SweepTicks value_ticks(const SweepRange& r, double most) {
  SweepTicks ticks{(r.log ? log_ticks : round_ticks)(r.from, r.to, std::min(most, 12.0)), {}};
  const bool powers = r.log && (r.from < 0.01 || r.to >= 1e4);
  for (const double t : ticks.at)
    ticks.texts.push_back(powers ? scientific(t, r.to < 8 * r.from ? digits_apart(ticks.at) : 1) : compact(t));
  return ticks;
}

Colour line_colour(const SweepTable& table, int second, Theme theme) {
  const Palette& colours = palette(theme);
  if (table.axes.size() < 2)
    return table.of == "b" ? colours.b : table.of == "a" || table.of == "ratio" ? colours.a : colours.accent;
  const float off_panel = is_light(theme) ? 0.61f : 0.66f;  // begin of the ramp's part with enough contrast to the panel
  const float share = table.across() > 1 ? static_cast<float>(second) / static_cast<float>(table.across() - 1) : 0.5f;
  return colour(off_panel + (1 - off_panel) * share, {.diverging = false, .log = false, .range = 1, .knee = 1, .theme = theme});
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
