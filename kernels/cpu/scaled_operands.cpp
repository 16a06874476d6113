#include "kernels/cpu/scaled_operands.h"

#include <algorithm>
#include <cmath>

#include "kernels/arithmetic/random.h"
#include "kernels/cpu/rows.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/experiment.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

/// Multiplies every row by H diag(+-1) / sqrt(d): signs first, then the fast Walsh-Hadamard transform in double.
template <class T>
void rotate(std::vector<T>& x, int n, int d, std::uint64_t seed, const NearestRounder<T>& rounder, const StopSign& stop) {
  std::vector<double> signs;
  for (int c = 0; c < d; ++c) signs.push_back((random_bits(seed, Step::input, 0, c, 3) & 1) != 0 ? -1 : 1);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  each_row(n, stop, [&](int row) {
    T* const of_row = x.data() + place(row, d);
    std::vector<double> y(at(d));
    for (int c = 0; c < d; ++c) y[at(c)] = signs[at(c)] * static_cast<double>(of_row[c]);
    for (int half = 1; half < d; half *= 2)
      for (int c = 0; c < d; ++c)
        if ((c & half) == 0) {
          const double low = y[at(c)], high = y[at(c + half)];
          y[at(c)] = low + high;
          y[at(c + half)] = low - high;
        }
    for (int c = 0; c < d; ++c) of_row[c] = rounder(static_cast<T>(scale * y[at(c)]));
  });
}

/// The mean of rows [first, end), d numbers, unrounded.
template <class T>
std::vector<T> mean_of_rows(const std::vector<T>& x, int first, int end, int d) {
  std::vector<double> sums(at(d), 0.0);
  for (int row = first; row < end; ++row)
    for (int c = 0; c < d; ++c) sums[at(c)] += static_cast<double>(x[place(row, d) + at(c)]);
  std::vector<T> mean;
  for (const double sum : sums) mean.push_back(static_cast<T>(sum / (end - first)));
  return mean;
}

template <class T>
void round_all(std::vector<T>& x, const NearestRounder<T>& rounder) {
  for (T& y : x) y = rounder(y);
}

template <class T>
void subtract(std::vector<T>& x, int first, int end, const std::vector<T>& mean, const NearestRounder<T>& rounder) {
  const std::size_t d = mean.size();
  for (std::size_t i = place(first, static_cast<int>(d)); i < place(end, static_cast<int>(d)); ++i)
    x[i] = rounder(x[i] - mean[i % d]);
}

/// Subtracts the rounded mean of all rows from x (K or V); returns the mean.
template <class T>
std::vector<T> without_mean(std::vector<T>& x, int n, int d, const NearestRounder<T>& rounder) {
  std::vector<T> mean = mean_of_rows(x, 0, n, d);
  round_all(mean, rounder);
  subtract(x, 0, n, mean, rounder);
  return mean;
}

/// Subtracts the mean of every `rows` rows from Q, then rounds that mean; returns mean . K, [block of rows * n_k + key].
template <class T>
std::vector<T> without_block_means(std::vector<T>& q, const std::vector<T>& k, const AttentionShape& shape, int rows,
                                   const NearestRounder<T>& rounder, const StopSign& stop) {
  const auto [n, n_k, d, d_v] = shape;
  const int blocks = (n + rows - 1) / rows;
  std::vector<T> products = zeros<T>(place(blocks, n_k), stop);
  parallel_for(0, blocks, [&, n = n, n_k = n_k, d = d](int b) {
    const int first = b * rows, end = std::min(n, first + rows);
    std::vector<T> mean = mean_of_rows(q, first, end, d);
    subtract(q, first, end, mean, rounder);
    round_all(mean, rounder);
    for (int key = 0; key < n_k; ++key) {
      if (key % 256 == 0) stop.check();
      double sum = 0;
      for (int c = 0; c < d; ++c) sum += static_cast<double>(mean[at(c)]) * static_cast<double>(k[place(key, d) + at(c)]);
      products[place(b, n_k) + at(key)] = rounder(static_cast<T>(sum));
    }
  });
  return products;
}

/// Replaces x by its stored tensor; returns the tensor's factors.
template <class T>
std::vector<T> stored_in_place(std::vector<T>& x, Magnitudes& range, int n, int d, const Scaling& s, ScaledTensor t,
                               const Format& main, const std::shared_ptr<const AllHeads>& all_heads, const StopSign& stop) {
  if (!s.is_on()) {
    range = range_of<T>(x, Layout<T>::mantissa_bits, stop);
    return {};
  }
  ScaledStorage<T> stored =
      scaled_storage(x, n, d, s, t, main, stop, static_cast<T>(largest_of_all(all_heads.get(), s, t, stop)));
  x = std::move(stored.operand);
  range = range_of<T>(x, stored.mantissa_bits, stop);
  return std::move(stored.factor);
}

/// Makes the factors of Q and K match: one each, or one per row, or none. `by_key`: S is needed before the scores' factor.
template <class T>
void match(OperandScales<T>& x, const Scalings& s, const AttentionShape& shape, bool by_key) {
  if (x.q.empty() && x.k.empty()) return;
  const auto single = [](const std::vector<T>& factor, const Scaling& of) {
    return factor.empty() || has_one_scale(of.granularity);
  };
  x.is_one = single(x.q, s.Q) && single(x.k, s.K) && !by_key;
  const auto fill = [&](std::vector<T>& y, int rows) {
    if (y.size() <= 1) y.assign(x.is_one ? 1 : at(rows), y.empty() ? T{1} : T{y.front()});
  };
  fill(x.q, shape.n);
  fill(x.k, shape.n_k);
}

