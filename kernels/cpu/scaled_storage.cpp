#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {
namespace {

// --- elements that share a scale --------------------------------------------------------------------------------------

/// Element (row, column) belongs to group row[row] * columns + column[column].
struct ScaleGroups {
  std::vector<int> row, column;
  int columns = 1, count = 1;
};

int row_group(const Scaling& s, ScaledTensor t, int row) {
  switch (s.granularity) {
    case Granularity::head:
    case Granularity::tensor:
    case Granularity::channel:
      return 0;
    case Granularity::rows:
      return row / s.block;
    case Granularity::token:
    case Granularity::columns:
      return row;
    case Granularity::thread: {
      const int own = row % s.block % 8;
      return t == ScaledTensor::Q ? row / s.block * 8 + own : row / s.block * 4 + own / 2;
    }
    case Granularity::block:
      return t == ScaledTensor::V ? row / s.block : row;
  }
  return 0;
}

int column_group(const Scaling& s, ScaledTensor t, int column) {
  if (s.granularity == Granularity::channel) return column;
  if (s.granularity == Granularity::columns) return column / s.block;
  if (s.granularity != Granularity::block) return 0;
  return t == ScaledTensor::V ? column : column / s.block;
}

ScaleGroups scale_groups(const Scaling& s, ScaledTensor t, int n, int d) {
  ScaleGroups g;
  for (int row = 0; row < n; ++row) g.row.push_back(row_group(s, t, row));
  for (int column = 0; column < d; ++column) g.column.push_back(column_group(s, t, column));
  g.columns = *std::ranges::max_element(g.column) + 1;
  g.count = (*std::ranges::max_element(g.row) + 1) * g.columns;
  return g;
}

/// The largest finite magnitude of each group; 0 if there is none.
template <class T>
std::vector<T> largest_magnitudes(const std::vector<T>& x, const ScaleGroups& g, const StopSign& stop) {
  std::vector<T> most(at(g.count), T{0});
  const std::size_t d = g.column.size();
  for (std::size_t row = 0; row < g.row.size(); ++row) {
    if (row % 1024 == 0) stop.check();
    T* const of_row = most.data() + at(g.row[row]) * at(g.columns);
    const T* const values = x.data() + row * d;
    for (std::size_t c = 0, end = 0; c < d; c = end) {
      T largest = of_row[g.column[c]];
      for (end = c; end < d && g.column[end] == g.column[c]; ++end) {
        const T magnitude = std::fabs(values[end]);
        largest = magnitude > largest && magnitude <= std::numeric_limits<T>::max() ? magnitude : largest;
      }
      of_row[g.column[c]] = largest;
    }
  }
  return most;
}

// --- scales ------------------------------------------------------------------------------------------------------------

/// A scale, and the factor or divisor that converts x to the number rounded to an element.
template <class T>
struct Scale {
  T s = 1, by = 1;
  bool multiplies = false;  ///< x * by; else x / by

  T quotient(T x) const { return multiplies ? x * by : x / by; }
};

/// Computes the scales of one tensor.
template <class T>
class ScaleRuler {
 public:
  ScaleRuler(const Scaling& s, T head_amax)
      : s_(s), most_(static_cast<T>(target(s))), of_the_head_(head_amax == 0 ? T{1} : head_amax / (most_ * T{448})) {
    if (of_the_head_ == 0) of_the_head_ = std::numeric_limits<T>::denorm_min();
  }

  Scale<T> scale(T amax) const {
    if (s_.rule == ScaleRule::fixed) {
      const T factor = static_cast<T>(s_.factor);
      return {T{1} / factor, factor, true};
    }
    const T exact = amax == 0 ? T{1} : unrounded(amax);
    const T s = (amax == 0 ? T{1} : in_format(exact)) + static_cast<T>(s_.added);
    return with_quotient(s, exact, amax);
  }

 private:
  T unrounded(T amax) const {
    using Bits = typename Layout<T>::Bits;
    const int exponent = exponent_of<T>(std::bit_cast<Bits>(amax));
    if (s_.rule == ScaleRule::floor) return power_of_two<T>(exponent - largest_exponent(s_.element));
    if (s_.rule == ScaleRule::amax) return amax / most_;
    const double quotient = static_cast<double>(amax) / target(s_);
    const int below = exponent_of<double>(std::bit_cast<std::uint64_t>(quotient));
    return power_of_two<T>(power_of_two<double>(below) < quotient ? below + 1 : below);
  }

  /// x rounded to the scale's format, but always above 0.
  T in_format(T x) const {
    static const ElementRounder<T> to_e4m3(element_e4m3);
    switch (s_.scale) {
      case ScaleFormat::fp32_scale:
        return std::max(x, std::numeric_limits<T>::denorm_min());
      case ScaleFormat::e8m0_scale:
        return std::clamp(x, power_of_two<T>(-127), power_of_two<T>(127));
      case ScaleFormat::e4m3_scale:
        return std::max(to_e4m3(x), static_cast<T>(smallest_subnormal(e4m3)));
      case ScaleFormat::nvfp4_scale:
        return std::max(to_e4m3(x / of_the_head_), static_cast<T>(smallest_subnormal(e4m3))) * of_the_head_;
    }
    return x;
  }

