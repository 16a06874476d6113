#include "kernels/slips/fit.h"

namespace attoscope {

void Fit::add(const Fit& x) {
  truth_square += x.truth_square, square += x.square, apart_square += x.apart_square, along += x.along;
  telling += x.telling, output_square += x.output_square, error_square += x.error_square, left_square += x.left_square,
      left += x.left;
  largest = std::max(largest, x.largest), size = std::max(size, x.size);
  compared += x.compared, unexplained += x.unexplained, rows += x.rows;
}

Fit fit_of_row(const double* output, const double* expected, const double* golden, int count, double unit) {
  Fit f{.rows = 1};
  Fit part;
  for (int c = 0; c < count; ++c) {
    const double x = output[c], y = expected[c], g = golden[c];
    if (!std::isfinite(x)) {
      f.unexplained += std::isfinite(y);
      continue;
    }
    const double wanted = std::isfinite(y) ? y : 0, distance = x - wanted;  // a row without keys may be 0 or NaN
    part.truth_square += (x - g) * (x - g), part.square += distance * distance;
    part.apart_square += (wanted - g) * (wanted - g), part.along += (x - g) * (wanted - g);
    f.output_square += x * x;
    f.left += distance * distance / (unit * unit);
    f.largest = std::max(f.largest, std::abs(distance));
    if (std::isfinite(y)) f.size = std::max(f.size, std::abs(y));
    ++f.compared;
  }
  f.error_square = part.truth_square, f.left_square = part.square;
  part.telling = f.compared;
  if (4 * part.apart_square >= unit * unit * static_cast<double>(f.compared)) f.add(part);
  return f;
}

}  // namespace attoscope
