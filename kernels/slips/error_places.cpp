#include <algorithm>

#include "kernels/slips/slips.h"

namespace attoscope {
namespace {

using Indices = std::vector<int>;

/// "in row 7", "in rows 960 to 999"; "" if the indices are no run.
std::string in_run(const char* what, const Indices& bad) {
  const bool is_run = bad.back() - bad.front() + 1 == static_cast<int>(bad.size());
  return is_run ? "in " + run_text(what, bad.front(), bad.back()) : "";
}

/// "in every 64th row from row 3 on", if the indices are such a series.
std::string period_text(const char* what, const Indices& bad, int count) {
  if (bad.size() < 3) return "";
  const int period = bad[1] - bad[0];
  for (std::size_t i = 1; i < bad.size(); ++i)
    if (bad[i] - bad[i - 1] != period) return "";
  if (bad.front() >= period || bad.back() + period < count) return "";
  return "in " + series_text(what, period, bad.front());
}

/// "in whole tiles of 64 rows: 3 of 16", for the largest tile size at which each tile is wrong in (nearly) all rows or in none.
std::string tiles_text(const std::vector<bool>& bad) {
  const int n = static_cast<int>(bad.size());
  for (int tile = 256; tile >= 16; tile /= 2) {
    if (n < 2 * tile) continue;
    int full = 0, mixed = 0;
    for (int first = 0; first < n; first += tile) {
      const int end = std::min(n, first + tile);
      const auto count = std::count(bad.begin() + first, bad.begin() + end, true);
      full += count * 10 >= (end - first) * 9;
      mixed += count > 0 && count * 10 < (end - first) * 9;
    }
    if (full > 0 && mixed == 0)
      return "in whole tiles of " + std::to_string(tile) + " rows: " + std::to_string(full) + " of " +
             std::to_string((n + tile - 1) / tile);
  }
  return "";
}

Indices indices(const std::vector<bool>& bad) {
  Indices list;
  for (std::size_t i = 0; i < bad.size(); ++i)
    if (bad[i]) list.push_back(static_cast<int>(i));
  return list;
}

bool is_most(const Indices& bad, std::size_t count) { return bad.size() * 2 > count; }

}  // namespace

std::string series_text(const std::string& noun, int period, int first) {
  const char* ending = period % 100 / 10 == 1 ? "th"
                       : period % 10 == 1     ? "st"
                       : period % 10 == 2     ? "nd"
                       : period % 10 == 3     ? "rd"
                                              : "th";
  return "every " + std::to_string(period) + ending + " " + noun + " from " + noun + " " + std::to_string(first) + " on";
}

std::string error_places(const std::vector<bool>& bad_rows, const std::vector<bool>& bad_columns) {
  const Indices bad = indices(bad_rows), columns = indices(bad_columns);
  if (bad.empty() || columns.empty()) return "";
  if (bad.size() == 1) return in_run("row", bad);
  const int n = static_cast<int>(bad_rows.size()), width = static_cast<int>(bad_columns.size());
  if (!is_most(columns, bad_columns.size())) {
    for (std::string text : {in_run("column", columns), period_text("column", columns, width)})
      if (!text.empty()) return text;
    if (is_most(bad, bad_rows.size()))
      return "in " + std::to_string(columns.size()) + " of " + std::to_string(width) + " columns";
  }
  if (bad.size() * 10 >= bad_rows.size() * 9) return "everywhere";
  for (std::string text : {in_run("row", bad), period_text("row", bad, n), tiles_text(bad_rows)})
    if (!text.empty()) return text;
  if (is_most(bad, bad_rows.size())) return "in most rows";
  return "in " + std::to_string(bad.size()) + " rows, the first " + std::to_string(bad.front());
}

}  // namespace attoscope
