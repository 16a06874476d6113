/// Sampling of cells to pixels: code shared by CPU and GPU; one thread block computes a row of pixels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic/format.h"
#include "kernels/deviation/fields.h"

namespace attoscope {

/// A field, and the format and floor of its ulps.
struct FieldRule {
  Field field = Field::golden;
  Format format{};       ///< the main format
  double ulp_floor = 0;  ///< ulps are at least those of this magnitude, 1 % of the golden RMS
};

/// Golden, a and b, row-major; the golden value on the numbers that each method stores (null if it stores nothing with scales);
/// and the error of a loaded output over its tolerance (null if none was judged).
struct FieldMatrices {
  const double *golden = nullptr, *a = nullptr, *b = nullptr;
  const double *a_stored = nullptr, *b_stored = nullptr;
  const double* shares = nullptr;
};

/// `difference` in ulps at `reference`, or at 0 if `reference` is not finite.
ATTOSCOPE_HOST_DEVICE_INLINE double in_ulps(const FieldRule& rule, double difference, double reference) {
  const double magnitude = std::fabs(reference);
  const bool finite = bit_as<std::uint64_t>(magnitude) < Layout<double>::infinity;
  return difference / ulp(rule.format, finite ? (magnitude < rule.ulp_floor ? rule.ulp_floor : magnitude) : 0.0);
}

/// Error of `value` relative to `reference`; 0 if they are equal.
ATTOSCOPE_HOST_DEVICE_INLINE double relative_error(double value, double reference) {
  return value == reference ? 0.0 : (value - reference) / std::fabs(reference);
}

/// The field's value at element i. Reads only the matrices that the field needs.
ATTOSCOPE_HOST_DEVICE_INLINE double field_value(const FieldRule& rule, const FieldMatrices& m, std::ptrdiff_t i) {
  switch (rule.field) {
    case Field::golden:
      return m.golden[i];
    case Field::a:
      return m.a[i];
    case Field::b:
      return m.b[i];
    case Field::a_error:
      return m.a[i] - m.golden[i];
    case Field::b_error:
      return m.b[i] - m.golden[i];
    case Field::a_abs:
      return std::fabs(m.a[i] - m.golden[i]);
    case Field::b_abs:
      return std::fabs(m.b[i] - m.golden[i]);
    case Field::a_ulps:
      return in_ulps(rule, m.a[i] - m.golden[i], m.golden[i]);
    case Field::b_ulps:
      return in_ulps(rule, m.b[i] - m.golden[i], m.golden[i]);
    case Field::a_relative:
      return relative_error(m.a[i], m.golden[i]);
    case Field::b_relative:
      return relative_error(m.b[i], m.golden[i]);
    case Field::a_minus_b:
      return m.a[i] - m.b[i];
    case Field::a_storage:
      return m.a_stored == nullptr ? 0.0 : m.a_stored[i] - m.golden[i];
    case Field::a_arithmetic:
      return m.a[i] - (m.a_stored == nullptr ? m.golden : m.a_stored)[i];
    case Field::b_storage:
      return m.b_stored == nullptr ? 0.0 : m.b_stored[i] - m.golden[i];
    case Field::b_arithmetic:
      return m.b[i] - (m.b_stored == nullptr ? m.golden : m.b_stored)[i];
    case Field::tolerance:
      return m.shares == nullptr ? bit_as<double>(std::uint64_t{0x7ff8000000000000}) : m.shares[i];
  }
  return 0;
}

/// The value as displayed: rounded to float, with a single NaN, since NaN's bits differ between devices.
ATTOSCOPE_HOST_DEVICE_INLINE float shown_value(double value) {
  return value == value ? static_cast<float>(value) : bit_as<float>(0x7fc00000U);
}

/// A pixel shows the value of the largest rank: NaN before infinity before the larger |value|, and the positive one of two
/// opposite values. A rank is the value with its bits rotated; the largest rank does not depend on the order of comparisons.
ATTOSCOPE_HOST_DEVICE_INLINE std::uint32_t rank_of(float value) {
  const std::uint32_t bits = bit_as<std::uint32_t>(value);
  return ((bits << 1) | (bits >> 31)) ^ 1U;
}
ATTOSCOPE_HOST_DEVICE_INLINE float value_of_rank(std::uint32_t rank) {
  const std::uint32_t bits = rank ^ 1U;
  return bit_as<float>((bits >> 1) | (bits << 31));
}
inline constexpr std::uint32_t least_rank = 0;  ///< the rank of -0

/// Cells [first, end).
struct CellSpan {
  int first = 0, end = 0;
  friend bool operator==(const CellSpan&, const CellSpan&) = default;
};

/// `x`, a whole number, clamped to 0 .. cells.
ATTOSCOPE_HOST_DEVICE_INLINE int clipped_cell(double x, int cells) {
  return x > 0 ? (x < cells ? static_cast<int>(x) : cells) : 0;
}

/// The cells under pixel `p` of `pixels` that span [from, to) in cells, clamped to 0 .. cells.
ATTOSCOPE_HOST_DEVICE_INLINE CellSpan cells_under(int p, int pixels, double from, double to, int cells) {
  const double step = (to - from) / pixels, low = from + p * step, high = from + (p + 1) * step;
  const double first = std::floor(low + 1e-9), end = std::ceil(high - 1e-9);
  return {clipped_cell(first, cells), clipped_cell(end > first + 1 ? end : first + 1, cells)};
}

/// Parameters of a picture.
struct SampleTask {
  FieldRule rule;
  FieldMatrices matrices;
  int rows = 0, cols = 0;
  CellRect rect;
  int width = 0, height = 0;
  float outside = 0;
};

/// Number of threads per row of pixels.
inline constexpr int sample_threads = 256;

/// The columns visible in the picture.
ATTOSCOPE_HOST_DEVICE_INLINE CellSpan columns_seen(const SampleTask& task) {
  const CellSpan left = cells_under(0, task.width, task.rect.col0, task.rect.col1, task.cols);
  const CellSpan right = cells_under(task.width - 1, task.width, task.rect.col0, task.rect.col1, task.cols);
  return {left.first < right.first ? left.first : right.first, left.end > right.end ? left.end : right.end};
}

/// First phase for row `y` of pixels: calls raise(column, rank) with the largest rank that this thread found in a column,
/// counted from the first visible one. Every cell is read once, adjacent cells by adjacent threads. If there are more threads
/// than columns, several threads share the rows of a column.
template <class Raise>
ATTOSCOPE_HOST_DEVICE_INLINE void pool_columns(const SampleTask& task, int y, int thread, int threads, Raise raise) {
  const CellSpan columns = columns_seen(task);
  const CellSpan rows = cells_under(y, task.height, task.rect.row0, task.rect.row1, task.rows);
  const int count = columns.end - columns.first;
  if (count <= 0) return;
  const int slices = threads > count ? threads / count : 1;
  for (int i = thread; i < slices * count; i += threads) {
    const int column = i % count;
    std::uint32_t best = least_rank;
    for (int row = rows.first + i / count; row < rows.end; row += slices) {
      const std::ptrdiff_t element = static_cast<std::ptrdiff_t>(row) * task.cols + columns.first + column;
      const std::uint32_t rank = rank_of(shown_value(field_value(task.rule, task.matrices, element)));
      best = rank > best ? rank : best;
    }
    raise(column, best);
  }
}

/// Second phase: calls put(x, value) for the pixels of this thread, given the largest rank of each visible column.
template <class Put>
ATTOSCOPE_HOST_DEVICE_INLINE void pool_pixels(const SampleTask& task, int y, int thread, int threads,
                                              const std::uint32_t* ranks, Put put) {
  const int first_seen = columns_seen(task).first;
  const CellSpan rows = cells_under(y, task.height, task.rect.row0, task.rect.row1, task.rows);
  for (int x = thread; x < task.width; x += threads) {
    const CellSpan columns = cells_under(x, task.width, task.rect.col0, task.rect.col1, task.cols);
    std::uint32_t best = least_rank;
    for (int column = columns.first; column < columns.end; ++column) {
      const std::uint32_t rank = ranks[column - first_seen];
      best = rank > best ? rank : best;
    }
    put(x, rows.first < rows.end && columns.first < columns.end ? value_of_rank(best) : task.outside);
  }
}

}  // namespace attoscope
