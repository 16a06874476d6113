/// A thread block's part of a matrix product on a GPU, in code that the host can run, too. Every element of C is one chain of
/// fma in ascending k, independent of the blocks.
#pragma once

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/train/primitives/primitives.h"

namespace attoscope {

/// One launch of a product: all blocks of C and all pieces of k; `piece` is at least 1.
struct ProductTask : MatrixProduct<float> {
  std::int64_t c_piece = 0;  ///< distance between the sums of consecutive pieces
  int pieces = 1;
  bool aligned = false;  ///< four adjacent elements of a row of C can be stored at once
};

/// Four floats, loaded or stored at once.
struct alignas(16) Quad {
  float x[4];
};

/// The sizes of a thread block: it computes rows x cols elements of C, a warp 32 x 64 and a thread 8 x 8 of them, from slabs of
/// k_at_once steps of k: 16 fma per 128-bit read. A multiprocessor runs `together` blocks at a time.
template <int rows, int cols, int k_at_once, int together>
struct ProductTile {
  static constexpr int m = rows, n = cols, depth = k_at_once, threads = rows * cols / 64;
  static constexpr int blocks = together;
  static constexpr int a_row = m + 4, b_row = n + 4;          ///< of staged operands: consecutive rows lie in different banks
  static constexpr int stage_size = depth * (a_row + b_row);  ///< floats
  static_assert(rows % 32 == 0 && cols % 64 == 0);
};
using LargeTile = ProductTile<128, 128, 16, 2>;
using SmallTile = ProductTile<64, 64, 16, 6>;

/// One thread's part of copying the next `depth` steps of k of an operand, `extent` rows of A or columns of B, to shared
/// memory. Adjacent threads read adjacent elements.
template <int extent, int depth, int threads>
class OperandLoader {
 public:
  static constexpr int count = extent * depth / threads, row = extent + 4;
  static_assert(threads % extent == 0 && threads % depth == 0);

  /// `first` points to the operand's element at the block's first row or column and first k; `left` and `k_left` are the
  /// remaining numbers of rows or columns and of k. Elements beyond are `pad`.
  ATTOSCOPE_HOST_DEVICE_INLINE OperandLoader(const float* first, std::int64_t stride, std::int64_t k_stride, int left,
                                             int k_left, float pad, int thread)
      : left_(left), k_left_(k_left), pad_(pad) {
    const bool k_first = k_stride == 1;
    index_ = k_first ? thread / depth : thread % extent;
    k_ = k_first ? thread % depth : thread / extent;
    index_step_ = k_first ? threads / depth : 0;
    k_step_ = k_first ? 0 : threads / extent;
    from_ = first + index_ * stride + k_ * k_stride;
    step_ = index_step_ * stride + k_step_ * k_stride;
    advance_ = depth * k_stride;
  }

  /// Loads the next steps into registers.
  ATTOSCOPE_HOST_DEVICE_INLINE void fetch() {
    const float* from = from_;
    if (left_ >= extent && k_left_ >= depth) {
      ATTOSCOPE_UNROLL(unroll)
      for (int j = 0; j < count; ++j, from += step_) held_[j] = *from;
    } else {
      ATTOSCOPE_UNROLL(unroll)
      for (int j = 0; j < count; ++j, from += step_)
        held_[j] = index_ + j * index_step_ < left_ && k_ + j * k_step_ < k_left_ ? *from : pad_;
    }
    from_ += advance_;
    k_left_ -= depth;
  }
  /// Stores the fetched numbers to stage[k * row + index].
  ATTOSCOPE_HOST_DEVICE_INLINE void put(float* stage) const {
    float* to = stage + k_ * row + index_;
    const int step = k_step_ * row + index_step_;
    ATTOSCOPE_UNROLL(unroll)
    for (int j = 0; j < count; ++j) to[j * step] = held_[j];
  }

 private:
  const float* from_;
  std::int64_t step_, advance_;
  int index_, index_step_, k_, k_step_, left_, k_left_;
  float pad_;
  float held_[count] = {};
};

/// A thread block's place in C, and its piece of k.
struct ProductPlace {
  int m = 0, n = 0, piece = 0;  ///< block of rows, block of columns, piece

  ATTOSCOPE_HOST_DEVICE_INLINE int k_first(const ProductTask& p) const { return piece * p.piece; }
  ATTOSCOPE_HOST_DEVICE_INLINE int k_count(const ProductTask& p) const {
    const int left = p.k - k_first(p);
    return left < p.piece ? left : p.piece;
  }
};

/// One thread of a block. Beyond the end of k, A is -0 and B is +0: adding the product -0 changes no sum, not even -0.
template <class Tile>
class ProductThread {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE ProductThread(const ProductTask& p, const ProductPlace& place, int thread)
      : a_(p.a + place.m * std::int64_t{Tile::m} * p.a_row + place.k_first(p) * p.a_col, p.a_row, p.a_col,
           p.m - place.m * Tile::m, place.k_count(p), -0.0f, thread),
        b_(p.b + place.n * std::int64_t{Tile::n} * p.b_col + place.k_first(p) * p.b_row, p.b_col, p.b_row,
           p.n - place.n * Tile::n, place.k_count(p), 0.0f, thread) {
    constexpr int warps_across = Tile::n / 64;
    const int warp = thread / 32, lane = thread % 32;
    row_ = warp / warps_across * 32 + lane / 8 * 4;
    col_ = warp % warps_across * 64 + lane % 8 * 4;
  }

