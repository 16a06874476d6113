/// The backward pass of one block of query rows on a CPU. README.md states the rule.
#pragma once

#include <algorithm>

#include "kernels/backward/column_product.h"
#include "kernels/backward/row_pairs.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// P and dS of the block's rows, and dQ with columns in the lanes.
template <class T>
class GradientRows : private RowPairs<T, CpuObserver<T>> {
  using Base = RowPairs<T, CpuObserver<T>>;
  using Base::job_, Base::block_, Base::group_, Base::scratch_, Base::rule_, Base::task_, Base::ds_, Base::exponents_a_,
      Base::exponents_b_;
  using Base::R, Base::vectors, Base::at, Base::vec, Base::buffers, Base::tiles, Base::of_ds, Base::add_in_blocks;
  using typename Base::V;

 public:
  GradientRows(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, Arena& arena)
      : Base(rule, task, LaneGroup{task.block.count}, CpuObserver<T>{nullptr, stop}, arena) {
    sums_ = arena.take<T>(static_cast<std::size_t>(at(rule.width * (1 + buffers()))));
    for (int** of : {&key_first_, &key_end_, &numbers_}) *of = arena.take<int>(static_cast<std::size_t>(R));
    holds_ = arena.take<int>(static_cast<std::size_t>(R * buffers()));
    if (is_summed_in_blocks()) take_blocks(arena);
  }

  /// Computes P, dS, delta and L.
  void run() { this->find_pairs(); }

  /// Computes dQ of the block's rows.
  void queries() {
    const int count = block_.count;
    for (int i = 0; i < count; ++i) numbers_[i] = block_.rows[i];
    for (int i = 0; i < count * buffers(); ++i) holds_[i] = 0;
    const TileOrder order(rule_.order, rule_.order_seed, task_.query_tile, tiles());
    for (int i = task_.first_tile; i < std::min(tiles(), task_.end_tile); ++i) add_tile(order[i]);
    for (int b = 1; b < buffers(); ++b) {
      for (int lane = 0; lane < count; ++lane) key_end_[lane] = key_first_[lane] + holds_[b * count + lane];
      add_rows(buffer(b), -1 - b, 0);
    }
    store_queries();
  }

 private:
  T* buffer(int b) const { return sums_ + at(rule_.width * (1 + b)); }

  /// Rounds dQ from the sums and stores it.
  void store_queries() {
    const T factor = rule_.factors.dQ;
    with_columns(GradStep::dQ, [&](auto rounder, int c0) {
      for (int lane = 0; lane < block_.count; ++lane) {
        if (task_.places[lane] < 0) continue;
        const V sum = *as_vectors(buffer(0) + lane * rule_.width + c0);
        const V x = holds_[lane] != 0 ? rounder(factor * sum, RoundingKey{0, numbers_[lane], 0}) : V{};
        store_numbers(x, job_.d - c0, task_.d_q + static_cast<std::ptrdiff_t>(task_.places[lane]) * job_.d + c0);
      }
    });
  }

  /// Calls use(rounder, c0) for each vector of columns.
  template <class Use>
  void with_columns(GradStep step, Use use) const {
    for (int c0 = 0; c0 < rule_.width; c0 += Lanes<T>::width)
      with_rounder(rule_[step], random_step(step), RandomBits<T>{job_.seed, rule_.column_numbers + c0},
                   [&](auto rounder) { use(rounder, c0); });
  }

