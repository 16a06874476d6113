#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/judge/judge.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

constexpr double deviations = 4;

/// A sum over rows of numbers whose signs are random, or are not.
struct SignedSum {
  double sum = 0, square = 0;
  void add(double x) { sum += x, square += x * x; }
  bool has_sign() const { return std::abs(sum) > deviations * std::sqrt(square); }
};

}  // namespace

bool error_has_sign(const JudgedOutput& output, const Judged& judged) {
  const Matrix& golden = judged.tolerance.golden;
  const SoftmaxVariant variant = right_softmax(output.problem);
  const VariantHead head = variant_head(output.problem.input.tensors);
  const std::size_t columns = at(golden.cols);
  SignedSum of_golden, of_place;
  std::vector<SignedSum> of_key(at(head.shape.n_k));
  std::vector<double> error(columns);
  for (int row = 0; row < golden.rows; ++row) {
    const double *const right = &golden.values[at(row) * columns], *const o = &(*output.values)[at(row) * columns];
    double square = 0, product = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      error[c] = std::isfinite(right[c]) ? o[c] - right[c] : 0;
      if (std::isfinite(right[c])) square += error[c] * error[c], product += error[c] * right[c];
    }
    if (!std::isfinite(square)) return true;
    if (square == 0) continue;
    of_golden.add(product);
    of_place.add(product * (2.0 * row / golden.rows - 1));
    const std::vector<double> P = weights(head, variant, row);
    for (std::size_t j = 0; j < P.size(); ++j) {  // the error times P (V - O), which the key adds to the output
      if (P[j] == 0) continue;
      double along = 0;
      for (std::size_t c = 0; c < columns; ++c) along += error[c] * head.v[j * columns + c];
      if (std::isfinite(along)) of_key[j].add(P[j] * (along - product));
    }
  }
  return of_golden.has_sign() || of_place.has_sign() || std::ranges::any_of(of_key, &SignedSum::has_sign);
}

}  // namespace attoscope
