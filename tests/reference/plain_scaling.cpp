#include "tests/reference/plain_scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kernels/arithmetic/random.h"
#include "tests/reference/plain.h"

namespace attoscope::plain {
namespace {

/// Key of the scale that an element of a tensor has: two indices.
using Owner = std::pair<int, int>;
Owner owner_of(const Scaling& s, ScaledTensor t, int row, int column) {
  const bool along_rows = t == ScaledTensor::V;
  switch (s.granularity) {
    case Granularity::rows:
      return {row / s.block, 0};
    case Granularity::token:
      return {row, 0};
    case Granularity::channel:
      return {0, column};
    case Granularity::columns:
      return {row, column / s.block};
    case Granularity::block:
      return along_rows ? Owner{row / s.block, column} : Owner{row, column / s.block};
    case Granularity::thread:
      return {row / s.block, t == ScaledTensor::Q ? row % s.block % 8 : row % s.block % 8 / 2};
    case Granularity::head:
    case Granularity::tensor:
      break;
  }
  return {0, 0};
}

/// Powers of two around x > 0.
double power_below(double x) { return std::exp2(std::floor(std::log2(x))); }
double power_above(double x) { return std::exp2(std::ceil(std::log2(x))); }

/// The scale before it is rounded to its format.
template <class T>
T exact_scale(const Scaling& s, T amax) {
  const double last = numbers_of(s.element).back(), most = s.most != 0 ? s.most : last;
  if (s.rule == ScaleRule::floor) return static_cast<T>(power_below(static_cast<double>(amax)) / power_below(last));
  if (s.rule == ScaleRule::ceil) return static_cast<T>(power_above(static_cast<double>(amax) / most));
  return amax / static_cast<T>(most);
}

template <class T>
T stored_scale(const Scaling& s, T exact, T head_amax) {
  const T least = std::ldexp(T{1}, -9);
  if (s.scale == ScaleFormat::e4m3_scale) return std::max(nearest(element_e4m3, exact), least);
  if (s.scale == ScaleFormat::e8m0_scale) return std::clamp(exact, std::ldexp(T{1}, -127), std::ldexp(T{1}, 127));
  if (s.scale == ScaleFormat::fp32_scale) return std::max(exact, std::numeric_limits<T>::denorm_min());
  const auto most = static_cast<T>(s.most != 0 ? s.most : numbers_of(s.element).back());
  const T head = std::max(head_amax / (most * 448), std::numeric_limits<T>::denorm_min());
  return std::max(nearest(element_e4m3, exact / head), least) * head;
}

/// The element of x, and the scale.
template <class T>
std::pair<T, T> element_and_scale(const Scaling& s, T x, T amax, T head_amax) {
  if (s.rule == ScaleRule::fixed) {
    const auto factor = static_cast<T>(s.factor);
    return {nearest(s.element, x * factor, s.tie), 1 / factor};
  }
  const T exact = amax == 0 ? T{1} : exact_scale(s, amax);
  const T scale = (amax == 0 ? T{1} : stored_scale(s, exact, head_amax)) + static_cast<T>(s.added);
  const T reciprocal = 1 / scale, ratio = static_cast<T>(s.most != 0 ? s.most : numbers_of(s.element).back()) / amax;
  T quotient = x / scale;
  if (s.quotient == Quotient::reciprocal && std::isfinite(reciprocal)) quotient = x * reciprocal;
  if (s.quotient == Quotient::ratio && std::isfinite(ratio)) quotient = x * ratio;
  if (s.quotient == Quotient::unrounded && exact > 0) quotient = x / exact;
  return {nearest(s.element, quotient, s.tie), scale};
}

template <class T>
T rounded(const Rounding& r, const Format& main, T x) {
  return r.kind == Rounding::Kind::exact ? x : nearest(format_of(r, main), x);
}

/// Replaces x by the stored numbers; returns the scale of every element that is not in the operand, or nothing.
template <class T>
std::vector<T> store(std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main, T all_heads) {
  if (!s.is_on()) return {};
  std::map<Owner, T> amax;
  T head = 0;
  if (s.granularity == Granularity::tensor) head = amax[{0, 0}] = all_heads;
  const auto at = [d](int row, int c) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(d) + static_cast<std::size_t>(c);
  };
  for (int row = 0; row < n; ++row)
    for (int c = 0; c < d; ++c)
      if (const T y = std::fabs(x[at(row, c)]); std::isfinite(y)) {
        T& held = amax[owner_of(s, t, row, c)];
        held = std::max(held, y);
        head = std::max(head, y);
      }
  const bool of_rows =
      s.granularity == Granularity::rows || s.granularity == Granularity::token || s.granularity == Granularity::thread;
  const bool apart = s.granularity == Granularity::head || s.granularity == Granularity::tensor ||
                     (t == ScaledTensor::V ? s.granularity == Granularity::channel : of_rows);
  std::vector<T> scales;
  for (int row = 0; row < n; ++row)
    for (int c = 0; c < d; ++c) {
      const auto [element, scale] = element_and_scale(s, x[at(row, c)], amax[owner_of(s, t, row, c)], head);
      scales.push_back(scale);
      x[at(row, c)] = apart && !s.in_operand ? element : rounded(s.operand, main, element * scale);
    }
  return apart && !s.in_operand ? scales : std::vector<T>{};
}

/// x (n x d) times H diag(+-1) / sqrt(d), by the definition: H_ij = (-1)^popcount(i & j).
template <class T>
void rotate(std::vector<T>& x, int n, int d, std::uint64_t seed, const Rounding& r, const Format& main) {
  for (int row = 0; row < n; ++row) {
    std::vector<double> level;
    for (int c = 0; c < d; ++c) {
      const bool minus = (random_bits(seed, Step::input, 0, c, 3) & 1) != 0;
      const auto y = static_cast<double>(x[static_cast<std::size_t>(row * d + c)]);
      level.push_back(minus ? -y : y);
    }
    for (int bit = 1; bit < d; bit *= 2) {
      std::vector<double> next;
      for (int c = 0; c < d; ++c) {
        const double low = level[static_cast<std::size_t>(c & ~bit)], high = level[static_cast<std::size_t>(c | bit)];
        next.push_back((c & bit) == 0 ? low + high : low - high);
      }
      level = next;
    }
    for (int c = 0; c < d; ++c)
      x[static_cast<std::size_t>(row * d + c)] =
          rounded(r, main, static_cast<T>(1 / std::sqrt(static_cast<double>(d)) * level[static_cast<std::size_t>(c)]));
  }
}

/// Subtracts the mean of rows first .. end - 1 from x, rounded before or after the subtraction; returns the rounded mean.
template <class T>
std::vector<T> take_mean(std::vector<T>& x, int first, int end, int d, const Rounding& r, const Format& main,
                         bool rounded_before = true) {
  std::vector<T> mean;
  for (int c = 0; c < d; ++c) {
    double sum = 0;
    for (int row = first; row < end; ++row) sum += static_cast<double>(x[static_cast<std::size_t>(row * d + c)]);
    const T unrounded = static_cast<T>(sum / (end - first));
    mean.push_back(rounded(r, main, unrounded));
    for (int row = first; row < end; ++row) {
      T& y = x[static_cast<std::size_t>(row * d + c)];
      y = rounded(r, main, y - (rounded_before ? mean.back() : unrounded));
    }
  }
  return mean;
}

template <class T>
void smooth(Stored<T>& x, const AttentionShape& shape, const Scalings& s, const Format& main) {
  const int n = shape.n, d = shape.d;
  if (s.smooth_K) take_mean(x.k, 0, shape.n_k, d, s.smoothed, main);
  if (s.smooth_V) x.o_offset = take_mean(x.v, 0, shape.n_k, shape.d_v, s.smoothed, main);
  for (int first = 0; s.smooth_Q > 0 && first < n; first += s.smooth_Q) {
    const int end = s.smooth_Q < n - first ? first + s.smooth_Q : n;
    const std::vector<T> mean = take_mean(x.q, first, end, d, s.smoothed, main, false);
    for (int row = first; row < end; ++row)
      for (int key = 0; key < shape.n_k; ++key) {
        double sum = 0;
        for (int c = 0; c < d; ++c)
          sum += static_cast<double>(mean[static_cast<std::size_t>(c)]) *
                 static_cast<double>(x.k[static_cast<std::size_t>(key * d + c)]);
        x.bias.push_back(rounded(s.smoothed, main, static_cast<T>(sum)));
      }
    if (end == n) break;
  }
}

std::vector<double> listed(const Element& e) {
  std::vector<double> all;
  if (e.kind == Element::Kind::integer) {
    for (int i = 0; i < 1 << (e.bits - 1); ++i) all.push_back(i);
    return all;
  }
  const int X = e.format.exponent_bits, Y = e.format.mantissa_bits, bias = (1 << (X - 1)) - 1;
  int codes = e.kind == Element::Kind::finite ? 1 << (X + Y) : e.format.top_code_nan ? (1 << (X + Y)) - 1 : ((1 << X) - 1) << Y;
  for (int code = 0; code < codes; ++code) {
    const int exponent = code >> Y, fraction = code & ((1 << Y) - 1);
    all.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - Y) : std::ldexp((1 << Y) + fraction, exponent - bias - Y));
  }
  return all;
}

}  // namespace

