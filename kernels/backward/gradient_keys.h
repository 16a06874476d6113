/// dK and dV of some keys over many blocks of query rows: columns in the lanes, or keys in the lanes for tensor cores.
/// README.md states the rule.
#pragma once

#include <algorithm>

#include "kernels/backward/gradient_rule.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/lanes/tile_steps.h"
#ifndef ATTOSCOPE_SIMT
#include "kernels/backward/column_product.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Lanes [first, end) of a block whose rows see `key`. Rows of a block are adjacent, and both ends of a row's range of keys
/// grow with the row. With a mask tensor: from the first such lane to the last; P and dS of unseen pairs between them are 0.
template <class T>
ATTOSCOPE_HOST_DEVICE Keys rows_of_key(const GradientRule<T>& rule, const RowBlock& block, int key) {
  if (rule.job.mask_tensor.rows != nullptr) {
    Keys lanes{0, 0};
    for (int lane = 0; lane < block.count; ++lane) {
      const Keys k = rule.keys_of(block.rows[lane]);
      if (k.first <= key && key < k.end) lanes = {lanes.end == 0 ? lane : lanes.first, lane + 1};
    }
    return lanes;
  }
  const auto first_lane = [&](auto sees) {
    if (block.count == 0 || sees(rule.keys_of(block.rows[0]))) return 0;
    if (!sees(rule.keys_of(block.rows[block.count - 1]))) return block.count;
    int low = 0, high = block.count;
    while (low < high) {
      const int middle = (low + high) / 2;
      sees(rule.keys_of(block.rows[middle])) ? high = middle : low = middle + 1;
    }
    return low;
  };
  if (rule.job.mask.kind == Mask::Kind::none) return {0, block.count};
  return {first_lane([key](Keys k) { return k.end > key; }), first_lane([key](Keys k) { return k.first > key; })};
}

#ifndef ATTOSCOPE_SIMT

/// dK and dV of some keys.
template <class T>
class GradientKeys {
  static constexpr int R = Lanes<T>::rows;

 public:
  GradientKeys(const GradientRule<T>& rule, const KeysTask<T>& task) : rule_(rule), task_(task) {}

  /// Adds the rows of the task's blocks to the sums.
  void add() const {
    add_sum({task_.p, rule_.d_o, task_.d_v, rule_.width_v, GradStep::dv_step, &rule_.dv_sum});
    add_sum({task_.ds, rule_.q, task_.d_k, rule_.width, GradStep::dk_step, &rule_.dk_sum});
  }

  void finish(double* d_k, double* d_v) const {
    finish(task_.d_k, rule_.width, rule_.job.d, rule_.factors.dK, GradStep::dK, d_k);
    finish(task_.d_v, rule_.width_v, rule_.job.d_v, T{1}, GradStep::dV, d_v);
  }

 private:
  static constexpr int at_once = 32;

  /// Operands of one of the two sums: A [block][key][lane], rows of B and of the sums.
  struct Sum {
    const T *a, *b;
    T* c;
    int width;
    GradStep step;
    const BlockSum* blocks;
  };
  const T* pairs(const Sum& sum, int block, int i) const {
    return sum.a + (static_cast<std::ptrdiff_t>(block) * task_.keys.count + i) * R;
  }

  void add_sum(const Sum& sum) const {
    if (sum.blocks->accumulator != Accumulator::fma) return add_in_blocks(sum);
    for (int first = task_.first; first < task_.end; first += at_once)
      for (int block = 0; block < task_.block_count; ++block)
        add_block(sum, block, first, std::min(task_.end, first + at_once));
  }
  void add_block(const Sum& sum, int block, int first, int end) const {
    const RowBlock& rows = task_.blocks[block];
    int from[at_once], to[at_once], numbers[at_once];
    bool any = false;
    for (int i = first; i < end; ++i) {
      numbers[i - first] = task_.keys[i];
      const Keys seen = rows_of_key(rule_, rows, task_.keys[i]);
      from[i - first] = seen.first;
      to[i - first] = seen.end;
      any |= !seen.empty();
    }
    if (!any) return;
    column_product(ColumnProduct<T, true>{.a = pairs(sum, block, first),
                                          .b = sum.b + static_cast<std::ptrdiff_t>(rows.rows[0]) * sum.width,
                                          .c = sum.c + static_cast<std::ptrdiff_t>(first) * sum.width,
                                          .width = sum.width,
                                          .m = end - first,
                                          .first = from,
                                          .end = to,
                                          .resume = true,
                                          .step = random_step(sum.step),
                                          .seed = rule_.job.seed,
                                          .column_numbers = rule_.column_numbers,
                                          .numbers = numbers,
                                          .first_k = rows.rows[0]},
                   rule_[sum.step]);
  }

  // --- tensor cores: keys in the lanes ----------------------------------------------------------------------------------

