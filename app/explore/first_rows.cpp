#include "app/explore/first_rows.h"

#include <algorithm>

namespace attoscope {
namespace {

constexpr double at_once = 0.04;  ///< seconds below which no preview is needed

/// Multiply-adds of q.k or P.V in a row that sees all keys; their mean if d_v differs from d.
double products_of_a_row(const Problem& p) { return 0.5 * key_count(p) * (p.d + value_columns(p)); }

/// CPU: estimated from useful operations, about a hundred a nanosecond on two cores for golden, a and b together.
int first_rows_of_cpu(const Problem& p, int all) {
  constexpr double per_second = 1e11, soon = 0.008;
  const double row = 3 * 4.0 * products_of_a_row(p) / per_second;
  return row * all < at_once ? 0 : std::clamp(static_cast<int>(soon / row), 64, std::max(64, all / 4));
}

/// GPU: preview one wave of rows if at least four waves are needed.
int first_rows_of_gpu(const Problem& p, int all, int rows_at_a_time) {
  constexpr double seconds_of_a_key = 4e-6;  ///< golden, a and b together at d = 64
  constexpr int least_rounds = 4;
  const int rounds = (all - 1) / rows_at_a_time + 1;
  const double round = seconds_of_a_key * products_of_a_row(p) / 64;
  return rounds < least_rounds || rounds * round < at_once ? 0 : rows_at_a_time;
}

}  // namespace

int first_rows(const Problem& p, int rows_at_a_time) {
  const int all = p.rows == 0 ? p.n : std::min(p.rows, p.n);
  return rows_at_a_time > 0 ? first_rows_of_gpu(p, all, rows_at_a_time) : first_rows_of_cpu(p, all);
}

}  // namespace attoscope
