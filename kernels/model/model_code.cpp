/// Models' code of one instruction set, compiled once for each set with its flags.
#include <type_traits>
#include <vector>

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/lanes/accumulated_product.h"
#include "kernels/model/model_lanes.h"
#include "kernels/train/primitives/product_lanes.h"
#include "kernels/train/primitives/row_math.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

template <class T>
using V = typename Lanes<T>::V;

template <class T, class Use>
void rounding(const RounderPlan<T>& plan, Use use) {
  with_rounder(plan, Step::input, RandomBits<T>{}, use);
}

/// The sum of squares of a row, rounded after every addition, also when the chains are joined.
template <class T>
T square_sum(const RmsNorm<T>& n, const T* x) {
  T sum = 0;
  const SerialRow<V<T>> row;
  if (!n.square_sum.rounds()) return row.total(n.width, [&](auto at, V<T> chain) { return chain + at.of(x) * at.of(x); });
  rounding(n.square_sum, [&](auto rounder) {
    sum = round(n.square_sum.format,
                row.total(n.width, [&](auto at, V<T> chain) { return rounder(chain + at.of(x) * at.of(x)); }));
  });
  return sum;
}

template <class T>
void norm(const RmsNorm<T>& n, std::int64_t row) {
  const T* const x = n.x + row * n.width;
  T* const y = n.y + row * n.width;
  const T reciprocal = T(1) / square_root(square_sum(n, x) / static_cast<T>(n.width) + n.epsilon);
  if (n.input.rounds())
    rounding(n.input, [&](auto rounder) { each_lanes<V<T>>(n.width, [&](auto at) { at.put(y, rounder(at.of(x))); }); });
  const T* const scaled = n.input.rounds() ? y : x;
  rounding(n.normalised,
           [&](auto rounder) { each_lanes<V<T>>(n.width, [&](auto at) { at.put(y, rounder(at.of(scaled) * reciprocal)); }); });
  rounding(n.norm,
           [&](auto rounder) { each_lanes<V<T>>(n.width, [&](auto at) { at.put(y, rounder(at.of(y) * at.of(n.weight))); }); });
}

template <class T>
void gated(const GatedProduct<T>& g) {
  rounding(g.silu, [&](auto rounder) {
    each_lanes<V<T>>(g.count, [&](auto at) {
      const V<T> x = at.of(g.gate);
      at.put(g.y, rounder(x / (exponential(-x) + T(1))));
    });
  });
  rounding(g.gated,
           [&](auto rounder) { each_lanes<V<T>>(g.count, [&](auto at) { at.put(g.y, rounder(at.of(g.y) * at.of(g.up))); }); });
}

template <class T>
void rounded_sum(const T* x, const T* add, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  rounding(plan, [&](auto rounder) {
    each_lanes<V<T>>(count, [&](auto at) { at.put(y, rounder(add ? at.of(x) + at.of(add) : at.of(x))); });
  });
}

template <class T>
void widened_weights(const float* x, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(x[i]);
  if (plan.rounds()) rounded_sum<T>(y, nullptr, count, plan, y);
}

/// The first index of the largest element of x.
int place_of(double top, const double* x, int count) {
  int place = 0;
  while (place + 1 < count && !(x[place] == top)) ++place;
  return place;
}

template <class T>
LogitSum online_sum(const OnlineLoss<T>& loss, const double* x, int count) {
  const SerialRow<V<T>> row;
  std::vector<T> block(static_cast<std::size_t>(loss.block < count ? loss.block : count));
  T m = -std::numeric_limits<T>::infinity(), l = 0;
  for (int first = 0; first < count; first += loss.block) {
    const int size = count - first < loss.block ? count - first : loss.block;
    for (int i = 0; i < size; ++i) block[static_cast<std::size_t>(i)] = static_cast<T>(x[first + i]);
    const T top = row.largest(size, [&](auto at) { return at.of(block.data()); }), next = top > m ? top : m;
    T sum = 0;
    rounding(loss.exp, [&](auto rounder) {
      sum = row.total(size, [&](auto at, V<T> chain) { return chain + rounder(exponential(at.of(block.data()) - next)); });
    });
    const T before = first == 0 ? T(0) : l * exponential(m - next);
    l = rounded(loss.sum, before + sum);
    m = next;
  }
  return {.top = m, .log_sum = logarithm(l), .argmax = place_of(m, x, count)};
}