const std::vector<double>& numbers_of(const Element& e) {
  thread_local std::vector<std::pair<Element, std::vector<double>>> known;
  for (const auto& [element, numbers] : known)
    if (element == e) return numbers;
  if (known.size() > 60) known.clear();
  known.reserve(64);
  return known.emplace_back(e, listed(e)).second;
}

template <class T>
T nearest(const Element& e, T x, Tie tie) {
  if (std::isnan(x)) return x;
  const std::vector<double>& all = numbers_of(e);
  const T most = static_cast<T>(all.back()), magnitude = std::min(std::fabs(x), most);
  const bool is_integer = e.kind == Element::Kind::integer;
  const auto with_sign = [&](long double y) {  // an integer's 0 has none
    return is_integer && y == 0 ? T{0} : std::copysign(static_cast<T>(y), x);
  };
  if (tie == Tie::away && is_integer) return with_sign(std::trunc(magnitude + T(0.5)));
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(all, static_cast<double>(magnitude)) - all.begin());
  if (above == 0) return with_sign(0);
  const long double low = all[above - 1], high = all[above], y = magnitude;
  const bool up = y - low > high - y || (y - low == high - y && above % 2 == 0);
  return with_sign(up ? high : low);
}

template <class T>
Stored<T> stored(const std::vector<T>& q, const std::vector<T>& k, const std::vector<T>& v, const AttentionShape& shape,
                 const Method& method, const Format& main, std::uint64_t seed, const std::array<T, 3>& all_heads) {
  const int n = shape.n, n_k = shape.n_k, d = shape.d, d_v = shape.d_v;
  const Scalings& s = method.scaling;
  Stored<T> x{.q = q, .k = k, .v = v, .row_factor = {}, .key_factor = {}, .bias = {}, .o_factor = {}, .o_offset = {}};
  if (s.hadamard) rotate(x.q, n, d, seed, s.smoothed, main), rotate(x.k, n_k, d, seed, s.smoothed, main);
  smooth(x, shape, s, main);
  const std::vector<T> of_q = store(x.q, n, d, s.Q, ScaledTensor::Q, main, all_heads[0]),
                       of_k = store(x.k, n_k, d, s.K, ScaledTensor::K, main, all_heads[1]),
                       of_v = store(x.v, n_k, d_v, s.V, ScaledTensor::V, main, all_heads[2]);
  const bool any = !of_q.empty() || !of_k.empty();
  for (int row = 0; row < n && any; ++row)
    x.row_factor.push_back(of_q.empty() ? T{1} : of_q[static_cast<std::size_t>(row * d)]);
  for (int key = 0; key < n_k && any; ++key)
    x.key_factor.push_back(of_k.empty() ? T{1} : of_k[static_cast<std::size_t>(key * d)]);
  const auto single = [](const std::vector<T>& factors, const Scaling& of) {
    return factors.empty() || of.granularity == Granularity::head || of.granularity == Granularity::tensor;
  };
  x.uniform = single(of_q, s.Q) && single(of_k, s.K) && x.bias.empty();
  if (!of_v.empty()) x.o_factor.assign(of_v.begin(), of_v.begin() + d_v);
  return x;
}

