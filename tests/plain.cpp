#include "tests/plain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/exponential.h"

#ifdef ATTOSCOPE_QUAD
#include <quadmath.h>
#endif

namespace attoscope::plain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest finite number of f: the last mantissa of the top exponent, or the one before it where that is NaN.
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

double at(const std::vector<double>& tensor, int row, int cols, int col) {
  return tensor[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
}

/// The experiment as one method sees it in the working type T.
template <class T>
struct Kernel {
  const Experiment& experiment;
  const Method& method;
  const Tensors& inputs;
  const T scale = static_cast<T>(scale_of(experiment.problem));
  const int d = inputs.d;

  T rounded(Step step, T x) const {
    const Rounding& r = method.precision[step];
    return r.kind == Rounding::Kind::exact ? x : nearest(format_of(r, experiment.format), x);
  }

  T input(const std::vector<double>& tensor, int row, int col) const {
    return rounded(Step::input, static_cast<T>(at(tensor, row, d, col)));
  }

  T score(int query, int key) const {
    T sum = 0;
    for (int i = 0; i < d; ++i) sum = rounded(Step::qk_step, std::fma(input(inputs.q, query, i), input(inputs.k, key, i), sum));
    return rounded(Step::S, scale * sum);
  }

  std::vector<T> scores(int query, Keys keys) const {
    std::vector<T> S;
    for (int key = keys.first; key < keys.end; ++key) S.push_back(score(query, key));
    return S;
  }

  std::vector<T> exponentials(const std::vector<T>& S, T m) const {
    std::vector<T> e;
    for (const T s : S) e.push_back(rounded(Step::e, exponential(rounded(Step::shifted, s - m))));
    return e;
  }

  T tile_sum(const std::vector<T>& terms) const {
    T sum = 0;
    for (const T term : terms) sum = rounded(Step::l_step, sum + term);
    return rounded(Step::tile_sum, sum);
  }

  /// The chain of P.V for one column, from `sum` on.
  T weighted(const std::vector<T>& P, int first_key, int col, T sum) const {
    for (std::size_t j = 0; j < P.size(); ++j)
      sum = rounded(Step::pv_step, std::fma(P[j], input(inputs.v, first_key + static_cast<int>(j), col), sum));
    return sum;
  }

  /// The tile's P.V in a fresh accumulator.
  T fresh(const std::vector<T>& P, int first_key, int col) const {
    const T sum = weighted(P, first_key, col, 0);
    return method.precision.accumulate_in_O ? sum : rounded(Step::PV, sum);
  }

  /// The column's O with the tile taken in, O_r already multiplied by alpha.
  T continued(const std::vector<T>& P, int first_key, int col, T O_r) const {
    if (method.precision.accumulate_in_O) return rounded(Step::O, weighted(P, first_key, col, O_r));
    return rounded(Step::O, O_r + fresh(P, first_key, col));
  }
};

/// NaN never replaces a number, and no number replaces NaN.
template <class T>
T larger(T m, const std::vector<T>& S) {
  for (const T s : S) m = s > m ? s : m;
  return m;
}

template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

template <class T>
Row three_pass(const Kernel<T>& kernel, int row, Keys keys) {
  const std::vector<T> S = kernel.scores(row, keys);
  const T m = kernel.rounded(Step::m, larger(static_cast<T>(-infinity), S));
  const std::vector<T> e = kernel.exponentials(S, m);
  const T l = kernel.rounded(Step::l, kernel.tile_sum(e));
  std::vector<T> normalised, P, O, output;
  for (const T x : e) normalised.push_back(x / l);
  for (const T x : normalised) P.push_back(kernel.rounded(Step::P, x));
  for (int col = 0; col < kernel.d; ++col) {
    O.push_back(kernel.rounded(Step::O, kernel.fresh(P, keys.first, col)));
    output.push_back(kernel.rounded(Step::output, O.back()));
  }
  Tile tile{0,
            larger(static_cast<T>(-infinity), S),
            m,
            1,
            l,
            widened(O),
            widened(output),
            widened(S),
            widened(e),
            widened(normalised),
            widened(P),
            false};
  return {widened(output), {tile}};
}

template <class T>
Row flash2(const Kernel<T>& kernel, int row, Keys keys) {
  const int d = kernel.d, block = kernel.method.block_k;
  T m = static_cast<T>(-infinity), l = 0;
  double max_true = -infinity;
  std::vector<T> O(static_cast<std::size_t>(d));
  Row answer;
  for (int tile = keys.first / block; tile * static_cast<long>(block) < keys.end; ++tile) {
    const Keys in_tile{std::max(keys.first, tile * block), static_cast<int>(std::min<long>(keys.end, (tile + 1L) * block))};
    const bool first = answer.tiles.empty();
    const std::vector<T> S = kernel.scores(row, in_tile);
    const T m_new = kernel.rounded(Step::m, larger(m, S));
    const T alpha = first ? 1 : kernel.rounded(Step::alpha, exponential(m - m_new));
    const std::vector<T> e = kernel.exponentials(S, m_new);
    std::vector<T> P, output;
    for (const T x : e) P.push_back(kernel.rounded(Step::P, x));
    const T sum = kernel.tile_sum(kernel.method.precision.sum_rounded_P ? P : e);

    const T l_r = kernel.rounded(Step::rescaled, alpha * l);
    l = kernel.rounded(Step::l, l_r + sum);
    for (int col = 0; col < d; ++col) {
      T& o = O[static_cast<std::size_t>(col)];
      const T O_r = kernel.rounded(Step::rescaled, alpha * o);
      o = kernel.continued(P, in_tile.first, col, O_r);
      output.push_back(kernel.rounded(Step::output, o / l));
    }
    max_true = larger(max_true, widened(S));
    const bool moved = !first && !(m_new == m) && !(std::isnan(m_new) && std::isnan(m));
    m = m_new;
    answer.tiles.push_back(
        {tile, max_true, m, alpha, l, widened(O), widened(output), widened(S), widened(e), widened(e), widened(P), moved});
  }
  answer.output = answer.tiles.back().output;
  return answer;
}

template <class T>
Row attend_in(const Experiment& experiment, const Method& method, const Tensors& inputs, int row) {
  const Kernel<T> kernel{experiment, method, inputs};
  const Keys keys = visible_keys(experiment.problem.mask, row, inputs.n);
  return method.algorithm == Algorithm::three_pass ? three_pass(kernel, row, keys) : flash2(kernel, row, keys);
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

Row attend(const Experiment& experiment, const Method& method, const Tensors& inputs, int row) {
  return works_in_double(experiment) ? attend_in<double>(experiment, method, inputs, row)
                                     : attend_in<float>(experiment, method, inputs, row);
}

namespace {

#ifdef ATTOSCOPE_QUAD
using Wide = __float128;
Wide wide_exp(Wide x) { return expq(x); }
#else
using Wide = long double;
Wide wide_exp(Wide x) { return std::exp(x); }
#endif

}  // namespace

std::vector<long double> softmax(const Tensors& inputs, double scale, int row, Keys keys) {
  const int d = inputs.d;
  std::vector<Wide> S, O(static_cast<std::size_t>(d));
  Wide m = -infinity, l = 0;
  for (int key = keys.first; key < keys.end; ++key) {
    Wide sum = 0;
    for (int i = 0; i < d; ++i) sum += static_cast<Wide>(at(inputs.q, row, d, i)) * at(inputs.k, key, d, i);
    S.push_back(scale * sum);
    m = S.back() > m ? S.back() : m;
  }
  for (int key = keys.first; key < keys.end; ++key) {
    const Wide e = wide_exp(S[static_cast<std::size_t>(key - keys.first)] - m);
    l += e;
    for (int col = 0; col < d; ++col) O[static_cast<std::size_t>(col)] += e * at(inputs.v, key, d, col);
  }
  std::vector<long double> output;
  for (const Wide o : O) output.push_back(static_cast<long double>(o / l));
  return output;
}

}  // namespace attoscope::plain
