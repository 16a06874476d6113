#include "kernels/deviation.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "kernels/sorting.h"

namespace attoscope {
namespace {

/// Elements that one task sums, lane by lane; chunks are then added in ascending order.
constexpr std::size_t chunk_size = 4096;
constexpr int lanes = 8;

/// A sum in `lanes` interleaved chains.
struct LaneSum {
  double lane[lanes] = {};
  double total() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

/// What one chunk adds to the whole.
struct Sums {
  double absolute = 0, plain = 0, square = 0, xy = 0, xx = 0, yy = 0;
  double max_abs = -1, max_ulp = 0;
  std::size_t worst = 0;
  std::int64_t finite = 0;
  UlpHistogram ulps{};

  void add(const Sums& s) {
    absolute += s.absolute;
    plain += s.plain;
    square += s.square;
    xy += s.xy;
    xx += s.xx;
    yy += s.yy;
    if (s.max_abs > max_abs) {
      max_abs = s.max_abs;
      worst = s.worst;
    }
    max_ulp = std::max(max_ulp, s.max_ulp);
    finite += s.finite;
    for (std::size_t i = 0; i < ulps.counts.size(); ++i) ulps.counts[i] += s.ulps.counts[i];
  }
};

/// sum(first, end) for all chunks of 0 .. count, in parallel; results in order.
template <class T, class F>
std::vector<T> chunk_sums(std::size_t count, F sum) {
  std::vector<T> parts((count + chunk_size - 1) / chunk_size);
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    parts[i] = sum(i * chunk_size, std::min(count, (i + 1) * chunk_size));
  });
  return parts;
}

/// Sum of f(i) over 0 .. count, in the fixed order.
template <class F>
double ordered_sum(std::size_t count, F f) {
  const auto parts = chunk_sums<double>(count, [&](std::size_t first, std::size_t end) {
    LaneSum s;
    for (std::size_t i = first; i < end; ++i) s.lane[(i - first) % lanes] += f(i);
    return s.total();
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

std::size_t histogram_bin(double ulps) {
  const double at = std::floor((ulps + UlpHistogram::reach) * UlpHistogram::per_ulp);
  if (at < 0) return 0;
  return at >= UlpHistogram::inner ? UlpHistogram::inner + 1 : 1 + static_cast<std::size_t>(at);
}

Sums sums_of(const double* x, const double* y, std::size_t first, std::size_t end, const Format& main, double floor) {
  Sums s;
  LaneSum absolute, plain, square, xy, xx, yy;
  for (std::size_t i = first; i < end; ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    const std::size_t lane = (i - first) % lanes;
    const double d = x[i] - y[i], a = std::fabs(d);
    absolute.lane[lane] += a;
    plain.lane[lane] += d;
    square.lane[lane] += d * d;
    xy.lane[lane] += x[i] * y[i];
    xx.lane[lane] += x[i] * x[i];
    yy.lane[lane] += y[i] * y[i];
    if (a > s.max_abs) {
      s.max_abs = a;
      s.worst = i;
    }
    const double ulps = d / ulp(main, std::max(std::fabs(y[i]), floor));
    s.max_ulp = std::max(s.max_ulp, std::fabs(ulps));
    ++s.ulps.counts[histogram_bin(ulps)];
    ++s.finite;
  }
  s.absolute = absolute.total();
  s.plain = plain.total();
  s.square = square.total();
  s.xy = xy.total();
  s.xx = xx.total();
  s.yy = yy.total();
  return s;
}

/// Values in which both are finite, sorted.
std::vector<double> paired_sorted(const Matrix& x, const Matrix& y) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (std::isfinite(x.values[i]) && std::isfinite(y.values[i])) kept.push_back(x.values[i]);
  return sorted_values(kept, false);
}

double mean_gap(const std::vector<double>& x, const std::vector<double>& y) {
  return ordered_sum(x.size(), [&](std::size_t i) { return std::fabs(x[i] - y[i]); }) / static_cast<double>(x.size());
}

double wasserstein(const Measured& x, const Measured& y) {
  if (x.nonfinite == 0 && y.nonfinite == 0) return mean_gap(x.sorted, y.sorted);
  return mean_gap(paired_sorted(*x.matrix, *y.matrix), paired_sorted(*y.matrix, *x.matrix));
}

Deviation undefined(std::int64_t nonfinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Deviation d{nan, nan, nan, nan, nan, nan, nan, nan, nan};
  d.nonfinite = nonfinite;
  return d;
}

}  // namespace

Measured measured(const Matrix& m, bool as_float) {
  Measured out{.matrix = &m, .sorted = {}, .nonfinite = 0, .rms = 0};
  for (const double v : m.values) out.nonfinite += !std::isfinite(v);
  const std::int64_t finite = static_cast<std::int64_t>(m.values.size()) - out.nonfinite;
  const double square = ordered_sum(m.values.size(), [&](std::size_t i) {
    return std::isfinite(m.values[i]) ? m.values[i] * m.values[i] : 0.0;
  });
  out.rms = finite > 0 ? std::sqrt(square / static_cast<double>(finite)) : 0;
  if (out.nonfinite == 0) out.sorted = sorted_values(m.values, as_float);
  return out;
}

Deviation deviation(const Measured& x, const Measured& y, const Format& main) {
  const std::vector<double>&a = x.matrix->values, &b = y.matrix->values;
  const double floor = 0.01 * y.rms;
  Sums s;
  for (const Sums& part : chunk_sums<Sums>(a.size(), [&](std::size_t first, std::size_t end) {
         return sums_of(a.data(), b.data(), first, end, main, floor);
       }))
    s.add(part);
  const std::int64_t nonfinite = static_cast<std::int64_t>(a.size()) - s.finite;
  if (s.finite == 0) return undefined(nonfinite);
  const double count = static_cast<double>(s.finite);
  Deviation d;
  d.max_abs = s.max_abs;
  d.mean_abs = s.absolute / count;
  d.rms = std::sqrt(s.square / count);
  d.bias = s.plain / count;
  d.std = std::sqrt(ordered_sum(a.size(), [&](std::size_t i) {
            if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return 0.0;
            const double off = (a[i] - b[i]) - d.bias;
            return off * off;
          }) / count);
  d.rel_rms = d.rms / std::sqrt(s.yy / count);
  d.cosine = s.xy / std::sqrt(s.xx) / std::sqrt(s.yy);
  d.wasserstein = wasserstein(x, y);
  d.max_ulp = s.max_ulp;
  d.nonfinite = nonfinite;
  d.worst_row = static_cast<int>(s.worst / static_cast<std::size_t>(x.matrix->cols));
  d.worst_col = static_cast<int>(s.worst % static_cast<std::size_t>(x.matrix->cols));
  d.ulps = s.ulps;
  return d;
}

std::uint64_t digest(const Matrix& m) {
  std::uint64_t sum = static_cast<std::uint64_t>(m.rows) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(m.cols);
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    const double v = m.values[i];
    // splitmix64's finaliser of the bits and the index; a sum of such terms has no order to get wrong
    std::uint64_t z = (v != v ? 0x7ff8000000000000u : bit_as<std::uint64_t>(v)) + 0x9E3779B97F4A7C15u * (i + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    sum += z ^ (z >> 31);
  }
  return sum;
}

}  // namespace attoscope
