/// Index arithmetic of the tensor-core kernel, shared by host and device: the lane that holds each element in mma.sync
/// (m16n8k16 for 16-bit, m16n8k32 for 8-bit elements) and ldmatrix, the place of a tile's elements in shared memory, and the
/// keys that a query sees.
#pragma once

#include <cstdint>

#include "kernels/arithmetic/format.h"

namespace attoscope::mma {

/// One instruction processes `step_bytes` of a row of A and of a column of B, for all element types.
inline constexpr int warp_lanes = 32, chunk_bytes = 16, step_bytes = 32;

struct Cell {
  int row = 0, col = 0;
  friend constexpr bool operator==(const Cell&, const Cell&) = default;
};

/// Position in C (16 x 8) of the lane's register i = 0..3.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell c_cell(int lane, int i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

// P.V with 8-bit elements. In the layout of C a lane has two adjacent keys of every 8; A needs four, taken from two
// neighbouring pieces of 8 keys. ldmatrix transposes pairs of bytes: a lane gets two adjacent columns of V for the same keys,
// and separates even and odd columns. Keys stay within their 16 keys of a step.

/// The column of V in column `col` of B, for O's fragment `fragment` of 8 columns.
template <int element_bytes>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int value_column(int fragment, int col) {
  return element_bytes == 2 ? 8 * fragment + col : fragment / 2 * 16 + 2 * col + fragment % 2;
}
/// The even (first = 0) or odd (1) bytes of x, then of y, in ascending order.
ATTOSCOPE_HOST_DEVICE_INLINE std::uint32_t alternate_bytes(std::uint32_t x, std::uint32_t y, int first) {
#ifdef __CUDA_ARCH__
  return __byte_perm(x, y, first == 0 ? 0x6420 : 0x7531);
#else
  const auto halves = [first](std::uint32_t z) { return (z >> (8 * first) & 0xff) | (z >> (8 * first + 8) & 0xff00); };
  return halves(x) | halves(y) << 16;
#endif
}

/// The row and the chunk that `lane` addresses to read 16 rows of step_bytes: as A, or (transposed) as B from V, whose rows are
/// keys.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell named_by_rows(int lane) { return {lane % 16, lane / 16}; }
/// The same for B from K: matrices 0 and 1 are the halves of the first 8 keys' pair of chunks, 2 and 3 of the next 8 keys'.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell named_by_keys(int lane) { return {lane % 8 + 8 * (lane / 16), lane / 8 % 2}; }

/// A tile of rows in shared memory. Chunks of 16 bytes are swizzled within their row: neither eight lanes of a copy (adjacent
/// chunks) nor eight rows of an 8 x 8 matrix (one column of chunks) have bank conflicts.
template <int row_bytes>
struct TileLayout {
  static_assert(row_bytes % 32 == 0 && row_bytes <= 256);
  static constexpr int chunks = row_bytes / chunk_bytes;
  /// Number of places, in the 128 bytes of all banks, over which the swizzle spreads a column of chunks; fewer are needed if
  /// the length of a row already spreads them.
  static constexpr int places = row_bytes % 128 == 0 ? 8 : row_bytes % 64 == 0 ? 4 : 2;

  /// Swizzle key of a row: its chunk numbers are xor-ed with it.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int key(int row) { return row / (8 / places) % places; }
  /// Byte offset of chunk `chunk` of `row`.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int offset(int row, int chunk) {
    return row * row_bytes + chunk_bytes * (chunk ^ key(row));
  }

  /// Byte offset for row and chunk (0 or 1) `at` in the first 16 rows of step_bytes: the one number that a lane keeps.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int lane(Cell at) { return offset(at.row, at.col); }
  /// The offset `row_block` blocks further down and `col_block` blocks to the right. Swizzled bits are below the alignment of
  /// rows, therefore a block to the right is one xor and constants.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int block_offset(int lane, int row_block, int col_block) {
    constexpr int swizzled = places * chunk_bytes - 1;
    const int right = step_bytes * col_block;
    return (lane ^ (right & swizzled)) + (right & ~swizzled) + row_block * 16 * row_bytes;
  }
};

/// Shape of the kernel: warps of 16 * row_tiles queries each; tiles of block_k keys, two of K and two of V in shared memory.
template <int D_, int warps_, int row_tiles_, int block_k_, int element_bytes_>
struct Shape {
  static constexpr int D = D_, warps = warps_, row_tiles = row_tiles_, block_k = block_k_, stages = 2;
  static constexpr int element_bytes = element_bytes_, row_bytes = D * element_bytes;
  static constexpr int warp_rows = 16 * row_tiles, block_q = warps * warp_rows, threads = warps * warp_lanes;
  static constexpr int q_bytes = block_q * row_bytes, tile_bytes = block_k * row_bytes;
  // Each thread's own numbers in shared memory, to save registers: its warp's first query; with two row tiles also l of its
  // four rows.
  static constexpr bool l_is_shared = row_tiles > 1;
  static constexpr int own_bytes = 4 * threads, query_offset = q_bytes + 2 * stages * tile_bytes;
  static constexpr int shared_bytes = query_offset + own_bytes * (l_is_shared ? 1 + 2 * row_tiles : 1);
  /// Number of chunks that a thread copies per tile.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int copies(int rows) { return rows * row_bytes / chunk_bytes / threads; }
  static_assert(q_bytes % (chunk_bytes * threads) == 0 && tile_bytes % (chunk_bytes * threads) == 0);

  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int k_offset(int stage) { return q_bytes + 2 * stage * tile_bytes; }
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int v_offset(int stage) { return k_offset(stage) + tile_bytes; }
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int l_offset(int row_tile, int half) {
    return query_offset + (1 + 2 * row_tile + half) * own_bytes;
  }
};

/// Calls f(Shape{}) for the shape that the user chose; returns false if there is none. 128 x 64 has two row tiles per warp: a
/// fragment of K or V then serves two products, which halves the reads of shared memory. 8-bit fragments are half as many
/// anyway, and at d = 128, where ptxas converts them to products of fp16, registers would not suffice.
template <int element_bytes, class F>
bool with_shape(int d, int block_q, int block_k, F f) {
  const auto with_tile = [&]<int D>() {
    if (block_q == 64 && block_k == 64) return f(Shape<D, 4, 1, 64, element_bytes>{}), true;
    if (block_q == 128 && block_k == 64) {
      if constexpr (element_bytes == 2 || D <= 96)
        return f(Shape<D, 4, 2, 64, element_bytes>{}), true;
      else
        return f(Shape<D, 8, 1, 64, element_bytes>{}), true;
    }
    if (block_q == 128 && block_k == 128) return f(Shape<D, 8, 1, 128, element_bytes>{}), true;
    return false;
  };
  if (d == 32) return with_tile.template operator()<32>();
  if (d == 64) return with_tile.template operator()<64>();
  if (d == 96) return with_tile.template operator()<96>();
  return d == 128 && with_tile.template operator()<128>();
}

/// End of the keys 0 .. end that a query sees: n, or with the causal mask the key after its own.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int end_key(bool causal, int row, int n) { return causal && row + 1 < n ? row + 1 : n; }

}  // namespace attoscope::mma