  /// Rows of one piece of a query tile, and their operands with keys in the lanes.
  struct Piece {
    int first = 0, count = 0;                              ///< rows
    T *b = nullptr, *c = nullptr;                          ///< [row][key], [column][key]
    T *from = nullptr, *to = nullptr, *changes = nullptr;  ///< [key]: rows of the piece that see it; 1 if any does
    std::int16_t *exponents_a = nullptr, *exponents_b = nullptr;
  };
  static void take(Piece& piece, const Sum& sum, Arena& arena) {
    const std::size_t width = static_cast<std::size_t>(sum.width), lanes = static_cast<std::size_t>(R), rows = key_chunk;
    piece.b = arena.take<T>(rows * lanes);
    piece.c = arena.take<T>(width * lanes);
    for (T** x : {&piece.from, &piece.to, &piece.changes}) *x = arena.take<T>(lanes);
    piece.exponents_a = arena.take<std::int16_t>(rows * width);
    piece.exponents_b = arena.take<std::int16_t>(rows * lanes);
  }

  void add_in_blocks(const Sum& sum) const {
    Piece piece;
    Arena counted(nullptr);
    take(piece, sum, counted);
    AlignedBuffer memory;
    Arena arena(memory.at_least(counted.used()));
    take(piece, sum, arena);
    for (int first = task_.first; first < task_.end; first += R) {
      const int count = std::min(R, task_.end - first);
      turn(sum, piece, first, count, false);
      for (int block = 0; block < task_.block_count;) block = add_piece(sum, piece, block, first, count);
      turn(sum, piece, first, count, true);
    }
  }

  /// Copies the sums into the lanes, or `back` out of them.
  static void turn(const Sum& sum, const Piece& piece, int first, int count, bool back) {
    for (int c = 0; c < sum.width; ++c)
      for (int lane = 0; lane < R; ++lane) {
        T* const row = sum.c + static_cast<std::ptrdiff_t>(first + (lane < count ? lane : count - 1)) * sum.width;
        if (!back) piece.c[c * R + lane] = row[c];
        if (back && lane < count) row[c] = piece.c[c * R + lane];
      }
  }

  /// Adds at most key_chunk rows of one query tile, from the first row of `block` on; returns the next block.
  int add_piece(const Sum& sum, Piece& piece, int block, int first, int count) const {
    piece.first = task_.blocks[block].rows[0];
    piece.count = 0;
    const int tile = task_.first_rows[block];
    std::fill_n(piece.from, R, T(key_chunk));
    std::fill_n(piece.to, R, T{0});
    for (; block < task_.block_count && task_.first_rows[block] == tile; ++block) {
      const RowBlock& rows = task_.blocks[block];
      if (piece.count + rows.count > key_chunk) break;
      add_to_piece(sum, piece, block, first, count);
      piece.count += rows.count;
    }
    bool any = false;
    for (int lane = 0; lane < R; ++lane) {
      piece.changes[lane] = piece.from[lane] < piece.to[lane] ? T{1} : T{0};
      any |= piece.from[lane] < piece.to[lane];
    }
    if (any) multiply(sum, piece);
    return block;
  }
  /// Copies the block's numbers into the piece's lanes, 0 for pairs that are not seen.
  void add_to_piece(const Sum& sum, Piece& piece, int block, int first, int count) const {
    const RowBlock& rows = task_.blocks[block];
    for (int lane = 0; lane < R; ++lane) {
      const int i = first + (lane < count ? lane : count - 1);
      const Keys seen = rows_of_key(rule_, rows, task_.keys[i]);
      const T* const a = pairs(sum, block, i);
      for (int row = 0; row < rows.count; ++row)
        piece.b[(piece.count + row) * R + lane] = row >= seen.first && row < seen.end ? a[row] : T{0};
      if (seen.empty()) continue;
      piece.from[lane] = std::min(piece.from[lane], static_cast<T>(piece.count + seen.first));
      piece.to[lane] = static_cast<T>(piece.count + seen.end);
    }
  }
  void multiply(const Sum& sum, const Piece& piece) const {
    if constexpr (std::is_same_v<T, float>) {
      const ValuesProduct<T> p{.a = sum.b + static_cast<std::ptrdiff_t>(piece.first) * sum.width,
                               .m_stride = 1,
                               .k_stride = sum.width,
                               .b = piece.b,
                               .c = piece.c,
                               .m = sum.width,
                               .depth = piece.count,
                               .resume = true,
                               .first = piece.from,
                               .end = piece.to};
      accumulated_product(BlockProduct<ValuesProduct<T>>{.p = p,
                                                         .sum = *sum.blocks,
                                                         .changes = piece.changes,
                                                         .exponents_a = piece.exponents_a,
                                                         .exponents_b = piece.exponents_b});
    }
  }

  /// out = round(factor * sums), the task's rows of `columns` numbers.
  void finish(const T* sums, int width, int columns, T factor, GradStep step, double* out) const {
    using V = typename Lanes<T>::V;
    for (int c0 = 0; c0 < width; c0 += Lanes<T>::width)
      with_rounder(rule_[step], random_step(step), RandomBits<T>{rule_.job.seed, rule_.column_numbers + c0}, [&](auto rounder) {
        for (int i = task_.first; i < task_.end; ++i) {
          const V sum = *as_vectors(sums + static_cast<std::ptrdiff_t>(i) * width + c0);
          const V x = rounder(factor * sum, RoundingKey{0, task_.keys[i], 0});
          store_numbers(x, columns - c0, out + static_cast<std::ptrdiff_t>(i) * columns + c0);
        }
      });
  }

  const GradientRule<T>& rule_;
  const KeysTask<T>& task_;
};

#endif

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
