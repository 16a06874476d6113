#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/experiment/result.h"

namespace attoscope {

LseError lse_error(const std::vector<double>& golden, const std::vector<double>& lse, bool base_2) {
  LseError e;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (!std::isfinite(golden[i])) continue;
    const double off = (base_2 ? lse[i] * std::numbers::ln2 : lse[i]) - golden[i];
    if (!std::isfinite(off)) {
      ++e.nonfinite;
      continue;
    }
    ++rows, e.max_abs = std::max(e.max_abs, std::abs(off)), e.rms += off * off, e.bias += off;
  }
  if (rows > 0) e.rms = std::sqrt(e.rms / static_cast<double>(rows)), e.bias /= static_cast<double>(rows);
  return e;
}

}  // namespace attoscope