  /// Adds the key tile's dS.K to its buffer, in the rows that see one of its keys.
  void add_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * rule_.block_k;
    const int k0 = static_cast<int>(begin), k1 = static_cast<int>(std::min<std::int64_t>(begin + rule_.block_k, job_.n));
    bool any = false;
    for (int lane = 0; lane < block_.count; ++lane) {
      const Keys seen = rule_.keys_of(block_.rows[lane]);
      key_first_[lane] = clamp(seen.first, k0, k1) - k0;
      key_end_[lane] = clamp(seen.end, k0, k1) - k0;
      any |= key_first_[lane] < key_end_[lane];
    }
    if (!any) return;
    rule_.dq_sum.accumulator == Accumulator::fma ? sum_tile(k0) : sum_tile_in_blocks(k0, k1);
    add_sums(tile);
  }
  void sum_tile(int k0) const {
    const ColumnProduct<T, false> dq{.a = of_ds() + at(k0),
                                     .b = rule_.k + static_cast<std::ptrdiff_t>(k0) * rule_.width,
                                     .c = sums_,
                                     .width = rule_.width,
                                     .m = block_.count,
                                     .first = key_first_,
                                     .end = key_end_,
                                     .step = random_step(GradStep::dq_step),
                                     .seed = job_.seed,
                                     .column_numbers = rule_.column_numbers,
                                     .numbers = numbers_,
                                     .first_k = k0};
    column_product(dq, rule_[GradStep::dq_step]);
  }

  /// Adds the tile's sums to their buffer.
  void add_sums(int tile) {
    if (rule_[GradStep::dq_tile].rounds())
      with_columns(GradStep::dq_tile, [&](auto rounder, int c0) {
        for (int lane = 0; lane < block_.count; ++lane) {
          V& x = *as_vectors(sums_ + lane * rule_.width + c0);
          x = rounder(x, RoundingKey{0, numbers_[lane], tile});
        }
      });
    add_rows(sums_, tile, rule_.order == GradOrder::buffers ? tile % buffers() : 0);
  }

  /// x = round(x + row of `from`) in buffer b for lanes with a non-empty range of keys; x = the row if the buffer held nothing.
  void add_rows(const T* from, int number, int b) {
    int* const holds = holds_ + b * block_.count;
    T* const to = buffer(b);
    with_columns(GradStep::dq_sum, [&](auto rounder, int c0) {
      for (int lane = 0; lane < block_.count; ++lane) {
        if (key_first_[lane] >= key_end_[lane]) continue;
        V& sum = *as_vectors(to + lane * rule_.width + c0);
        const V x = *as_vectors(from + lane * rule_.width + c0);
        sum = holds[lane] == 0 ? x : rounder(sum + x, RoundingKey{0, numbers_[lane], number});
      }
    });
    for (int lane = 0; lane < block_.count; ++lane) holds[lane] |= key_first_[lane] < key_end_[lane] ? 1 : 0;
  }

  // --- tensor cores -----------------------------------------------------------------------------------------------------

  bool is_summed_in_blocks() const {
    return rule_.dp_sum.accumulator != Accumulator::fma || rule_.dq_sum.accumulator != Accumulator::fma;
  }
  void take_blocks(Arena& arena) {
    const int longest = std::max({rule_.width, rule_.width_v, key_chunk});
    const auto numbers = [](int rows, int columns) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    exponents_a_ = arena.take<std::int16_t>(numbers(key_chunk, longest));
    exponents_b_ = arena.take<std::int16_t>(numbers(longest, R));
    column_sums_ = arena.take<T>(numbers(rule_.width, R));
  }
  /// Computes the tile's dS.K in blocks counted from the tile's first key; pieces end where blocks end.
  void sum_tile_in_blocks(int k0, int k1) {
    for (int first = k0; first < k1; first += key_chunk) {
      const int end = std::min(first + key_chunk, k1);
      for (int lane = 0; lane < R; ++lane) {
        const Keys seen = rule_.keys_of(block_.row_of(lane));
        scratch_.from[lane] = static_cast<T>(seen.first - first);
        scratch_.to[lane] = static_cast<T>(seen.end - first);
      }
      for (int j = 0; j < end - first; ++j) {
        const V key = splat<V>(static_cast<T>(j));
        const auto ds = vec(of_ds() + at(first + j)), b = vec(ds_ + at(j)), from = vec(scratch_.from), to = vec(scratch_.to);
        for (int r = 0; r < vectors; ++r) b[r] = key < from[r] ? V{} : (key < to[r] ? ds[r] : V{});
      }
      add_in_blocks(ValuesProduct<T>{.a = rule_.k + static_cast<std::ptrdiff_t>(first) * rule_.width,
                                     .m_stride = 1,
                                     .k_stride = rule_.width,
                                     .b = ds_,
                                     .c = column_sums_,
                                     .m = rule_.width,
                                     .depth = end - first,
                                     .resume = first > k0,
                                     .first = scratch_.from,
                                     .end = scratch_.to,
                                     .group = group_},
                    rule_.dq_sum);
    }
    for (int lane = 0; lane < block_.count; ++lane)
      for (int c = 0; c < rule_.width; ++c) sums_[lane * rule_.width + c] = column_sums_[c * R + lane];
  }

  T* sums_;  // sums of a tile, then of every buffer: [row][column]
  int *key_first_, *key_end_, *numbers_, *holds_;
  T* column_sums_ = nullptr;  // [column][row]
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
