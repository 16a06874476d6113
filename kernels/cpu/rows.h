/// Helpers for rows of Q, K and V: indices, a loop over all rows on all threads, rounding to nearest.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/arithmetic/rounders.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {

/// Index of the first element of a row of d numbers.
inline std::size_t place(int row, int d) { return at(row) * at(d); }

/// Calls work(row) for all rows, on all threads.
template <class F>
void each_row(int n, const StopSign& stop, F work) {
  constexpr int piece = 256;
  parallel_for(0, (n + piece - 1) / piece, [&](int i) {
    stop.check();
    for (int row = i * piece; row < std::min(n, (i + 1) * piece); ++row) work(row);
  });
}

/// Rounds to nearest; returns numbers unchanged if `r` is exact.
template <class T>
class NearestRounder {
 public:
  NearestRounder(const Rounding& r, const Format& main) : plan_(plan<T>({r.kind, r.format, false}, main)) {}
  T operator()(T x) const { return plan_.rounds() ? round(plan_.format, x) : x; }
  int mantissa_bits() const { return plan_.mantissa_bits(); }

 private:
  RounderPlan<T> plan_;
};

}  // namespace attoscope