  ATTOSCOPE_HOST_DEVICE_INLINE void fetch() {
    a_.fetch();
    b_.fetch();
  }
  ATTOSCOPE_HOST_DEVICE_INLINE void put(float* stage) const {
    a_.put(stage);
    b_.put(stage + Tile::depth * Tile::a_row);
  }

  ATTOSCOPE_HOST_DEVICE_INLINE void multiply(const float* stage) {
    const float *a = stage + row_, *b = stage + Tile::depth * Tile::a_row + col_;
    ATTOSCOPE_UNROLL(unroll)
    for (int k = 0; k < Tile::depth; ++k, a += Tile::a_row, b += Tile::b_row) {
      const Quad x[2] = {quad(a), quad(a + 16)}, y[2] = {quad(b), quad(b + 32)};
      ATTOSCOPE_UNROLL(unroll)
      for (int i = 0; i < 8; ++i) ATTOSCOPE_UNROLL(unroll)
      for (int j = 0; j < 8; ++j) sum_[i][j] = fused(x[i / 4].x[i % 4], y[j / 4].x[j % 4], sum_[i][j]);
    }
  }

  /// Rounds and stores the thread's elements of C; adjacent lanes have adjacent columns.
  ATTOSCOPE_HOST_DEVICE_INLINE void store(const ProductTask& p, const ProductPlace& place) {
    with_plan(p.rounding, [&](auto rounder) {
      ATTOSCOPE_UNROLL(unroll)
      for (int i = 0; i < 8; ++i) ATTOSCOPE_UNROLL(unroll)
      for (int j = 0; j < 8; ++j) sum_[i][j] = rounder(sum_[i][j]);
    });
    ATTOSCOPE_UNROLL(unroll)
    for (int i = 0; i < 8; ++i) {
      const int row = place.m * Tile::m + row_ + i / 4 * 16 + i % 4;
      ATTOSCOPE_UNROLL(unroll)
      for (int half = 0; half < 2; ++half)
        if (row < p.m) store_four(p, place, row, place.n * Tile::n + col_ + half * 32, sum_[i] + half * 4);
    }
  }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE static const Quad& quad(const float* x) { return *reinterpret_cast<const Quad*>(x); }

  ATTOSCOPE_HOST_DEVICE_INLINE static void store_four(const ProductTask& p, const ProductPlace& place, int row, int col,
                                                      const float* sums) {
    float* c = p.c + place.piece * p.c_piece + row * p.c_row + col;
    if (p.aligned && col + 4 <= p.n) {
      Quad next{sums[0], sums[1], sums[2], sums[3]};
      if (p.adds) {
        const Quad old = quad(c);
        ATTOSCOPE_UNROLL(unroll)
        for (int j = 0; j < 4; ++j) next.x[j] = old.x[j] + next.x[j];
      }
      *reinterpret_cast<Quad*>(c) = next;
    } else {
      ATTOSCOPE_UNROLL(unroll)
      for (int j = 0; j < 4; ++j)
        if (col + j < p.n) c[j] = p.adds ? c[j] + sums[j] : sums[j];
    }
  }

  OperandLoader<Tile::m, Tile::depth, Tile::threads> a_;
  OperandLoader<Tile::n, Tile::depth, Tile::threads> b_;
  int row_, col_;  // in the block's part of C
  float sum_[8][8] = {};
};

/// The product of a block: while one slab of k is multiplied, the next is copied to the other of two stages. `block` has
/// each(f), which calls f(thread) for its threads, sync(), and stage(i).
template <class Tile, class Block>
ATTOSCOPE_HOST_DEVICE_INLINE void multiply_block(const ProductTask& p, const ProductPlace& place, Block&& block) {
  const int slabs = (place.k_count(p) + Tile::depth - 1) / Tile::depth;
  block.each([&](ProductThread<Tile>& thread) {
    thread.fetch();
    thread.put(block.stage(0));
  });
  block.sync();
  for (int slab = 0; slab < slabs; ++slab) {
    const bool more = slab + 1 < slabs;
    block.each([&](ProductThread<Tile>& thread) {
      if (more) thread.fetch();
      thread.multiply(block.stage(slab % 2));
      if (more) thread.put(block.stage((slab + 1) % 2));
    });
    block.sync();
  }
  block.each([&](ProductThread<Tile>& thread) { thread.store(p, place); });
}

/// Number of blocks of C, and of pieces.
template <class Tile>
ProductPlace blocks_of(const ProductTask& p) {
  return {(p.m - 1) / Tile::m + 1, (p.n - 1) / Tile::n + 1, p.pieces};
}

}  // namespace attoscope
