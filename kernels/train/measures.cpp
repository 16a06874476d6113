#include "kernels/train/measures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/deviation/ordered_sum.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The weights without the padding between tensors.
std::vector<float> joined(const Parameters& parameters, std::span<const float> x) {
  std::vector<float> values;
  values.reserve(parameters.size);
  for (const ParameterTensor& t : parameters.tensors) {
    const auto tensor = x.subspan(t.first, t.size());
    values.insert(values.end(), tensor.begin(), tensor.end());
  }
  return values;
}

/// ||x - y|| / ||y||, from the squares.
double relative(double difference, double reference) { return difference > 0 ? std::sqrt(difference / reference) : difference; }

/// The largest |f(i)| of first .. end, by comparing bits, which have the order of the magnitudes; infinity and NaN exceed all
/// numbers.
template <class F>
float largest(std::size_t first, std::size_t end, F f) {
  std::int32_t most = 0;
  for (std::size_t i = first; i < end; ++i) most = std::max(most, std::bit_cast<std::int32_t>(f(i)) & 0x7fffffff);
  return std::bit_cast<float>(most);
}

/// A symmetric d x d matrix, row-major.
struct Symmetric {
  int d = 0;
  std::vector<double> values;

  explicit Symmetric(int size) : d(size), values(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}
  double* row(int i) { return values.data() + static_cast<std::ptrdiff_t>(i) * d; }
  const double* row(int i) const { return values.data() + static_cast<std::ptrdiff_t>(i) * d; }
  double trace() const {
    double sum = 0;
    for (int i = 0; i < d; ++i) sum += row(i)[i];
    return sum;
  }
  /// Adds x^T x, in the upper half.
  void add_product(const double* x) {
    for (int i = 0; i < d; ++i)
      for (int j = i; j < d; ++j) row(i)[j] += x[i] * x[j];
  }
  void mirror() {
    for (int i = 0; i < d; ++i)
      for (int j = 0; j < i; ++j) row(i)[j] = row(j)[i];
  }
  void scale(double factor) {
    for (double& x : values) x *= factor;
  }
};

/// X^T X of rows of d numbers, `stride` apart.
Symmetric gram(const float* x, int rows, int d, int stride) {
  Symmetric g(d);
  std::vector<double> row(static_cast<std::size_t>(d));
  for (int r = 0; r < rows; ++r, x += stride) {
    std::copy_n(x, d, row.begin());
    g.add_product(row.data());
  }
  g.mirror();
  return g;
}

/// x x = x^T x
Symmetric squared(const Symmetric& x) {
  Symmetric y(x.d);
  for (int k = 0; k < x.d; ++k) y.add_product(x.row(k));
  y.mirror();
  return y;
}

/// A power of g, scaled to trace 1, so high that almost only its first eigenvector is left. Repeated squaring also ends soon if
/// eigenvalues are equal or nearly equal.
Symmetric high_power(Symmetric g) {
  constexpr int most_squarings = 40;
  constexpr double enough = 1 - 1e-7;  // the rest of the trace; its square bounds the error of the Rayleigh quotient
  double kept_share = 0;
  for (int i = 0; i < most_squarings && kept_share < enough; ++i) {
    g = squared(g);
    kept_share = g.trace();
    g.scale(1 / kept_share);
  }
  return g;
}

/// v^T g v / v^T v
double rayleigh_quotient(const Symmetric& g, const double* v) {
  double above = 0, below = 0;
  for (int i = 0; i < g.d; ++i) {
    double product = 0;
    for (int j = 0; j < g.d; ++j) product += g.row(i)[j] * v[j];
    above += v[i] * product;
    below += v[i] * v[i];
  }
  return above / below;
}

/// The row with the largest diagonal element: it has a component along the first eigenvector.
const double* strongest_row(const Symmetric& g) {
  int best = 0;
  for (int i = 1; i < g.d; ++i)
    if (g.row(i)[i] > g.row(best)[best]) best = i;
  return g.row(best);
}

}  // namespace

/// The sums of a tensor, or of a piece of it.
struct DeviationMeter::Sums {
  double max_abs = 0, difference = 0, reference = 0, xy = 0, xx = 0, yy = 0;

  void add(const Sums& s) {
    max_abs = std::max(max_abs, s.max_abs);
    difference += s.difference;
    reference += s.reference;
    xy += s.xy;
    xx += s.xx;
    yy += s.yy;
  }
  WeightDeviation deviation(double path) const {
    if (!std::isfinite(difference)) return {not_a_number, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number};
    return {.max_abs = max_abs,
            .wasserstein = 0,
            .rel_l2 = relative(difference, reference),
            .update_cosine = xy / std::sqrt(xx * yy),
            .directionality = relative(difference, path),
            .step_size = relative(yy, reference)};
  }
};

DeviationMeter::DeviationMeter(const Parameters& parameters)
    : parameters_(&parameters), paths_(parameters.tensors.size()), difference_(parameters.size) {
  for (std::size_t t = 0; t < parameters.tensors.size(); ++t) {
    const std::size_t first = parameters.tensors[t].first, size = parameters.tensors[t].size();
    for (std::size_t at = 0; at < size; at += chunk_size)
      pieces_.push_back({t, first + at, first + std::min(size, at + chunk_size)});
  }
}

