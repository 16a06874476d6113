#include "ui/sweep/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/experiment/csv_text.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Decimals that give the largest of numbers in this range four digits; -1 if some are too small or too large.
int plain_decimals(double least, double largest) {
  if (!(largest > 0) || least < 0.01 || largest >= 1e4) return -1;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(largest))), 0, 3);
}

}  // namespace

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
  SweepLines lines = sweep_lines(t, {plan.spread, plan.log_x, plan.log_y});
  d.panel = std::move(lines.panel);
  d.places = std::move(lines.places);
  d.left_out = lines.left_out;
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
  std::string header;
  for (const SweepValues& axis : table.axes) header += axis.key + ",";
  CsvText csv(header + "mean,std,min,max,seeds,error");
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

}  // namespace attoscope::ui
