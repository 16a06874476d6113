/// A matrix whose rows are whole vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/rows.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Row-major, 64-byte aligned, 0 at first and beyond the columns.
template <class T>
class PaddedRows {
 public:
  PaddedRows() = default;
  PaddedRows(int rows, int columns, const StopSign& stop) : rows_(rows), columns_(columns) {
    constexpr int vector = 64 / sizeof(T);
    width_ = (columns + vector - 1) / vector * vector;
    values_ = static_cast<T*>(memory_.at_least(place(rows, width_) * sizeof(T)));
    each_row(rows, stop, [&](int row) { std::fill_n(values_ + place(row, width_), width_, T{0}); });
  }

  T* data() const { return values_; }
  int width() const { return width_; }
  T operator()(int row, int column) const { return values_[place(row, width_) + at(column)]; }

  /// Every number becomes f(row, column).
  template <class F>
  void each(F f) {
    each_row(rows_, StopSign{}, [&](int row) {
      for (int c = 0; c < columns_; ++c) values_[place(row, width_) + at(c)] = f(row, c);
    });
  }
  /// Takes f(number, row, column) of a matrix without gaps.
  template <class F>
  void fill(const std::vector<T>& x, F f) {
    each([&](int row, int c) { return f(x[place(row, columns_) + at(c)], row, c); });
  }

 private:
  int rows_ = 0, columns_ = 0, width_ = 0;
  AlignedBuffer memory_;
  T* values_ = nullptr;
};

}  // namespace attoscope