void DeviationMeter::follow(std::span<const float> x, std::span<const float> y) {
  std::vector<double> growth(pieces_.size());
  parallel_for(std::size_t{0}, pieces_.size(), [&](std::size_t i) {
    const float *const u = x.data(), *const v = y.data();
    float* const difference = difference_.data();
    growth[i] = chunk_sum(pieces_[i].first, pieces_[i].end, [=](std::size_t e) {
      const float now = u[e] - v[e];
      const double grown = double{now} - double{difference[e]};
      difference[e] = now;
      return grown * grown;
    });
  });
  for (std::size_t i = 0; i < pieces_.size(); ++i) paths_[pieces_[i].tensor] += growth[i];
}

DeviationMeter::Sums DeviationMeter::sums(const Piece& piece, const float* x, const float* y, const float* x_before,
                                          const float* y_before) const {
  const float* const difference = difference_.data();
  const auto sum = [&](auto f) { return chunk_sum(piece.first, piece.end, f); };
  const auto of_x = [=](std::size_t e) { return double{x[e]} - double{x_before[e]}; };
  const auto of_y = [=](std::size_t e) { return double{y[e]} - double{y_before[e]}; };
  Sums s;
  s.max_abs = double{largest(piece.first, piece.end, [=](std::size_t e) { return difference[e]; })};
  s.difference = sum([=](std::size_t e) { return double{difference[e]} * double{difference[e]}; });
  s.reference = sum([=](std::size_t e) { return double{y[e]} * double{y[e]}; });
  s.xy = sum([=](std::size_t e) { return of_x(e) * of_y(e); });
  s.xx = sum([=](std::size_t e) { return of_x(e) * of_x(e); });
  s.yy = sum([=](std::size_t e) { return of_y(e) * of_y(e); });
  return s;
}

std::vector<WeightDeviation> DeviationMeter::deviations(std::span<const float> x, std::span<const float> y,
                                                        std::span<const float> x_before,
                                                        std::span<const float> y_before) const {
  std::vector<Sums> parts(pieces_.size());
  parallel_for(std::size_t{0}, pieces_.size(),
               [&](std::size_t i) { parts[i] = sums(pieces_[i], x.data(), y.data(), x_before.data(), y_before.data()); });
  std::vector<Sums> tensors(paths_.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i) tensors[pieces_[i].tensor].add(parts[i]);
  Sums whole;
  double path = 0;
  std::vector<WeightDeviation> all(1);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    whole.add(tensors[t]);
    path += paths_[t];
    all.push_back(tensors[t].deviation(paths_[t]));
  }
  all[0] = whole.deviation(path);
  parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) {
    if (i == 0) {
      all[i].wasserstein = wasserstein(joined(*parameters_, x), joined(*parameters_, y));
    } else {
      const ParameterTensor& tensor = parameters_->tensors[i - 1];
      all[i].wasserstein = wasserstein(x.subspan(tensor.first, tensor.size()), y.subspan(tensor.first, tensor.size()));
    }
  });
  return all;
}

void DeviationMeter::restore(std::vector<double> paths, std::span<const float> x, std::span<const float> y) {
  if (paths.size() != paths_.size())
    throw std::invalid_argument("a saved comparison has " + std::to_string(paths.size()) + " paths, expected one for each of " +
                                std::to_string(paths_.size()) + " tensors");
  paths_ = std::move(paths);
  for (std::size_t i = 0; i < difference_.size(); ++i) difference_[i] = x[i] - y[i];
}

double wasserstein(std::span<const float> x, std::span<const float> y) {
  const auto finite = [](std::span<const float> z) {
    return std::isfinite(largest(0, z.size(), [=](std::size_t i) { return z[i]; }));
  };
  if (!finite(x) || !finite(y)) return not_a_number;
  std::vector<float> u, v;
  parallel_invoke([&] { u = sorted_values(x); }, [&] { v = sorted_values(y); });
  const auto gap = [&](std::size_t i) { return std::fabs(double{u[i]} - double{v[i]}); };
  return ordered_sum(u.size(), {}, gap) / static_cast<double>(u.size());
}

std::vector<float> profile(const ParameterTensor& tensor, std::span<const float> x, std::span<const float> y, int most) {
  const int stretches = std::min(tensor.rows, most);
  std::vector<float> heights(static_cast<std::size_t>(stretches));
  const auto begin_of = [&](std::int64_t stretch) {
    return tensor.first + static_cast<std::size_t>(stretch * tensor.rows / stretches) * static_cast<std::size_t>(tensor.cols);
  };
  for (int s = 0; s < stretches; ++s) {
    heights[static_cast<std::size_t>(s)] = largest(begin_of(s), begin_of(s + 1), [&](std::size_t i) { return x[i] - y[i]; });
  }
  return heights;
}

double query_norm(const Parameters& parameters, const ModelShape& shape, std::span<const float> weights, int layer, int head) {
  const ParameterTensor& W = *parameters.find(layer, Weight::W_Q);
  const int d = shape.head_dimension();
  Symmetric g =
      gram(weights.data() + W.first + static_cast<std::size_t>(head) * static_cast<std::size_t>(d), W.rows, d, W.cols);
  const double trace = g.trace();
  if (!(trace > 0)) return trace;
  if (!std::isfinite(trace)) return not_a_number;
  g.scale(1 / trace);
  return std::sqrt(rayleigh_quotient(g, strongest_row(high_power(g))) * trace);
}

}  // namespace attoscope
