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

class ErrorSign {
 public:
  ErrorSign(const JudgedOutput& output, const Judged& judged)
      : p_(output.problem), o_(*output.values), golden_(judged.tolerance.golden) {}

  bool found() {
    for (int row = 0; row < golden_.rows; ++row) add_row(row);
    const auto has_sign = [](const SignedSum& s) { return s.has_sign(); };
    return infinite_ || of_golden_.has_sign() || of_place_.has_sign() || std::ranges::any_of(of_key_, has_sign);
  }

 private:
  void add_row(int row) {
    const auto columns = static_cast<std::size_t>(golden_.cols);
    const double* exact = golden_.values.data() + static_cast<std::size_t>(row) * columns;
    std::vector<double> error(columns);
    double square = 0, product = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      error[c] = o_[static_cast<std::size_t>(row) * columns + c] - exact[c];
      if (!std::isfinite(exact[c])) {
        error[c] = 0;
        continue;
      }
      square += error[c] * error[c], product += error[c] * exact[c];
    }
    if (!std::isfinite(square)) infinite_ = true;
    if (infinite_ || square == 0) return;
    of_golden_.add(product);
    of_place_.add(product * (2.0 * row / golden_.rows - 1));
    add_keys(row, error, product);
  }

  /// Adds for each key the sum over columns of the error times P (V - O).
  void add_keys(int row, const std::vector<double>& error, double product) {
    const std::vector<double> P = weights(head_, variant_, row);
    for (std::size_t j = 0; j < P.size(); ++j) {
      if (P[j] == 0) continue;
      const double* v = head_.v.data() + j * error.size();
      double along = 0;
      for (std::size_t c = 0; c < error.size(); ++c) along += error[c] * v[c];
      if (std::isfinite(along)) of_key_[j].add(P[j] * (along - product));
    }
  }

  const Problem& p_;
  const std::vector<double>& o_;
  const Matrix& golden_;
  SoftmaxVariant variant_ = right_softmax(p_);
  VariantHead head_ = variant_head(p_.input.tensors);
  SignedSum of_golden_, of_place_;
  std::vector<SignedSum> of_key_ = std::vector<SignedSum>(at(head_.shape.n_k));
  bool infinite_ = false;
};

}  // namespace

bool error_has_sign(const JudgedOutput& output, const Judged& judged) { return ErrorSign(output, judged).found(); }

}  // namespace attoscope
