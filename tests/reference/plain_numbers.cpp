/// Rounding and the truth, from first principles.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/plain.h"

#ifdef ATTOSCOPE_QUAD
#include <quadmath.h>
#endif

namespace attoscope::plain {
namespace {

/// The largest finite number of f: the last mantissa of the top exponent, or the one before it if that is NaN.
long double largest_number(const Format& f) {
  const bool top_exponent_holds_numbers = f.top_code_nan && f.mantissa_bits > 0;
  const int top = (1 << (f.exponent_bits - 1)) - (top_exponent_holds_numbers ? 0 : 1);
  const long double last = top_exponent_holds_numbers ? 2 : 1;
  return std::ldexp(2 - last * std::ldexp(1.0L, -f.mantissa_bits), top);
}

template <class T>
T beyond(const Format& f, T x) {
  if (f.overflow == Overflow::nan) return std::numeric_limits<T>::quiet_NaN();
  if (f.overflow == Overflow::saturate) return std::copysign(static_cast<T>(largest_number(f)), x);
  return std::copysign(std::numeric_limits<T>::infinity(), x);
}

#ifdef ATTOSCOPE_QUAD
using Wide = __float128;
Wide wide_exp(Wide x) { return expq(x); }
Wide wide_tanh(Wide x) { return tanhq(x); }
#else
using Wide = long double;
Wide wide_exp(Wide x) { return std::exp(x); }
Wide wide_tanh(Wide x) { return std::tanh(x); }
#endif

double at(const std::vector<double>& tensor, int row, int cols, int col) {
  return tensor[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
}

Wide score(const Problem& problem, const Tensors& inputs, int row, int key) {
  Wide sum = 0;
  for (int i = 0; i < inputs.d; ++i) sum += static_cast<Wide>(at(inputs.q, row, inputs.d, i)) * at(inputs.k, key, inputs.d, i);
  sum *= scale_of(problem);
  if (problem.softcap != 0) sum = problem.softcap * wide_tanh(sum / problem.softcap);
  const int first_key = problem.mask.top_left ? 0 : inputs.n_k - inputs.n;
  return sum - static_cast<Wide>(problem.alibi) * std::abs(row + first_key - key);
}

}  // namespace

template <class T>
T nearest(const Format& f, T x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return beyond(f, x);
  const int smallest_exponent = 2 - (1 << (f.exponent_bits - 1));
  const int quantum = std::max(std::ilogb(x), smallest_exponent) - f.mantissa_bits;
  const long double y = std::ldexp(std::nearbyint(std::ldexp(static_cast<long double>(x), -quantum)), quantum);
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
    const Wide e = wide_exp(S[static_cast<std::size_t>(key - keys.first)] - m);
    l += e;
    for (int col = 0; col < inputs.d_v; ++col) O[static_cast<std::size_t>(col)] += e * at(inputs.v, key, inputs.d_v, col);
  }
  if (problem.sink) l += wide_exp(*problem.sink - m);
  std::vector<long double> output;
  if (keys.empty()) return std::vector<long double>(O.size());
  for (const Wide o : O) output.push_back(static_cast<long double>(o / l));
  return output;
}

}  // namespace attoscope::plain
