/// Rounding, exact attention and exact gradients, from first principles.
#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "tests/reference/plain.h"
#include "tests/reference/plain_backward.h"

namespace attoscope::plain {
namespace {

/// 2^exponent, from a table: std::ldexp would take most of the time of the tests.
long double power_of_two(int exponent) {
  constexpr int most = 1100;
  static const auto powers = [] {
    std::array<long double, 2 * most + 1> all{};
    for (int e = -most; e <= most; ++e) all[static_cast<std::size_t>(e + most)] = std::ldexp(1.0L, e);
    return all;
  }();
  return powers[static_cast<std::size_t>(exponent + most)];
}

/// The largest finite number of f: the last mantissa of the top exponent, or the one before it if that is NaN.
long double largest_number(const Format& f) {
  const bool top_exponent_holds_numbers = f.top_code_nan && f.mantissa_bits > 0;
  const int top = (1 << (f.exponent_bits - 1)) - (top_exponent_holds_numbers ? 0 : 1);
  const long double last = top_exponent_holds_numbers ? 2 : 1;
  return (2 - last * power_of_two(-f.mantissa_bits)) * power_of_two(top);
}

template <class T>
T beyond(const Format& f, T x) {
  if (f.overflow == Overflow::nan) return std::numeric_limits<T>::quiet_NaN();
  if (f.overflow == Overflow::saturate) return std::copysign(static_cast<T>(largest_number(f)), x);
  return std::copysign(std::numeric_limits<T>::infinity(), x);
}

using Wide = boost::multiprecision::cpp_bin_float_quad;  // 113 bits

double at(const std::vector<double>& tensor, int row, int cols, int col) {
  return tensor[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
}

/// tanh(S / softcap), or S without a soft cap.
Wide uncapped_score(const Problem& problem, const Tensors& inputs, int row, int key) {
  Wide sum = 0;
  for (int i = 0; i < inputs.d; ++i) sum += static_cast<Wide>(at(inputs.q, row, inputs.d, i)) * at(inputs.k, key, inputs.d, i);
  sum *= scale_of(problem);
  return problem.softcap != 0 ? tanh(sum / problem.softcap) : sum;
}
Wide score(const Problem& problem, const Tensors& inputs, int row, int key) {
  const Wide x = uncapped_score(problem, inputs, row, key), sum = problem.softcap != 0 ? problem.softcap * x : x;
  const int first_key = problem.mask.top_left ? 0 : inputs.n_k - inputs.n;
  const MaskView mask = mask_view(problem);
  const Wide term = mask.terms != nullptr ? mask.term(row, key) : 0;
  const Wide score = sum - static_cast<Wide>(problem.alibi) * std::abs(row + first_key - key);
  return term < -1e30 ? term : score + term;  // next to such a term a double holds no bit of the score
}

}  // namespace

template <class T>
T nearest(const Format& f, T x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return beyond(f, x);
  const int smallest_exponent = 2 - (1 << (f.exponent_bits - 1));
  const long double spacing = power_of_two(std::max(std::ilogb(x), smallest_exponent) - f.mantissa_bits);
  const long double y = std::rint(x / spacing) * spacing;
  return std::fabs(y) > largest_number(f) ? beyond(f, x) : std::copysign(static_cast<T>(y), x);
}
template float nearest(const Format&, float);
template double nearest(const Format&, double);

std::vector<long double> softmax(const Problem& problem, const Tensors& inputs, int row, Keys keys) {
  std::vector<Wide> S, O(static_cast<std::size_t>(inputs.d_v));
  Wide m = -std::numeric_limits<double>::infinity(), l = 0;
  for (int key = keys.first; key < keys.end; ++key) {
    S.push_back(score(problem, inputs, row, key));
    m = S.back() > m ? S.back() : m;
  }
  for (int key = keys.first; key < keys.end; ++key) {
    const Wide e = exp(S[static_cast<std::size_t>(key - keys.first)] - m);
    l += e;
    for (int col = 0; col < inputs.d_v; ++col) O[static_cast<std::size_t>(col)] += e * at(inputs.v, key, inputs.d_v, col);
  }
  if (problem.sink) l += exp(*problem.sink - m);
  std::vector<long double> output;
  if (keys.empty()) return std::vector<long double>(O.size());
  for (const Wide& o : O) output.push_back(static_cast<long double>(o / l));
  return output;
}

namespace {

/// The largest score of the keys that a row sees, or the sink, and the sum of exp(S - m).
struct MaxAndSum {
  Wide m, l;
  Wide log_sum() const { return m + log(l); }
};
MaxAndSum max_and_sum(const Problem& problem, const Tensors& inputs, int row, Keys keys) {
  Wide m = problem.sink ? *problem.sink : -std::numeric_limits<double>::infinity(), l = 0;
  for (int key = keys.first; key < keys.end; ++key) m = std::max(m, score(problem, inputs, row, key));
  for (int key = keys.first; key < keys.end; ++key) l += exp(score(problem, inputs, row, key) - m);
  return {m, problem.sink ? l + exp(*problem.sink - m) : l};
}

/// Adds one row's gradients to `sum`.
void add_row(const Problem& problem, const Tensors& x, const OutputGradients& d, int row, TrueGradients& sum) {
  const Keys keys = visible_keys(problem, row);
  if (keys.empty()) return;
  const MaxAndSum of_row = max_and_sum(problem, x, row, keys);
  const Wide L = of_row.log_sum();
  std::vector<Wide> P, dP, O(static_cast<std::size_t>(x.d_v));
  for (int key = keys.first; key < keys.end; ++key) {
    P.push_back(exp(score(problem, x, row, key) - of_row.m) / of_row.l);
    dP.push_back(0);
    for (int c = 0; c < x.d_v; ++c) {
      O[static_cast<std::size_t>(c)] += P.back() * at(x.v, key, x.d_v, c);
      dP.back() += static_cast<Wide>(at(d.d_o, row, x.d_v, c)) * at(x.v, key, x.d_v, c);
      sum.dv[static_cast<std::size_t>(key * x.d_v + c)] += static_cast<long double>(P.back() * at(d.d_o, row, x.d_v, c));
    }
  }
  Wide delta = d.d_lse.empty() ? 0 : -d.d_lse[static_cast<std::size_t>(row)];
  for (int c = 0; c < x.d_v; ++c) delta += O[static_cast<std::size_t>(c)] * at(d.d_o, row, x.d_v, c);
  sum.lse[static_cast<std::size_t>(row)] = static_cast<long double>(L);
  sum.delta[static_cast<std::size_t>(row)] = static_cast<long double>(delta);
  if (problem.sink) sum.dsink -= static_cast<long double>(exp(*problem.sink - L) * delta);
  for (int key = keys.first; key < keys.end; ++key) {
    const auto j = static_cast<std::size_t>(key - keys.first);
    const Wide t = uncapped_score(problem, x, row, key);
    const Wide dS = scale_of(problem) * P[j] * (dP[j] - delta) * (problem.softcap != 0 ? 1 - t * t : 1);
    for (int c = 0; c < x.d; ++c) {
      sum.dq[static_cast<std::size_t>(row * x.d + c)] += static_cast<long double>(dS * at(x.k, key, x.d, c));
      sum.dk[static_cast<std::size_t>(key * x.d + c)] += static_cast<long double>(dS * at(x.q, row, x.d, c));
    }
  }
}

}  // namespace

TrueGradients true_gradients(const Problem& problem, const Tensors& x, const OutputGradients& d) {
  TrueGradients sum{std::vector<long double>(x.q.size()), std::vector<long double>(x.k.size()),
                    std::vector<long double>(x.v.size()), std::vector<long double>(static_cast<std::size_t>(x.n)),
                    std::vector<long double>(static_cast<std::size_t>(x.n), -std::numeric_limits<long double>::infinity())};
  for (int row = 0; row < x.n; ++row) add_row(problem, x, d, row, sum);
  return sum;
}

long double loss(const Problem& problem, const Tensors& x, const OutputGradients& d) {
  Wide sum = 0;
  for (int row = 0; row < x.n; ++row) {
    const Keys keys = visible_keys(problem, row);
    if (keys.empty()) continue;
    const std::vector<long double> O = softmax(problem, x, row, keys);
    for (int c = 0; c < x.d_v; ++c) sum += static_cast<Wide>(at(d.d_o, row, x.d_v, c)) * O[static_cast<std::size_t>(c)];
    if (!d.d_lse.empty()) sum += d.d_lse[static_cast<std::size_t>(row)] * max_and_sum(problem, x, row, keys).log_sum();
  }
  return static_cast<long double>(sum);
}

}  // namespace attoscope::plain
