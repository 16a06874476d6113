#include "kernels/experiment/result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace attoscope {

int busiest_row(const Result& r) {
  const RescaleMap& map = r.rescale_map;
  if (map.tiles <= 0 || map.m.empty()) return -1;
  const std::size_t rows = map.m.size() / static_cast<std::size_t>(map.tiles);
  int most = -1, found = -1;
  for (std::size_t i = 0; i < rows; ++i) {
    constexpr float none = -std::numeric_limits<float>::infinity();
    float before = none;
    int moves = 0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(map.tiles); ++t) {
      const float now = map.m[t * rows + i];
      if (now != now) continue;  // no key of the row in this tile
      moves += before > none && now != before;
      before = now;
    }
    const std::size_t index = i * static_cast<std::size_t>(map.row_step);
    if (moves >= most && index < r.rows.size()) {
      most = moves;
      found = r.rows[index];
    }
  }
  return found;
}

LseError lse_error(const std::vector<double>& golden, const std::vector<double>& lse, bool base_2) {
  LseError e;
  std::int64_t rows = 0;
  constexpr double none = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (golden[i] == none && lse[i] == none) continue;  // a row without keys
    const double off = (base_2 ? lse[i] * std::numbers::ln2 : lse[i]) - golden[i];
    if (!std::isfinite(off)) {
      ++e.nonfinite;
      continue;
    }
    ++rows;
    e.max_abs = std::max(e.max_abs, std::abs(off));
    e.rms += off * off;
    e.bias += off;
  }
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (rows == 0) return {.max_abs = unknown, .rms = unknown, .bias = unknown, .nonfinite = e.nonfinite};
  e.rms = std::sqrt(e.rms / static_cast<double>(rows));
  e.bias /= static_cast<double>(rows);
  return e;
}

}  // namespace attoscope