template <class T>
double log_probability(const OnlineLoss<T>& loss, const LogitSum& s, double logit) {
  const T normaliser = static_cast<T>(s.top) + static_cast<T>(s.log_sum);
  return rounded(loss.log_probability, static_cast<T>(logit) - normaliser);
}

/// Bytes of scratch: a panel of B, the part's C before it is written, and the exponents of A and B.
std::size_t block_scratch(int rows, int depth) {
  constexpr std::size_t columns = ProductShape<float>::panel_columns;
  const auto m = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(depth);
  return (k + m) * columns * sizeof(float) + (k * columns + m * k) * sizeof(std::int16_t);
}

/// Requires rows of A that are contiguous.
void block_product(const MatrixProduct<float>& p, const BlockSum& sum, const ProductPart& part, void* scratch) {
  constexpr std::ptrdiff_t columns = ProductShape<float>::panel_columns;
  const int rows = part.end_row - part.first_row;
  auto* const packed = static_cast<float*>(scratch);
  float* const c = packed + p.k * columns;
  auto* const exponents = reinterpret_cast<std::int16_t*>(c + rows * columns);
  Panel<float>(p, part, packed).pack(0, p.k);
  KeysProduct<float> product;
  product.a = p.a + part.first_row * p.a_row;
  product.m_stride = p.a_row;
  product.k_stride = 1;
  product.b = packed;
  product.c = c;
  product.m = rows;
  product.depth = p.k;
  accumulated_product(BlockProduct<KeysProduct<float>>{
      .p = product, .sum = sum, .exponents_a = exponents + p.k * columns, .exponents_b = exponents});
  rounding(p.rounding, [&](auto rounder) {
    for (int i = 0; i < rows; ++i)
      each_lanes<V<float>>(part.end_col - part.first_col, [&](auto at) {
        at.put(p.c + (part.first_row + i) * p.c_row + part.first_col, rounder(at.of(c + i * columns)));
      });
  });
}

LogitSum logit_sum(const double* x, int count) {
  const SerialRow<V<double>> row;
  LogitSum s;
  s.top = row.largest(count, [&](auto at) { return at.of(x); });
  s.argmax = place_of(s.top, x, count);
  s.log_sum = logarithm(row.total(count, [&](auto at, V<double> chain) { return chain + exponential(at.of(x) - s.top); }));
  return s;
}

double divergence(const double* x, const LogitSum& of_x, const double* y, const LogitSum& of_y, int count) {
  return SerialRow<V<double>>{}.total(count, [&](auto at, V<double> chain) {
    const V<double> p = (at.of(x) - of_x.top) - of_x.log_sum, q = (at.of(y) - of_y.top) - of_y.log_sum;
    return chain + exponential(p) * (p - q);
  });
}

template <class T>
ModelLanes<T> lanes() {
  ModelLanes<T> x{.panel_columns = ProductShape<T>::panel_columns,
                  .block_rows = ProductShape<T>::block_rows,
                  .product_scratch = product_scratch<T>,
                  .product = product_part<T>,
                  .norm = norm<T>,
                  .gated = gated<T>,
                  .rounded_sum = rounded_sum<T>,
                  .online_sum = online_sum<T>,
                  .log_probability = log_probability<T>,
                  .widened = widened_weights<T>};
  if constexpr (std::is_same_v<T, float>) {
    x.block_product = block_product;
    x.block_scratch = block_scratch;
  }
  return x;
}

}  // namespace

ModelSet model_set() { return {lanes<float>(), lanes<double>(), {logit_sum, divergence}}; }

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
