/// The steps of the plain algorithms, in working type T. Keys are taken by ascending place; the place of a key is its index, or
/// counts from the last key if the method reverses them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/arithmetic/exponential.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/stop_sign.h"
#include "tests/reference/plain.h"
#include "tests/reference/plain_scaling.h"
#include "tests/reference/plain_tensor_core.h"

namespace attoscope::plain {

constexpr double log2_e = 0x1.71547652b82fep+0, ln_2 = 0x1.62e42fefa39efp-1;

template <class T>
class Steps {
 public:
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  Steps(const Experiment& e, const Method& m, const Tensors& inputs)
      : d(inputs.d),
        d_v(inputs.d_v),
        n(inputs.n_k),
        first_key(e.problem.mask.top_left ? 0 : inputs.n_k - inputs.n),
        problem(e.problem),
        method(m),
        exp2(m.exponential == ExponentialKind::exp2),
        folded_(exp2 && e.problem.softcap == 0 && e.problem.alibi == 0 && mask_view(e.problem).terms == nullptr),
        main_(e.format),
        input_(input_format(e, m)),
        stored_(stored(all_rounded(inputs.q), all_rounded(inputs.k), all_rounded(inputs.v), inputs.shape(), m, e.format,
                       e.problem.seed, largest_of_all(inputs))) {}

  const int d, d_v;     ///< columns of Q and K, of V
  const int n;          ///< keys
  const int first_key;  ///< key of query 0
  const Problem& problem;
  const Method& method;
  const bool exp2;

  /// True if rounding by `r` changes some number of the working type.
  bool rounds(const Rounding& r) const {
    return r.kind != Rounding::Kind::exact && format_of(r, main_) != (sizeof(T) == sizeof(float) ? fp32 : fp64);
  }
  T rounded(Step step, T x) const { return rounded_as(method.precision[step], x); }
  T rounded_as(const Rounding& r, T x) const { return r.kind == Rounding::Kind::exact ? x : nearest(format_of(r, main_), x); }

  /// Factor that turns S into a score.
  T score_unit() const { return folded_ ? static_cast<T>(scale_of(problem)) * score_factor() : T{1}; }

  /// The places that a row sees.
  Keys places(int row) const {
    const Keys keys = visible_keys(problem, row);
    return method.reverse_keys ? Keys{n - keys.end, n - keys.first} : keys;
  }
  /// The keys at these places, as a range again.
  Keys keys_at(Keys places) const { return method.reverse_keys ? Keys{n - places.end, n - places.first} : places; }

  // --- sums -----------------------------------------------------------------------------------------------------------

  /// The sum of a*b, with a[0]*b[0] as term `first`, rounded after every operation, in the method's order. A chain starts at
  /// `start`; a sum in another order is added to `start`.
  T inner(Step step, const std::vector<T>& a, const std::vector<T>& b, int first, std::optional<T> start = {}) const {
    if (step == Step::qk_step && method.accumulator.qk != Accumulator::fma) return accumulated(true, a, b, 0, T{0});
    if (step == Step::pv_step && method.accumulator.pv != Accumulator::fma)
      return accumulated(false, a, b, first, start.value_or(T{0}));
    if (method.order == SumOrder::sequential) {
      T sum = start.value_or(T{0});
      for (std::size_t i = 0; i < a.size(); ++i) sum = rounded(step, std::fma(a[i], b[i], sum));
      return sum;
    }
    const T sum = method.order == SumOrder::interleaved ? interleaved(step, a, b, first) : pairwise(step, a, b, first);
    return start ? rounded(step, *start + sum) : sum;
  }

  /// The tile's row sum; terms[0] is the tile's `first`-th term.
  T row_sum(const std::vector<T>& terms, int first) const {
    return rounded(Step::tile_sum,
                   method.kahan_l ? kahan(terms) : inner(Step::l_step, terms, std::vector<T>(terms.size(), T{1}), first));
  }