/// number(x, row, column) of row-major x, widened to `width` columns by zeros.
template <class T, class F>
std::vector<double> widened(const std::vector<T>& x, int n, int d, int width, const StopSign& stop, F number) {
  std::vector<double> y = zeros<double>(place(n, width), stop);
  each_row(n, stop, [&](int row) {
    for (int c = 0; c < d; ++c) y[place(row, width) + at(c)] = number(static_cast<double>(x[place(row, d) + at(c)]), row, c);
  });
  return y;
}

/// The numbers that stored Q, K and V represent. If the means of Q were subtracted, one column per block of rows follows the d
/// columns: 1 in Q's rows of the block, mean . K in K. Their product adds mean . K to q.k.
template <class T>
Tensors stored_tensors(const Operands<T>& x, const AttentionShape& shape, const StopSign& stop) {
  const int n = shape.n, n_k = shape.n_k, d = shape.d, d_v = shape.d_v;
  const OperandScales<T>& s = x.scales;
  const int blocks = s.bias.empty() ? 0 : (n + s.bias_rows - 1) / s.bias_rows, width = d + blocks;
  const auto by_row = [](const std::vector<T>& factor) {
    return [&factor](double y, int row, int) {
      return factor.empty() ? y : y * static_cast<double>(factor[factor.size() == 1 ? 0 : at(row)]);
    };
  };
  Tensors t = Tensors::shaped({n, n_k, width, d_v});
  t.q = widened(x.q, n, d, width, stop, by_row(s.q));
  t.k = widened(x.k, n_k, d, width, stop, by_row(s.k));
  t.v = widened(x.v, n_k, d_v, d_v, stop, [&](double y, int, int c) {
    return (s.o.empty() ? y : y * static_cast<double>(s.o[at(c)])) +
           (s.o_offset.empty() ? 0 : static_cast<double>(s.o_offset[at(c)]));
  });
  for (int row = 0; row < n && blocks > 0; ++row) t.q[place(row, width) + at(d + row / s.bias_rows)] = 1;
  for (int key = 0; key < n_k; ++key)
    for (int b = 0; b < blocks; ++b) t.k[place(key, width) + at(d + b)] = static_cast<double>(s.bias[place(b, n_k) + at(key)]);
  return t;
}

}  // namespace

template <class T>
Operands<T> scaled_operands(const Operands<T>& x, const Scalings& s, const AttentionShape& shape, const Format& main,
                            std::uint64_t seed, const StopSign& stop) {
  const int n = shape.n, n_k = shape.n_k, d = shape.d, d_v = shape.d_v;
  Operands<T> y = x;
  const NearestRounder<T> rounder(s.smoothed, main);
  if (s.hadamard)
    parallel_invoke([&] { rotate(y.q, n, d, seed, rounder, stop); }, [&] { rotate(y.k, n_k, d, seed, rounder, stop); });
  if (s.smooth_K) without_mean(y.k, n_k, d, rounder);
  if (s.smooth_V) y.scales.o_offset = without_mean(y.v, n_k, d_v, rounder);
  if (s.smooth_Q > 0) {
    y.scales.bias_rows = std::min(s.smooth_Q, n);
    y.scales.bias = without_block_means(y.q, y.k, shape, y.scales.bias_rows, rounder, stop);
  }
  const auto store = [&](std::vector<T>& tensor, Magnitudes& range, int rows, int columns, ScaledTensor t) {
    return stored_in_place(tensor, range, rows, columns, s[t], t, main, y.all_heads, stop);
  };
  parallel_invoke([&] { y.scales.q = store(y.q, y.ranges.q, n, d, ScaledTensor::Q); },
                  [&] { y.scales.k = store(y.k, y.ranges.k, n_k, d, ScaledTensor::K); },
                  [&] { y.scales.o = store(y.v, y.ranges.v, n_k, d_v, ScaledTensor::V); });
  match(y.scales, s, shape, s.smooth_Q > 0);
  if (y.scales.o.size() == 1) y.scales.o.assign(at(d_v), T{y.scales.o.front()});
  return y;
}

template <class T>
Matrix golden_of_stored(const Operands<T>& x, Problem problem, const std::vector<int>& rows, bool precise,
                        const StopSign& stop) {
  const Tensors t = stored_tensors(x, shape_of(problem), stop);
  problem.scale = scale_of(problem);
  problem.d_v = t.d_v;
  problem.d = t.d;
  const Job<double> golden = golden_job(problem, t);
  return precise ? run_double_double(golden, rows, stop) : run(golden, rows, nullptr, stop);
}

void add_scores_of_mean(std::vector<double>& lse, const std::vector<int>& rows, const Tensors& x, const Problem& problem,
                        const Scalings& s, const Format& main, double unit) {
  std::vector<double> mean = mean_of_rows(x.k, 0, x.n_k, x.d);
  round_all(mean, NearestRounder<double>(s.smoothed, main));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double score = 0;
    for (int c = 0; c < x.d; ++c) score += x.q[place(rows[i], x.d) + at(c)] * mean[at(c)];
    lse[i] += scale_of(problem) * unit * score;
  }
}

template Matrix golden_of_stored(const Operands<float>&, Problem, const std::vector<int>&, bool, const StopSign&);
template Matrix golden_of_stored(const Operands<double>&, Problem, const std::vector<int>&, bool, const StopSign&);
template Operands<float> scaled_operands(const Operands<float>&, const Scalings&, const AttentionShape&, const Format&,
                                         std::uint64_t, const StopSign&);
template Operands<double> scaled_operands(const Operands<double>&, const Scalings&, const AttentionShape&, const Format&,
                                          std::uint64_t, const StopSign&);

}  // namespace attoscope
