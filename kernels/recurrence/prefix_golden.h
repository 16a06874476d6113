/// Exact output of one row over its first keys, updated key by key (Milakov, Gimelshein, arXiv 1805.02867, in precision G).
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "kernels/arithmetic/double_double.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// G is double or DD<double>.
template <class G>
class PrefixGolden {
 public:
  static constexpr bool is_double = std::is_same_v<G, double>;
  static G from(double x) {
    if constexpr (is_double)
      return x;
    else
      return G{x, 0};
  }
  static double high(const G& x) {
    if constexpr (is_double)
      return x;
    else
      return x.high;
  }

  explicit PrefixGolden(int d) : o_(static_cast<std::size_t>(d)) {}

  /// Adds one more key: its score and its row of V.
  void add(G score, const double* v) {
    if (high(score) == -std::numeric_limits<double>::infinity()) return;  // its weight is 0
    if (high(score) > max_ || empty_) {
      const G alpha = empty_ ? from(0) : exp_of(score, -1);
      if (!empty_) scale(alpha);
      m_ = score;
      max_ = high(score);
      empty_ = false;
    }
    const G e = exp_of(score, 1);
    l_ = l_ + e;
    for (std::size_t c = 0; c < o_.size(); ++c) o_[c] = o_[c] + e * from(v[c]);
  }

  /// Output so far, with the problem's sink in the denominator.
  double value(int column, const Job<double>& golden) const {
    const G& o = o_[static_cast<std::size_t>(column)];
    if (golden.has_sink && golden.sink - max_ > 700) return high(o) * exponential(max_ - golden.sink);  // the sink dominates l
    return high(o / (golden.has_sink ? l_ + exp_of(from(golden.sink), 1) : l_));
  }

  /// q.k of `count` keys.
  template <int count>
  static std::array<G, count> products(const double* q, const double* const* k, int d) {
    std::array<G, count> sums{};
    for (int c = 0; c < d; ++c)
      for (int i = 0; i < count; ++i) sums[i] = sums[i] + from(q[c]) * from(k[i][c]);
    return sums;
  }

  /// The score of a row and a key from their product `sum`, with soft-capping, ALiBi and the mask tensor's term.
  static G score(G sum, const double* q, const double* k, const Job<double>& golden, int row, int key) {
    sum = sum * from(golden.scale);
    if constexpr (!is_double)  // in double-double, infinity becomes NaN
      if (!std::isfinite(sum.high)) return from(PrefixGolden<double>::score(q, k, golden, row, key));
    if (golden.softcap != 0) sum = capped(sum, golden.softcap);
    if (golden.alibi != 0) sum = sum - from(std::abs(row + golden.diagonal - key)) * from(golden.alibi);
    return golden.mask_tensor.terms == nullptr ? sum : with_term(sum, mask_term(golden, row, key));
  }
  static G score(const double* q, const double* k, const Job<double>& golden, int row, int key) {
    return score(products<1>(q, &k, golden.d)[0], q, k, golden, row, key);
  }

 private:
  /// exp(score - m) for sign 1, exp(m - score) for sign -1.
  G exp_of(const G& score, int sign) const { return exponential(sign > 0 ? score - m_ : m_ - score); }
  void scale(const G& alpha) {
    l_ = l_ * alpha;
    for (G& o : o_) o = o * alpha;
  }

  /// s + term. If the term is so large that a double keeps no bit of s, the result is the term.
  static G with_term(const G& s, double term) {
    if (high(s) + term == term && term != 0) return from(term);
    return s + from(term);
  }

  static G capped(const G& x, double cap) {
    const G y = x / from(cap), t = exponential(y * from(high(y) < 0 ? 2 : -2));
    const G size = (from(1) - t) / (from(1) + t) * from(cap);
    return high(y) < 0 ? from(0) - size : size;
  }

  bool empty_ = true;
  double max_ = 0;
  G m_ = from(0), l_ = from(0);
  std::vector<G> o_;
};

}  // namespace attoscope