  /// P.V of one column over the places from `first` on; `index` is the index of place `first` in its tile.
  T weighted(const std::vector<T>& P, int first, int index, int col, std::optional<T> start = {}) const {
    std::vector<T> values;
    for (std::size_t j = 0; j < P.size(); ++j) values.push_back(stored_.v[at(key(first + static_cast<int>(j)), d_v, col)]);
    return inner(Step::pv_step, P, values, index, start);
  }

  /// O of a column as it leaves the kernel.
  T scaled_output(T o, int col) const {
    const Scaling& P = method.scaling.P;
    const T carried = P.is_on() && !P.shifts ? static_cast<T>(P.factor) : T{1};
    if (!stored_.o_factor.empty()) o = o * (stored_.o_factor[static_cast<std::size_t>(col)] / carried);
    if (stored_.o_factor.empty() && carried != 1) o = o * (1 / carried);
    return stored_.o_offset.empty() ? o : o + stored_.o_offset[static_cast<std::size_t>(col)];
  }

  // --- the backward pass ------------------------------------------------------------------------------------------------

  /// Numbers of Q that the stored numbers and scales represent.
  T Q(int row, int c) const {
    const T x = stored_.q[at(row, d, c)];
    return stored_.row_factor.empty() ? x : x * stored_.row_factor[static_cast<std::size_t>(row)];
  }
  T K(int key, int c) const {
    const T x = stored_.k[at(key, d, c)];
    return stored_.key_factor.empty() ? x : x * stored_.key_factor[static_cast<std::size_t>(key)];
  }
  T V(int key, int c) const {
    T x = stored_.v[at(key, d_v, c)];
    if (!stored_.o_factor.empty()) x = x * stored_.o_factor[static_cast<std::size_t>(c)];
    return stored_.o_offset.empty() ? x : x + stored_.o_offset[static_cast<std::size_t>(c)];
  }

  /// The score before the slope and its rounding.
  T capped_score(int row, int key) const {
    const auto part = [&](const std::vector<T>& x, int of) {
      return std::vector<T>(x.begin() + static_cast<std::ptrdiff_t>(at(of, d, 0)),
                            x.begin() + static_cast<std::ptrdiff_t>(at(of, d, d)));
    };
    T dot = inner(Step::qk_step, part(stored_.q, row), part(stored_.k, key), 0);
    if (!stored_.uniform && !stored_.row_factor.empty())
      dot = dot * (stored_.row_factor[static_cast<std::size_t>(row)] * stored_.key_factor[static_cast<std::size_t>(key)]);
    if (!stored_.bias.empty())
      dot = dot + stored_.bias[static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + static_cast<std::size_t>(key)];
    const T s = (folded_ ? T{1} : static_cast<T>(scale_of(problem)) * score_factor()) * dot;
    return problem.softcap != 0 ? soft_capped(s, static_cast<T>(problem.softcap)) : s;
  }
  /// S.
  T score(int row, int key) const {
    T s = capped_score(row, key);
    const auto distance = static_cast<T>(std::abs(row + first_key - key));
    if (problem.alibi != 0) s = std::fma(distance, -static_cast<T>(problem.alibi), s);
    const MaskView mask = mask_view(problem);
    if (mask.terms != nullptr) s = s + static_cast<T>(std::max(mask.term(row, key), lowest_term(method)));
    return rounded(Step::S, s);
  }
  /// Factor that turns S into an exponent of two, times the forward pass's factor if that is folded in.
  T c() const { return folded_ ? static_cast<T>(scale_of(problem) * log2_e) * score_factor() : static_cast<T>(log2_e); }

  // --- softmax --------------------------------------------------------------------------------------------------------

  std::vector<T> scores(int row, Keys places) const {
    std::vector<T> S;
    for (int place = places.first; place < places.end; ++place) S.push_back(score(row, key(place)));
    return S;
  }

