/// Deviation of a method's log-sum-exp from golden's.
#pragma once

#include <cstdint>
#include <vector>

namespace attoscope {

/// Over the rows in which golden's is finite, natural.
struct LseError {
  double max_abs = 0, rms = 0, bias = 0;
  std::int64_t nonfinite = 0;  ///< rows left out: the method's is not finite
};
/// `base_2`: `lse` is in base 2.
LseError lse_error(const std::vector<double>& golden, const std::vector<double>& lse, bool base_2);

}  // namespace attoscope
