/// Which lane of a warp holds which element in mma.m16n8k16 and ldmatrix, where a tile's elements lie in shared memory, and
/// which keys a query sees: all index arithmetic of the tensor-core kernel, the same code on host and device.
#pragma once

#include "kernels/arithmetic/format.h"

namespace attoscope::mma {

inline constexpr int warp_lanes = 32, bytes_per_element = 2, chunk_bytes = 16, chunk_elements = 8;

struct Cell {
  int row = 0, col = 0;
  friend constexpr bool operator==(const Cell&, const Cell&) = default;
};

/// Element i = 0..7 of A (16 x 16) in `lane`: half i % 2 of register i / 2.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell a_cell(int lane, int i) {
  return {lane / 4 + 8 * (i / 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i / 4)};
}
/// Element i = 0..3 of B (16 x 8): half i % 2 of register i / 2.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell b_cell(int lane, int i) { return {lane % 4 * 2 + i % 2 + 8 * (i / 2), lane / 4}; }
/// Element i = 0..3 of C (16 x 8), a register each.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell c_cell(int lane, int i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

/// ldmatrix.x4: `lane` names the address of one row of one of four 8 x 8 matrices.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell named_row(int lane) { return {lane % 8, lane / 8}; }  // col: which matrix
/// What `lane` receives of every matrix: half i = 0, 1 of the register that the matrix fills.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell received(int lane, int i, bool transposed) {
  return transposed ? Cell{lane % 4 * 2 + i, lane / 4} : Cell{lane / 4, lane % 4 * 2 + i};
}

/// The row and the 8-element chunk that `lane` names where 16 x 16 elements are read: as A, or (transposed) as B from V,
/// whose keys are rows.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell named_by_rows(int lane) { return {lane % 16, lane / 16}; }
/// The same as B from K: matrices 0 and 1 are the halves of the first 8 keys' chunk pair, 2 and 3 those of the next 8.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Cell named_by_keys(int lane) { return {lane % 8 + 8 * (lane / 16), lane / 8 % 2}; }

/// A tile of rows of D 16-bit elements in shared memory. Chunks of 16 bytes are swizzled within their row so that neither
/// eight lanes of a copy (one row's chunks) nor eight rows of an 8 x 8 matrix (one column of chunks) meet in a bank.
template <int D>
struct TileLayout {
  static_assert(D % 32 == 0 && D <= 128);
  static constexpr int chunks = D / chunk_elements, row_bytes = D * bytes_per_element;

  /// What a row's chunk numbers are xor-ed with. Rows of 32 or 96 elements start in one of two halves of the banks by
  /// themselves, so that only every other row needs another key.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int key(int row) { return D % 64 == 0 ? row % 8 : row / 2 % 4; }
  /// Byte of chunk `chunk` of `row`.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int offset(int row, int chunk) {
    return row * row_bytes + chunk_bytes * (chunk ^ key(row));
  }

  /// `offset` in the first 16 x 16 block for the row and chunk (0 or 1) `at`: one number that a lane keeps for all blocks.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int lane(Cell at) { return offset(at.row, at.col); }
  /// The same for the block `row_block` blocks further down and `col_block` to the right. The swizzled bits of an offset are
  /// those below a row's (or two rows') alignment, so that a block to the right is one xor and constants.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int block_offset(int lane, int row_block, int col_block) {
    constexpr int swizzled = (D % 64 == 0 ? 128 : 64) - 1;
    const int right = 2 * chunk_bytes * col_block;
    return (lane ^ (right & swizzled)) + (right & ~swizzled) + row_block * 16 * row_bytes;
  }
};

/// Warps of 16 * row_tiles queries each; keys in tiles of block_k, two of K and two of V in shared memory.
template <int D_, int warps_, int row_tiles_, int block_k_>
struct Shape {
  static constexpr int D = D_, warps = warps_, row_tiles = row_tiles_, block_k = block_k_, stages = 2;
  static constexpr int warp_rows = 16 * row_tiles, block_q = warps * warp_rows, threads = warps * warp_lanes;
  static constexpr int q_bytes = block_q * D * bytes_per_element, tile_bytes = block_k * D * bytes_per_element;
  static constexpr int shared_bytes = q_bytes + 2 * stages * tile_bytes;
  /// Chunks that a thread copies of a tile.
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int copies(int rows) { return rows * D / chunk_elements / threads; }
  static_assert(block_q * D % (chunk_elements * threads) == 0 && block_k * D % (chunk_elements * threads) == 0);

  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int k_offset(int stage) { return q_bytes + 2 * stage * tile_bytes; }
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr int v_offset(int stage) { return k_offset(stage) + tile_bytes; }
};

/// f(Shape{}) for the shape that the user chose; returns false where there is none. 128 x 64 has two row tiles per warp: a
/// fragment of K or V then serves two products, which halves the reads of shared memory.
template <class F>
bool with_shape(int d, int block_q, int block_k, F f) {
  const auto with_tile = [&]<int D>() {
    if (block_q == 64 && block_k == 64) return f(Shape<D, 4, 1, 64>{}), true;
    if (block_q == 128 && block_k == 64) return f(Shape<D, 4, 2, 64>{}), true;
    if (block_q == 128 && block_k == 128) return f(Shape<D, 8, 1, 128>{}), true;
    return false;
  };
  switch (d) {
    case 32:
      return with_tile.template operator()<32>();
    case 64:
      return with_tile.template operator()<64>();
    case 96:
      return with_tile.template operator()<96>();
    case 128:
      return with_tile.template operator()<128>();
    default:
      return false;
  }
}

/// The keys 0 .. end that a query sees: all of n, or those up to itself.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int end_key(bool causal, int row, int n) { return causal && row + 1 < n ? row + 1 : n; }

}  // namespace attoscope::mma