  /// The largest S, ignoring NaN; moved away from ties if the method mitigates ties.
  T tile_max(const std::vector<T>& S) const {
    T t = -infinity;
    for (const T s : S) t = s > t ? s : t;
    const bool tied = std::count(S.begin(), S.end(), t) > 1 && t > -infinity;
    if (method.tie_beta == 0 || !tied || t == 0) return t;
    return t > 0 ? static_cast<T>(method.tie_beta) * t : T{0};
  }

  std::vector<T> exponentials(const std::vector<T>& S, T m) const {
    std::vector<T> e;
    for (const T s : S) e.push_back(rounded(Step::e, raised(rounded(Step::shifted, exponent(s, m))) * lift()));
    return e;
  }

  /// exp of a difference of maxima, unrounded.
  T factor(T difference) const { return exp2 ? exponential2(difference * c()) : exponential(difference); }
  /// Factor that turns a difference of S into an exponent of two.
  T log2_scale() const { return exp2 ? c() : static_cast<T>(log2_e); }

  /// P of a tile's e; e[0] is the tile's `index`-th.
  std::vector<T> P_of(const std::vector<T>& e, int index) const {
    return method.scaling.P.is_on() ? stored_P(e, index, method.scaling.P) : all_rounded(Step::P, e);
  }

  std::vector<T> all_rounded(Step step, const std::vector<T>& x) const {
    std::vector<T> y;
    for (const T value : x) y.push_back(rounded(step, value));
    return y;
  }

  /// l with the sink's share; `merged`: m is a log-sum-exp of several runs.
  T with_sink(T l, T m, bool merged) const {
    if (!problem.sink) return l;
    const auto sink = static_cast<T>(*problem.sink);
    if (merged || !exp2) {
      const T e = exponential(rounded(Step::shifted, sink - m));
      return rounded(Step::l, l + rounded(Step::e, merged ? e : e * lift()));
    }
    const T x = rounded(Step::shifted, std::fma(sink, static_cast<T>(log2_e), -(m * c() - shift())));
    return rounded(Step::l, l + rounded(Step::e, exponential2(x) * lift()));
  }

  /// ln of l without 2^p_exponent, plus m in scores.
  T log_sum_exp(T m, T l) const { return m * score_unit() + (logarithm(l) - log_lift()); }
  /// ln of the factor that e and l carry.
  T log_lift() const {
    const T lifted = static_cast<T>(method.p_exponent) * static_cast<T>(ln_2);
    return carries_P_factor() ? lifted + static_cast<T>(std::log(method.scaling.P.factor)) : lifted;
  }

 private:
  /// Sum by a GPU's tensor cores or in fp64; terms before `first` are 0.
  T accumulated(bool is_qk, const std::vector<T>& a, const std::vector<T>& b, int first, T start) const {
    const Accumulator accumulator = is_qk ? method.accumulator.qk : method.accumulator.pv;
    if (accumulator == Accumulator::f64) return in_fp64(a, b, first, start, is_qk ? a.size() : 64);
    std::vector<float> x(static_cast<std::size_t>(first)), y = x;
    x.insert(x.end(), a.begin(), a.end());
    y.insert(y.end(), b.begin(), b.end());
    const Format factors = factors_of(method, is_qk ? AttentionProduct::qk : AttentionProduct::pv, input_, main_).a;
    const TensorCoreRule rule = tensor_core_rule(gpu_of(accumulator), factors, sums_of(accumulator));
    return static_cast<T>(tensor_core_dot(rule, x, y, static_cast<float>(start)));
  }
  /// q.k is rounded at its end, P.V after every 64 keys of a tile.
  static T in_fp64(const std::vector<T>& a, const std::vector<T>& b, int first, T start, std::size_t run) {
    double sum = static_cast<double>(start);
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum = std::fma(static_cast<double>(a[i]), static_cast<double>(b[i]), sum);
      const bool ends = i + 1 == a.size() || (static_cast<std::size_t>(first) + i + 1) % run == 0;
      if (ends) sum = static_cast<double>(static_cast<float>(sum));
    }
    return static_cast<T>(sum);
  }

