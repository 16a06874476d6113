#include "kernels/slips/rounded_loop.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace attoscope {
namespace {

constexpr double exp_error = 0x1p-21;  ///< relative error of exp in fp32: two units of ex2.approx, and its rounded argument
constexpr double four_deviations = 4 / std::numbers::sqrt3;  ///< of an error with uniform distribution, per its maximum

double rounded(const std::optional<Format>& f, double x) { return f ? round(*f, x) : x; }

/// One row in the loop.
class LoopRow {
 public:
  LoopRow(const VariantHead& head, const SoftmaxVariant& right, const RoundedLoop& loop, int row, double* out)
      : head_(head), loop_(loop), columns_(head.shape.d_v), keys_(right.keys(row)), out_(out) {
    std::fill_n(out, columns_, keys_.empty() ? std::nan("") : 0.0);
    if (keys_.empty()) return;
    s_ = scores(head, right, row);
    for (double& x : s_) x = rounded(loop.S, x);
    largest_error_ = loop.product_error * std::abs(right.scale) * row_lengths(query(row), head.shape.d).front();
    const int tiles = (keys_.end - 1) / loop.tile + 1, first = keys_.first / loop.tile;
    for (int t = first; t < tiles; ++t) add_tile(loop.is_reversed ? tiles - 1 - (t - first) : t);
    l_ += sink_weight(right, m_);
    for (int c = 0; c < columns_; ++c) out[c] /= l_;
  }

  void add_slack(double* slack) const {
    if (keys_.empty()) return;
    std::vector<double> square(at(columns_));
    for (const Doubt& x : doubts_) {
      const double step = x.step * std::exp(x.m - m_) / l_, *v = values(x.key);
      for (int c = 0; c < columns_; ++c) square[at(c)] += step * v[c] * step * v[c];
    }
    for (int c = 0; c < columns_; ++c)
      slack[c] += four_deviations * std::sqrt(square[at(c)]) + loop_.sum_error * (keys_.end - keys_.first) * std::abs(out_[c]);
  }

 private:
  /// A P that may be rounded to either of two numbers, `step` apart, relative to exp(m).
  struct Doubt {
    int key;
    double step, m;
  };

  std::vector<double> query(int row) const {
    const double* q = head_.q.data() + static_cast<std::ptrdiff_t>(row) * head_.shape.d;
    return {q, q + head_.shape.d};
  }
  const double* values(int key) const { return head_.v.data() + static_cast<std::ptrdiff_t>(key) * columns_; }
  double stored(double P) const { return rounded(loop_.P, P * loop_.factor) / loop_.factor; }

  void add_tile(int tile) {
    const int begin = std::max(tile * loop_.tile, keys_.first), end = std::min(keys_.end, (tile + 1) * loop_.tile);
    const double before = m_, top = *std::max_element(s_.begin() + begin, s_.begin() + end);
    if (m_ == -infinity || top > m_ + loop_.lazy) m_ = std::max(m_, top);
    if (m_ == -infinity) return;  // a mask tensor drops all keys so far
    const double alpha = before == -infinity ? 0 : rounded(loop_.alpha, std::exp(before - m_));
    l_ *= alpha;
    for (int c = 0; c < columns_; ++c) out_[c] *= alpha;
    for (int j = begin; j < end; ++j) {
      const double e = std::exp(s_[at(j)] - m_), P = std::min(loop_.largest_P, stored(e));
      l_ += loop_.l_of_rounded_P ? P : e;
      const double* v = values(j);
      for (int c = 0; c < columns_; ++c) out_[c] += P * v[c];
      if (largest_error_ == 0) continue;
      const double error = largest_error_ * head_.k_length[at(j)] + exp_error,
                   step = stored(e * (1 + error)) - stored(e * (1 - error));
      if (step != 0) doubts_.push_back({j, step, m_});
    }
    l_ = rounded(loop_.l, l_);
    for (int c = 0; c < columns_; ++c) out_[c] = rounded(loop_.O, out_[c]);
  }

  const VariantHead& head_;
  const RoundedLoop& loop_;
  int columns_;
  Keys keys_;
  double* out_;
  std::vector<double> s_;
  std::vector<Doubt> doubts_;
  double m_ = -infinity, l_ = 0, largest_error_ = 0;
};

}  // namespace

RoundedRow rows_of(SharedHead head, const SoftmaxVariant& right, const RoundedLoop& loop) {
  return [head = std::move(head), right, loop](int row, double* out, double* slack) {
    const LoopRow done(*head, right, loop, row, out);
    if (slack) done.add_slack(slack);
  };
}

}  // namespace attoscope
