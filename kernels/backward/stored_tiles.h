/// P and dS as a kernel with scales stores them: every tile of queries and keys separately.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/backward/gradient_rule.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {

/// Values that x (rows x columns) has after storage: elements times their scales.
template <class T>
std::vector<T> stored_as(const std::vector<T>& x, int rows, int columns, const Scaling& s, ScaledTensor t, const Format& main,
                         const StopSign& stop) {
  ScaledStorage<T> y = scaled_storage(x, rows, columns, s, t, main, stop);
  const bool by_column = t == ScaledTensor::V;
  for (std::size_t i = 0; i < y.operand.size() && !y.factor.empty(); ++i)
    y.operand[i] = y.operand[i] * y.factor[y.factor.size() == 1 ? 0 : by_column ? i % at(columns) : i / at(columns)];
  return std::move(y.operand);
}

/// One panel: whole query tiles by all keys of the list, which has whole key tiles.
template <class T>
class StoredTiles {
 public:
  StoredTiles(const GradientRule<T>& rule, const KeysTask<T>& panel, int rows_of_block, const Format& main,
              const StopSign& stop)
      : rule_(rule), panel_(panel), height_(rows_of_block), main_(main), stop_(stop) {}

  /// to = x stored as `s` says, with blocks along the keys like Q or along the queries like V; x, to and `lost` are [block][key
  /// of the list][lane]. Sets `lost`, unless null, to 1 for each number that was not 0 and became 0.
  void store(const T* x, T* to, const Scaling& s, ScaledTensor t, T* lost = nullptr) const {
    const std::vector<int> rows = starts(panel_.block_count, [&](int i) { return panel_.first_rows[i]; });
    const std::vector<int> keys = starts(panel_.keys.count, [&](int i) { return panel_.keys[i] / rule_.block_k; });
    const std::size_t across = keys.size() - 1;
    parallel_for(std::size_t{0}, (rows.size() - 1) * across, [&](std::size_t i) {
      stop_.check();
      const std::size_t row = i / across, key = i % across;
      store_tile({x, to, lost}, s, t, rows[row], rows[row + 1], keys[key], keys[key + 1]);
    });
  }

 private:
  struct Numbers {
    const T* x;
    T *to, *lost;
  };
  /// Indices among 0 .. count - 1 at which a new tile begins, and the end.
  template <class Tile>
  static std::vector<int> starts(int count, Tile tile) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i)
      if (i == 0 || tile(i) != tile(i - 1)) all.push_back(i);
    all.push_back(count);
    return all;
  }

  void store_tile(const Numbers& numbers, const Scaling& s, ScaledTensor t, int first_block, int end_block, int first_key,
                  int end_key) const {
    std::vector<T> tile;
    int rows = 0;
    const auto each = [&](auto f) {
      for (int block = first_block; block < end_block; ++block)
        for (int lane = 0; lane < panel_.blocks[block].count; ++lane) {
          const Keys seen = rule_.keys_of(panel_.blocks[block].rows[lane]);
          for (int i = first_key; i < end_key; ++i)
            f((at(block) * at(panel_.keys.count) + at(i)) * at(height_) + at(lane),
              seen.first <= panel_.keys[i] && panel_.keys[i] < seen.end);
        }
    };
    for (int block = first_block; block < end_block; ++block) rows += panel_.blocks[block].count;
    each([&](std::size_t place, bool is_seen) { tile.push_back(is_seen ? numbers.x[place] : T{0}); });
    tile = stored_as(tile, rows, end_key - first_key, s, t, main_, stop_);
    std::size_t next = 0;
    each([&](std::size_t place, bool is_seen) {
      const T stored = tile[next++];
      if (numbers.lost != nullptr && is_seen && stored == 0 && numbers.x[place] != 0) numbers.lost[place] = 1;
      numbers.to[place] = stored;
    });
  }

  const GradientRule<T>& rule_;
  const KeysTask<T>& panel_;
  int height_;
  const Format& main_;
  const StopSign& stop_;
};

/// Numbers in a row of `columns` numbers padded to whole vectors.
template <class T>
int padded_width(int columns) {
  constexpr int vector = 64 / sizeof(T);
  return (columns + vector - 1) / vector * vector;
}

/// Row-major matrix, 64-byte aligned; initially 0, and 0 beyond the columns.
template <class T>
class PaddedRows {
 public:
  PaddedRows() = default;
  PaddedRows(int rows, int columns, const StopSign& stop) : rows_(rows), columns_(columns), width_(padded_width<T>(columns)) {
    values_ = static_cast<T*>(memory_.at_least(place(rows, width_) * sizeof(T)));
    each_row(rows, stop, [&](int row) { std::fill_n(values_ + place(row, width_), width_, T{0}); });
  }

  T* data() const { return values_; }
  int width() const { return width_; }
  T operator()(int row, int column) const { return values_[place(row, width_) + at(column)]; }

  /// Sets every number to f(row, column).
  template <class F>
  void each(F f) {
    each_row(rows_, StopSign{}, [&](int row) {
      for (int c = 0; c < columns_; ++c) values_[place(row, width_) + at(c)] = f(row, c);
    });
  }
  /// Sets every number to f(x[row][column], row, column); x has no gaps.
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