std::vector<double> truth_of_stored(const Problem& p, const Stored<float>& s, int row, Keys keys) {
  const auto at = [](int i, int width, int j) {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(width) + static_cast<std::size_t>(j);
  };
  std::vector<long double> S;
  for (int key = keys.first; key < keys.end; ++key) {
    long double dot = 0;
    for (int c = 0; c < p.d; ++c) dot += static_cast<long double>(s.q[at(row, p.d, c)]) * s.k[at(key, p.d, c)];
    if (!s.row_factor.empty()) dot *= static_cast<long double>(s.row_factor[at(row, 1, 0)]) * s.key_factor[at(key, 1, 0)];
    if (!s.bias.empty()) dot += s.bias[at(row, key_count(p), key)];
    S.push_back(scale_of(p) * dot);
  }
  const long double top = S.empty() ? 0 : *std::ranges::max_element(S);
  std::vector<double> output;
  for (int c = 0; c < value_columns(p); ++c) {
    long double sum = 0, l = 0;
    for (std::size_t j = 0; j < S.size(); ++j) {
      const long double weight = std::exp(S[j] - top);
      l += weight;
      sum += weight * s.v[at(keys.first + static_cast<int>(j), value_columns(p), c)];
    }
    sum = S.empty() ? 0 : sum / l;
    if (!s.o_factor.empty()) sum *= s.o_factor[at(c, 1, 0)];
    if (!s.o_offset.empty() && !S.empty()) sum += s.o_offset[at(c, 1, 0)];
    output.push_back(static_cast<double>(sum));
  }
  return output;
}

