/// One instruction set's code for models, compiled once for each with that set's flags.
#include "kernels/model/model_sets.h"
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

/// The sum of squares of a row, rounded after every addition, of the joined chains too.
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
  rounding(n.normalised,
           [&](auto rounder) { each_lanes<V<T>>(n.width, [&](auto at) { at.put(y, rounder(at.of(x) * reciprocal)); }); });
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

LogitSum logit_sum(const double* x, int count) {
  const SerialRow<V<double>> row;
  LogitSum s;
  s.top = row.largest(count, [&](auto at) { return at.of(x); });
  while (s.argmax + 1 < count && !(x[s.argmax] == s.top)) ++s.argmax;
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
  return {.panel_columns = ProductShape<T>::panel_columns,
          .block_rows = ProductShape<T>::block_rows,
          .product_scratch = product_scratch<T>,
          .product = product_part<T>,
          .norm = norm<T>,
          .gated = gated<T>,
          .rounded_sum = rounded_sum<T>,
          .widened = widened_weights<T>};
}

}  // namespace

ModelSet model_set() { return {lanes<float>(), lanes<double>(), {logit_sum, divergence}}; }

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