  /// Uses division if the reciprocal is not finite, which would turn 0 into NaN.
  Scale<T> with_quotient(T s, T exact, T amax) const {
    const T reciprocal = T{1} / s, ratio = most_ / amax;
    if (s_.quotient == Quotient::reciprocal && std::isfinite(reciprocal)) return {s, reciprocal, true};
    if (s_.quotient == Quotient::ratio && std::isfinite(ratio)) return {s, ratio, true};
    if (s_.quotient == Quotient::unrounded && exact > 0) return {s, exact, false};
    return {s, s, false};
  }

  const Scaling& s_;
  T most_, of_the_head_;
};

/// Computes the quotients that the elements of a row are rounded from. `scales`: scales of the row's groups.
template <class T>
void take_quotients(const T* x, const Scale<T>* scales, const ScaleGroups& groups, T* y) {
  const std::size_t d = groups.column.size();
  if (groups.columns > 1) {
    for (std::size_t c = 0; c < d; ++c) y[c] = scales[groups.column[c]].quotient(x[c]);
  } else if (scales->multiplies) {
    for (std::size_t c = 0; c < d; ++c) y[c] = x[c] * scales->by;
  } else {
    for (std::size_t c = 0; c < d; ++c) y[c] = x[c] / scales->by;
  }
}

template <class T>
std::vector<Scale<T>> scales_of(const std::vector<T>& x, const Scaling& s, const ScaleGroups& groups, const StopSign& stop,
                                T all_heads) {
  std::vector<T> amax = largest_magnitudes(x, groups, stop);
  if (s.granularity == Granularity::tensor) amax.front() = std::max(amax.front(), all_heads);
  const ScaleRuler<T> ruler(s, *std::ranges::max_element(amax));
  std::vector<Scale<T>> scales;
  for (const T most : amax) scales.push_back(ruler.scale(most));
  return scales;
}

}  // namespace

template <class T>
ScaledStorage<T> scaled_storage(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                const StopSign& stop, T all_heads) {
  const ScaleGroups groups = scale_groups(s, t, n, d);
  const std::vector<Scale<T>> scales = scales_of(x, s, groups, stop, all_heads);
  const bool factored = is_factored(s, t);
  const ElementRounder<T> rounder(s.element, s.tie);
  const NearestRounder<T> operand(s.operand, main);
  ScaledStorage<T> stored{.operand = zeros<T>(x.size(), stop), .factor = {}};
  each_row(n, stop, [&](int row) {
    const Scale<T>* const of_row = scales.data() + at(groups.row[at(row)]) * at(groups.columns);
    T* const y = stored.operand.data() + place(row, d);
    take_quotients(x.data() + place(row, d), of_row, groups, y);
    rounder(y, at(d));
    if (!factored)
      for (std::size_t c = 0; c < at(d); ++c) y[c] = operand(y[c] * of_row[groups.column[c]].s);
  });
  if (factored) {
    stored.mantissa_bits = mantissa_bits(s.element);
    const int count = has_one_scale(s.granularity) ? 1 : t == ScaledTensor::V ? d : n;
    for (int i = 0; i < count; ++i)
      stored.factor.push_back(scales[at(t == ScaledTensor::V ? groups.column[at(i)] : groups.row[at(i)])].s);
  } else {
    stored.mantissa_bits = operand.mantissa_bits();
  }
  return stored;
}

template <class T>
StoredNumbers<T> stored_numbers(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                T all_heads) {
  const ScaleGroups groups = scale_groups(s, t, n, d);
  const std::vector<Scale<T>> scales = scales_of(x, s, groups, {}, all_heads);
  const ElementRounder<T> rounder(s.element, s.tie);
  const NearestRounder<T> operand(s.operand, main);
  StoredNumbers<T> stored;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Scale<T>& scale = scales[at(groups.row[i / at(d)]) * at(groups.columns) + at(groups.column[i % at(d)])];
    stored.elements.push_back(rounder(scale.quotient(x[i])));
    stored.scales.push_back(scale.s);
    stored.operands.push_back(is_factored(s, t) ? stored.elements.back() : operand(stored.elements.back() * scale.s));
  }
  return stored;
}

template StoredNumbers<float> stored_numbers(const std::vector<float>&, int, int, const Scaling&, ScaledTensor, const Format&,
                                             float);
template StoredNumbers<double> stored_numbers(const std::vector<double>&, int, int, const Scaling&, ScaledTensor, const Format&,
                                              double);
template ScaledStorage<float> scaled_storage(const std::vector<float>&, int, int, const Scaling&, ScaledTensor, const Format&,
                                             const StopSign&, float);
template ScaledStorage<double> scaled_storage(const std::vector<double>&, int, int, const Scaling&, ScaledTensor, const Format&,
                                              const StopSign&, double);

}  // namespace attoscope
