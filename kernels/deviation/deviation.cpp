#include "kernels/deviation/deviation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/deviation/ordered_sum.h"

namespace attoscope {
namespace {

/// Totals over chunks, added in order.
struct Sums {
  double absolute = 0, plain = 0, square = 0, centred = 0, xy = 0, xx = 0, yy = 0;
  double max_abs = -1, max_ulp = 0;
  std::size_t worst = 0;
  std::int64_t finite = 0;
  UlpHistogram ulps{};

  void add(const DeviationSums& s, std::size_t first) {
    absolute += chain_total(s.absolute);
    plain += chain_total(s.plain);
    square += chain_total(s.square);
    centred += chain_total(s.centred);
    xy += chain_total(s.xy);
    xx += chain_total(s.xx);
    yy += chain_total(s.yy);
    if (s.max_abs > max_abs) {
      max_abs = s.max_abs;
      worst = first + static_cast<std::size_t>(s.worst);
    }
    max_ulp = std::max(max_ulp, s.max_ulp);
    finite += s.finite;
    for (std::size_t i = 0; i < ulps.counts.size(); ++i) ulps.counts[i] += s.ulps.counts[i];
  }
};

std::vector<DeviationSums> chunks_of(const std::vector<double>& x, const std::vector<double>& y, const DeviationRule& rule,
                                     const StopSign& stop) {
  const InstructionSet isa = instruction_set(stop.isa);
  return chunk_sums<DeviationSums>(x.size(), stop, [&](std::size_t first, std::size_t end) {
    return isa.deviation(x.data() + first, y.data() + first, static_cast<int>(end - first), rule);
  });
}

std::vector<MomentSums> moments_of(const Matrix& m, const StopSign& stop) {
  const InstructionSet isa = instruction_set(stop.isa);
  return chunk_sums<MomentSums>(m.values.size(), stop, [&](std::size_t first, std::size_t end) {
    return isa.moments(m.values.data() + first, first, static_cast<int>(end - first));
  });
}

Sums whole_of(const std::vector<DeviationSums>& parts) {
  Sums s;
  for (std::size_t i = 0; i < parts.size(); ++i) s.add(parts[i], i * chunk_size);
  return s;
}

/// x's values at elements finite in both, sorted.
std::vector<double> paired_sorted(const Matrix& x, const Matrix& y, const StopSign& stop) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (std::isfinite(x.values[i]) && std::isfinite(y.values[i])) kept.push_back(x.values[i]);
  return sorted_values(kept, stop);
}

double mean_gap(const std::vector<double>& x, const std::vector<double>& y, const StopSign& stop) {
  if (x.empty()) return std::numeric_limits<double>::quiet_NaN();
  const InstructionSet isa = instruction_set(stop.isa);
  const double sum = chunk_sums_total(x.size(), stop, [&](std::size_t first, std::size_t end) {
    double chain[chains];
    isa.gaps(x.data() + first, y.data() + first, static_cast<int>(end - first), chain);
    return chain_total(chain);
  });
  return sum / static_cast<double>(x.size());
}

Deviation undefined(std::int64_t nonfinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Deviation d{nan, nan, nan, nan, nan, nan, nan, nan, nan};
  d.nonfinite = nonfinite;
  return d;
}

}  // namespace

Measured measured(const Matrix& m, const StopSign& stop) {
  Measured out = unsorted(m, stop);
  sort_values(out, stop);
  return out;
}

void sort_values(Measured& m, const StopSign& stop) {
  if (m.nonfinite == 0) timed(stop, [&] { m.sorted = sorted_values(m.matrix->values, stop); });
  m.sorts = true;
}

Measured unsorted(const Matrix& m, const StopSign& stop) {
  Measured out;
  out.matrix = &m;
  out.sorts = false;
  double squares = 0;
  std::uint64_t terms = 0;
  for (const MomentSums& s : moments_of(m, stop)) {
    squares += chain_total(s.squares);
    out.nonfinite += s.nonfinite;
    terms += s.digest;
  }
  out.rms = rms_of(squares, static_cast<std::int64_t>(m.values.size()) - out.nonfinite);
  out.digest = digest(m.rows, m.cols, terms);
  return out;
}

double wasserstein(const Measured& x, const Measured& y, const StopSign& stop) {
  if (!x.sorts || !y.sorts) return std::numeric_limits<double>::quiet_NaN();
  if (x.nonfinite == 0 && y.nonfinite == 0) return mean_gap(x.sorted, y.sorted, stop);
  return paired_wasserstein(*x.matrix, *y.matrix, stop);
}

double paired_wasserstein(const Matrix& x, const Matrix& y, const StopSign& stop) {
  return mean_gap(paired_sorted(x, y, stop), paired_sorted(y, x, stop), stop);
}

Deviation deviation(int rows, int cols, double y_rms, const Format& main, const MeterParts& parts) {
  DeviationRule rule{.format = main, .floor = ulp_floor(y_rms), .all_finite = parts.all_finite};
  const Sums s = whole_of(parts.chunks(rule));
  const std::int64_t nonfinite = static_cast<std::int64_t>(rows) * cols - s.finite;
  if (s.finite == 0) return undefined(nonfinite);
  const double count = static_cast<double>(s.finite);
  Deviation d;
  d.max_abs = s.max_abs;
  d.mean_abs = s.absolute / count;
  d.rms = std::sqrt(s.square / count);
  d.bias = s.plain / count;
  rule.centre = d.bias;
  rule.centred_alone = true;
  d.std = std::sqrt(whole_of(parts.chunks(rule)).centred / count);
  d.rel_rms = d.rms / std::sqrt(s.yy / count);
  d.cosine = s.xy / std::sqrt(s.xx) / std::sqrt(s.yy);
  d.wasserstein = parts.wasserstein();
  d.max_ulp = s.max_ulp;
  d.nonfinite = nonfinite;
  d.worst_row = static_cast<int>(s.worst / static_cast<std::size_t>(cols));
  d.worst_col = static_cast<int>(s.worst % static_cast<std::size_t>(cols));
  d.ulps = s.ulps;
  return d;
}

Deviation unordered_deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop) {
  const std::vector<double>&a = x.matrix->values, &b = y.matrix->values;
  return deviation(x.matrix->rows, x.matrix->cols, y.rms, main,
                   {.chunks = [&](const DeviationRule& rule) { return chunks_of(a, b, rule, stop); },
                    .wasserstein = [] { return std::numeric_limits<double>::quiet_NaN(); },
                    .all_finite = x.nonfinite + y.nonfinite == 0});
}

Deviation deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop) {
  Deviation d = unordered_deviation(x, y, main, stop);
  d.wasserstein = wasserstein(x, y, stop);
  return d;
}

std::uint64_t digest(const Matrix& m, const StopSign& stop) { return unsorted(m, stop).digest; }

std::uint64_t digest(int rows, int cols, std::uint64_t sum_of_terms) {
  return static_cast<std::uint64_t>(rows) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(cols) + sum_of_terms;
}

}  // namespace attoscope