  std::vector<T> all_rounded(const std::vector<double>& x) const {
    return all_rounded(Step::input, std::vector<T>(x.begin(), x.end()));
  }
  /// Largest magnitudes of Q, K and V over all heads, after the method's input rounding; 0 if there is no other head.
  std::array<T, 3> largest_of_all(const Tensors& inputs) const {
    std::array<T, 3> largest{};
    for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V})
      if (inputs.all_heads) {
        const T x = all_rounded({inputs.all_heads->largest(t, StopSign{})})[0];
        const Rounding& r = method.precision[Step::input];
        largest[static_cast<std::size_t>(t)] = std::isfinite(x) ? x : static_cast<T>(attoscope::largest(format_of(r, main_)));
      }
    return largest;
  }
  static std::size_t at(int row, int columns, int col) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(col);
  }
  int key(int place) const { return method.reverse_keys ? n - 1 - place : place; }
  /// True if e and l carry the factor of P: in the exponent of 2, or as a factor of exp.
  bool carries_P_factor() const { return method.scaling.P.is_on() && method.scaling.P.shifts; }
  T shift() const { return carries_P_factor() && exp2 ? static_cast<T>(std::log2(method.scaling.P.factor)) : T{0}; }
  T lift() const {
    const T power = std::ldexp(T{1}, method.p_exponent);
    return carries_P_factor() && !exp2 ? power * static_cast<T>(method.scaling.P.factor) : power;
  }
  /// Product of the scales of Q and K if each tensor has one scale; else 1.
  T score_factor() const {
    return stored_.uniform && !stored_.row_factor.empty() ? stored_.row_factor[0] * stored_.key_factor[0] : T{1};
  }
  T exponent(T s, T m) const { return exp2 ? std::fma(s, c(), -(m * c() - shift())) : s - m; }
  T raised(T x) const {
    if (!exp2) return exponential(x);
    return method.exp2_degree == 0 ? exponential2(x) : exponential2_polynomial(x, method.exp2_degree);
  }

  T interleaved(Step step, const std::vector<T>& a, const std::vector<T>& b, int first) const {
    const auto lanes = static_cast<std::size_t>(method.sum_lanes);
    std::vector<T> chains(lanes);
    for (std::size_t i = 0; i < a.size(); ++i) {
      T& chain = chains[(static_cast<std::size_t>(first) + i) % lanes];
      chain = rounded(step, std::fma(a[i], b[i], chain));
    }
    T sum = chains[0];
    for (std::size_t i = 1; i < lanes; ++i) sum = rounded(step, sum + chains[i]);
    return sum;
  }

  /// A balanced tree over as many leaves as the next power of two; a branch without terms is empty.
  T pairwise(Step step, const std::vector<T>& a, const std::vector<T>& b, int first) const {
    std::vector<std::optional<T>> level(static_cast<std::size_t>(first));
    for (std::size_t i = 0; i < a.size(); ++i) level.push_back(rounded(step, a[i] * b[i]));
    while (level.size() > 1) {
      std::vector<std::optional<T>> above;
      level.resize((level.size() + 1) / 2 * 2);
      for (std::size_t i = 0; i < level.size(); i += 2) {
        const std::optional<T>&x = level[i], &y = level[i + 1];
        above.push_back(x && y ? rounded(step, *x + *y) : (x ? x : y));
      }
      level = above;
    }
    return level[0].value_or(T{0});
  }

  T kahan(const std::vector<T>& terms) const {
    const auto r = [this](T x) { return rounded(Step::l_step, x); };
    T sum = 0, lost = 0;
    for (const T term : terms) {
      const T y = r(term - lost), next = r(sum + y);
      lost = r(r(next - sum) - y);
      sum = next;
    }
    return sum;
  }

  const bool folded_;
  const Format& main_;
  const Format input_;  ///< of Q, K and V before they are stored
  const Stored<T> stored_;
};

}  // namespace attoscope::plain