template <class T>
std::vector<T> stored_P(const std::vector<T>& e, int index, const Scaling& s) {
  std::vector<T> scaled;
  for (const T x : e) scaled.push_back(s.shifts ? x : x * static_cast<T>(s.factor));
  std::vector<T> P;
  for (std::size_t j = 0; j < e.size(); ++j) {
    if (s.granularity == Granularity::head) {
      P.push_back(nearest(s.element, scaled[j]));
      continue;
    }
    const int block = (index + static_cast<int>(j)) / s.block;
    T amax = 0;
    for (std::size_t i = 0; i < e.size(); ++i)
      if ((index + static_cast<int>(i)) / s.block == block && scaled[i] > amax) amax = scaled[i];
    const T least = s.scale == ScaleFormat::e4m3_scale ? std::ldexp(T{1}, -9) : std::ldexp(T{1}, -126);
    const bool is_power = s.rule == ScaleRule::floor || s.rule == ScaleRule::ceil;
    T exact = amax > 0 ? exact_scale(s, amax) : T{0};
    if (is_power && exact < std::numeric_limits<T>::min()) exact = 0;  // then the stored scale divides, too
    const T scale = std::max(s.scale == ScaleFormat::e4m3_scale ? nearest(element_e4m3, exact) : exact, least);
    P.push_back(nearest(s.element, scaled[j] / (s.quotient == Quotient::unrounded && exact > 0 ? exact : scale)) * scale);
  }
  return P;
}

template float nearest(const Element&, float, Tie);
template double nearest(const Element&, double, Tie);
template Stored<float> stored(const std::vector<float>&, const std::vector<float>&, const std::vector<float>&,
                              const AttentionShape&, const Method&, const Format&, std::uint64_t, const std::array<float, 3>&);
template Stored<double> stored(const std::vector<double>&, const std::vector<double>&, const std::vector<double>&,
                               const AttentionShape&, const Method&, const Format&, std::uint64_t,
                               const std::array<double, 3>&);
template std::vector<float> stored_P(const std::vector<float>&, int, const Scaling&);
template std::vector<double> stored_P(const std::vector<double>&, int, const Scaling&);

}  // namespace attoscope::plain
