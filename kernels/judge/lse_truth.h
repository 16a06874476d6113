/// The exact log-sum-exp of each query, and how far off a correct kernel may be.
#pragma once

#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/judge/lse_judge.h"

namespace attoscope {

/// Natural; -infinity without keys.
struct LseRows {
  std::vector<double> lse, max;  ///< n; the max of the scores
  std::vector<double> error;     ///< that fp32's arithmetic is expected to leave (fp64's, where D is wider than fp32)
};
/// In double, of scores that are rounded to `stored` where it is given. Throws what `stop` throws.
LseRows lse_rows(const Problem& problem, const Tensors& inputs, const Format& format, const StopSign& stop,
                 const Rounding& stored = exact);

/// The allowed error of the number x in units of its base, where the natural one may be off by `natural`.
double lse_tolerance(double natural, double unit, const Format& stored, double x);
/// log2 e for base 2, 1 for base e.
double unit_of(LseBase base);

}  // namespace attoscope
