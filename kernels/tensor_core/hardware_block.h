/// The tensor-core kernel's algorithm for one thread block: FlashAttention-2 (arXiv 2307.08691), Algorithm 1, with the scale
/// folded into exp2. `Block` and `Warp` load, multiply and store: by GPU instructions in hardware.cu, or by a model in the
/// tests that checks every index. A Lanes<X> holds one X per lane; on the GPU it is X.
#pragma once

#include <cstdint>

#include "kernels/tensor_core/mma_layout.h"

#ifdef __CUDACC__
#define ATTOSCOPE_WARP __device__ __forceinline__
#else
#define ATTOSCOPE_WARP inline
#endif

namespace attoscope::mma {

/// Arguments of one launch. Q and O are count x D for the requested queries, K and V are n x D; heads are consecutive. Q, K and
/// V are bytes of their elements' codes.
struct Arguments {
  const std::uint8_t *q = nullptr, *k = nullptr, *v = nullptr;
  const int* rows = nullptr;  ///< [count], ascending: row of the sequence of each query
  float* o = nullptr;
  int count = 0, n = 0;
  int first_tile = 0;          ///< first tile, of block_q queries, of this launch
  int tiles = 0;               ///< number of tiles per head in this launch
  int of_block = 0, step = 1;  ///< block i processes tile of_block + step * i
  bool causal = false;
  float c = 0;                             ///< scale * log2 e
  float shift = 0;                         ///< P and l carry a factor 2^shift
  int first_keys = 0, end_keys = 1 << 30;  ///< range of tiles of keys in this launch
  float* state = nullptr;                  ///< O, m and l between two launches: state_floats per tile of queries, head by head
};

/// Number of floats that a tile of queries stores for the next launch.
template <class Shape>
inline constexpr int state_floats = Shape::threads * Shape::row_tiles * (Shape::D / 2 + 4);

/// The queries of one warp: their O, m and l stay in registers during a launch.
template <class Shape, class Warp>
class WarpRows {
  template <class X>
  using Lanes = typename Warp::template Lanes<X>;
  using F = Lanes<float>;
  using U = Lanes<std::uint32_t>;
  using Tile = TileLayout<Shape::row_bytes>;
  static constexpr int M = Shape::row_tiles, D = Shape::D, Bc = Shape::block_k, element_bytes = Shape::element_bytes;

 public:
  ATTOSCOPE_WARP WarpRows(Warp& warp, const Arguments& x) : warp_(warp), x_(x) {
    // a multiple of 16: exact in fp32 up to 2^28
    warp_.put(Shape::query_offset,
              warp_.all(static_cast<float>(warp_.tile(x) * Shape::block_q + warp_.index() * Shape::warp_rows)));
    by_rows_ = warp.each([](int lane) { return Tile::lane(named_by_rows(lane)); }, warp.lane());
    by_keys_ = warp.each([](int lane) { return Tile::lane(named_by_keys(lane)); }, warp.lane());
    const F zero = warp.all(0.0f), nothing = warp.all(-__builtin_inff());
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int h = 0; h < 2; ++h) {
        m_[i][h] = nothing;
        set_l(i, h, zero);
      }
      ATTOSCOPE_UNROLL(unroll) for (int c = 0; c < D / 8; ++c) {
        ATTOSCOPE_UNROLL(unroll) for (int e = 0; e < 4; ++e) o_[i][c][e] = zero;
      }
    }
  }

  /// Continues from the state stored by `keep`.
  ATTOSCOPE_WARP void restore(const float* state) {
    each_of_state([&](int slot, F& x) { x = warp_.kept(state, slot * Shape::warps); });
  }
  ATTOSCOPE_WARP void keep(float* state) {
    each_of_state([&](int slot, F& x) { warp_.keep(state, slot * Shape::warps, x); });
  }

  /// Processes the tile of keys that starts at first_key and is in `stage`.
  ATTOSCOPE_WARP void take(int first_key, int stage) {
    by_rows_ = warp_.afresh(by_rows_);
    by_keys_ = warp_.afresh(by_keys_);
    F s[M][Bc / 8][4];
    scores(stage, s);
    if (first_key + Bc > end_of(first_query())) hide(first_key, s);
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int h = 0; h < 2; ++h) exponentials(i, h, s[i]);
    }
    accumulate(stage, s);
  }

  /// Writes O = O / l to memory.
  ATTOSCOPE_WARP void finish() {
    const int first_query = this->first_query();
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int h = 0; h < 2; ++h) {
        const F l = warp_.quad_sum(this->l(i, h));
        const Lanes<int> query = queries(warp_.lane(), first_query, i, h);
        ATTOSCOPE_UNROLL(unroll) for (int c = 0; c < D / 8; ++c) {
          // two adjacent columns: for 8-bit elements, one of an even and one of an odd fragment
          constexpr bool apart = element_bytes == 1;
          const int first = apart ? c / 2 * 2 : c, second = apart ? first + 1 : c, e = 2 * h + (apart ? c % 2 : 0);
          const Lanes<int> column =
              warp_.each([=](int lane) { return value_column<element_bytes>(first, c_cell(lane, e).col); }, warp_.lane());
          warp_.template store<D>(x_, query, column, warp_.divided(o_[i][first][e], l),
                                  warp_.divided(o_[i][second][apart ? e : e + 1], l));
        }
      }
    }
  }

 private:
  template <class Use>
  ATTOSCOPE_WARP void each_of_state(Use use) {
    constexpr int slots = D / 2 + 4;
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int h = 0; h < 2; ++h) {
        use(i * slots + h, m_[i][h]);
        F sum = l(i, h);
        use(i * slots + 2 + h, sum);
        set_l(i, h, sum);
      }
      ATTOSCOPE_UNROLL(unroll) for (int c = 0; c < D / 8; ++c) {
        ATTOSCOPE_UNROLL(unroll) for (int e = 0; e < 4; ++e) use(i * slots + 4 + 4 * c + e, o_[i][c][e]);
      }
    }
  }

  ATTOSCOPE_WARP F l(int i, int h) {
    if constexpr (Shape::l_is_shared)
      return warp_.got(Shape::l_offset(i, h));
    else
      return l_[i][h];
  }
  ATTOSCOPE_WARP void set_l(int i, int h, const F& x) {
    if constexpr (Shape::l_is_shared)
      warp_.put(Shape::l_offset(i, h), x);
    else
      l_[i][h] = x;
  }

  /// The warp's first query. It and values derived from it are recomputed at each use, to save registers.
  ATTOSCOPE_WARP int first_query() const { return static_cast<int>(warp_.one(warp_.got(Shape::query_offset))); }
  /// End of the keys 0 .. end that a query sees; queries beyond the last use the last one's.
  ATTOSCOPE_WARP int end_of(int query) const {
    return end_key(x_.causal, x_.causal ? x_.rows[query < x_.count ? query : x_.count - 1] : 0, x_.n);
  }

  /// The query of the lane's row 8 * h in row tile i; first_query is the warp's first.
  ATTOSCOPE_WARP Lanes<int> queries(const Lanes<int>& lanes, int first_query, int i, int h) const {
    const int first = first_query + 16 * i;
    return warp_.each([first, h](int lane) { return first + c_cell(lane, 2 * h).row; }, lanes);
  }

  ATTOSCOPE_WARP Lanes<int> address(const Lanes<int>& at, int offset, int row_block, int col_block) const {
    return warp_.each([=](int lane) { return offset + Tile::block_offset(lane, row_block, col_block); }, at);
  }

  /// S = Q K^T.
  ATTOSCOPE_WARP void scores(int stage, F (&s)[M][Bc / 8][4]) {
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int j = 0; j < Bc / 8; ++j) {
        ATTOSCOPE_UNROLL(unroll) for (int e = 0; e < 4; ++e) s[i][j][e] = warp_.all(0.0f);
      }
    }
    const int k_offset = Shape::k_offset(stage), q_offset = warp_.index() * Shape::warp_rows * Shape::row_bytes;
    ATTOSCOPE_UNROLL(unroll) for (int step = 0; step < Shape::row_bytes / step_bytes; ++step) {
      if (warp_.always(x_)) score_step(k_offset, q_offset, step, s);
    }
  }

  ATTOSCOPE_WARP void score_step(int k_offset, int q_offset, int step, F (&s)[M][Bc / 8][4]) {
    U a[M][4];
    ATTOSCOPE_UNROLL(unroll)
    for (int i = 0; i < M; ++i) warp_.template load<false>(address(by_rows_, q_offset, i, step), a[i]);
    ATTOSCOPE_UNROLL(unroll) for (int j = 0; j < Bc / 16; ++j) {
      if (!warp_.always(x_)) continue;
      U b[4];
      warp_.template load<false>(address(by_keys_, k_offset, j, step), b);
      ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
        warp_.multiply_add(s[i][2 * j], a[i], b[0], b[1]);
        warp_.multiply_add(s[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }

  /// Sets S of keys that a query does not see to -infinity.
  ATTOSCOPE_WARP void hide(int first_key, F (&s)[M][Bc / 8][4]) {
    const int first = first_query();
    const Lanes<int> lanes = warp_.lane_afresh();
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      ATTOSCOPE_UNROLL(unroll) for (int h = 0; h < 2; ++h) {
        const Lanes<int> end = warp_.each([this](int query) { return end_of(query); }, queries(lanes, first, i, h));
        ATTOSCOPE_UNROLL(unroll) for (int j = 0; j < Bc / 8; ++j) {
          ATTOSCOPE_UNROLL(unroll) for (int e = 2 * h; e < 2 * h + 2; ++e) {
            const int key = first_key + 8 * j;
            s[i][j][e] =
                warp_.each([key, e](int lane, int stop,
                                    float score) { return key + c_cell(lane, e).col < stop ? score : -__builtin_inff(); },
                           lanes, end, s[i][j][e]);
          }
        }
      }
    }
  }

  /// Updates m and l, rescales O, and replaces S by P = 2^(S c - m c + shift), for row h of the lane's two rows in row tile i.
  ATTOSCOPE_WARP void exponentials(int i, int h, F (&s)[Bc / 8][4]) {
    F m = m_[i][h];
    ATTOSCOPE_UNROLL(unroll) for (int j = 0; j < Bc / 8; ++j) m = warp_.max(m, warp_.max(s[j][2 * h], s[j][2 * h + 1]));
    m = warp_.quad_max(m);
    const float c = x_.c;
    const F alpha = warp_.exp2(warp_.each([c](float before, float now) { return (before - now) * c; }, m_[i][h], m));
    const float shift = x_.shift;
    const F minus_mc = warp_.each([=](float now) { return shift - now * c; }, m);
    m_[i][h] = m;
    F sum = warp_.all(0.0f);
    ATTOSCOPE_UNROLL(unroll) for (int j = 0; j < Bc / 8; ++j) {
      ATTOSCOPE_UNROLL(unroll) for (int e = 2 * h; e < 2 * h + 2; ++e) {
        s[j][e] = warp_.exp2(warp_.fused(s[j][e], warp_.all(c), minus_mc));
        sum = warp_.each([](float x, float y) { return x + y; }, sum, s[j][e]);
      }
    }
    set_l(i, h, warp_.fused(l(i, h), alpha, sum));
    ATTOSCOPE_UNROLL(unroll) for (int n = 0; n < D / 8; ++n) {
      ATTOSCOPE_UNROLL(unroll)
      for (int e = 2 * h; e < 2 * h + 2; ++e)
        o_[i][n][e] = warp_.each([](float o, float a) { return o * a; }, o_[i][n][e], alpha);
    }
  }

  /// O += P V. Adjacent 8-key pieces of S, in the layout of C, form one piece of P in the layout of A.
  ATTOSCOPE_WARP void accumulate(int stage, const F (&p)[M][Bc / 8][4]) {
    ATTOSCOPE_UNROLL(unroll) for (int step = 0; step < Bc * element_bytes / step_bytes; ++step) {
      U a[M][4];
      ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
        ATTOSCOPE_UNROLL(unroll) for (int r = 0; r < 4; ++r) a[i][r] = probabilities(p[i], step, r);
      }
      ATTOSCOPE_UNROLL(unroll) for (int n = 0; n < Shape::row_bytes / step_bytes; ++n) {
        if (!warp_.always(x_)) continue;
        if constexpr (element_bytes == 2)
          accumulate_16(a, Shape::v_offset(stage), step, n);
        else
          accumulate_8(a, Shape::v_offset(stage), step, n);
      }
    }
  }

  /// Register r of A for the `step`-th piece of P.
  ATTOSCOPE_WARP U probabilities(const F (&p)[Bc / 8][4], int step, int r) const {
    const int e = 2 * (r % 2);
    if constexpr (element_bytes == 2) {
      const F(&piece)[4] = p[2 * step + r / 2];
      return warp_.packed(piece[e], piece[e + 1]);
    } else {
      const F(&piece)[4] = p[4 * step + r / 2 * 2], (&next)[4] = p[4 * step + r / 2 * 2 + 1];
      return warp_.packed(piece[e], piece[e + 1], next[e], next[e + 1]);
    }
  }

  /// Adds P V for 16 columns of V and 16 keys.
  ATTOSCOPE_WARP void accumulate_16(const U (&a)[M][4], int v_offset, int step, int n) {
    U b[4];
    warp_.template load<true>(address(by_rows_, v_offset, step, n), b);
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) {
      warp_.multiply_add(o_[i][2 * n], a[i], b[0], b[1]);
      warp_.multiply_add(o_[i][2 * n + 1], a[i], b[2], b[3]);
    }
  }

  /// Adds P V for 32 columns of V and 32 keys.
  ATTOSCOPE_WARP void accumulate_8(const U (&a)[M][4], int v_offset, int step, int n) {
    U first[4], last[4];  // first 16 keys, last 16 keys
    warp_.template load<true>(address(by_rows_, v_offset, 2 * step, n), first);
    warp_.template load<true>(address(by_rows_, v_offset, 2 * step + 1, n), last);
    ATTOSCOPE_UNROLL(unroll) for (int f = 0; f < 4; ++f) {
      const auto bytes = [f](std::uint32_t x, std::uint32_t y) { return alternate_bytes(x, y, f % 2); };
      const int at = f / 2 * 2;
      const U b0 = warp_.each(bytes, first[at], first[at + 1]), b1 = warp_.each(bytes, last[at], last[at + 1]);
      ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < M; ++i) warp_.multiply_add(o_[i][4 * n + f], a[i], b0, b1);
    }
  }

  Warp& warp_;
  const Arguments& x_;
  Lanes<int> by_rows_, by_keys_;
  F o_[M][D / 8][4], m_[M][2], l_[M][2];
};

/// Copies `rows` rows of x (`end` rows per head), starting at row `first`, to `offset` in shared memory; rows from `end` on
/// become 0.
template <class Shape, int rows, class Block>
ATTOSCOPE_WARP void copy_tile(Block& block, const std::uint8_t* x, int first, int end, int offset) {
  using Tile = TileLayout<Shape::row_bytes>;
  const int before = block.head() * end;                                                        // rows of earlier heads
  constexpr int step = Shape::threads % Tile::chunks == 0 ? Shape::threads / Tile::chunks : 0;  // rows between copies
  static_assert(step % 8 == 0, "the swizzle is the same for all of a thread's rows");
  block.each_thread([&](int thread) {
    ATTOSCOPE_UNROLL(unroll) for (int i = 0; i < Shape::copies(rows); ++i) {
      const int index = step > 0 ? thread : thread + i * Shape::threads, chunk = index % Tile::chunks;
      const int row = index / Tile::chunks, wanted = first + row + i * step;
      const bool inside = wanted < end;
      const std::int64_t from =
          static_cast<std::int64_t>(before + (inside ? wanted : end - 1)) * Shape::row_bytes + chunk * chunk_bytes;
      block.copy(thread, offset + Tile::offset(row, chunk) + i * step * Shape::row_bytes, x, from, inside);
    }
  });
}

/// Attention of the block's tile of queries over the launch's keys; writes O after the last key. The next tile of keys is
/// copied while one is processed. One barrier per tile is enough: a copy overwrites a tile that was processed before the latest
/// barrier.
template <class Shape, class Block>
ATTOSCOPE_WARP void attend(Block& block, const Arguments& x) {
  const int first_query = block.tile() * Shape::block_q;
  const int last_query = first_query + Shape::block_q < x.count ? first_query + Shape::block_q - 1 : x.count - 1;
  const int end = end_key(x.causal, x.rows[last_query], x.n), tiles = (end + Shape::block_k - 1) / Shape::block_k;
  const int first_keys = x.first_keys, end_keys = tiles < x.end_keys ? tiles : x.end_keys;
  if (first_keys >= end_keys) return;  // earlier launches did all of it
  const auto state = [&] { return block.template state<Shape>(x); };
  const auto copy_keys = [&](int tile) {
    copy_tile<Shape, Shape::block_k>(block, x.k, tile * Shape::block_k, x.n, Shape::k_offset(tile % Shape::stages));
    copy_tile<Shape, Shape::block_k>(block, x.v, tile * Shape::block_k, x.n, Shape::v_offset(tile % Shape::stages));
  };
  copy_tile<Shape, Shape::block_q>(block, x.q, first_query, x.count, 0);
  copy_keys(first_keys);
  auto rows = block.template warp_rows<Shape>(x);
  if (first_keys > 0) block.each_warp(rows, [&](auto& warp) { warp.restore(state()); });
  for (int tile = first_keys; tile < end_keys; ++tile) {
    block.wait_for_copies();
    block.barrier();
    if (tile + 1 < end_keys) copy_keys(tile + 1);
    block.each_warp(rows, [&](auto& warp) { warp.take(tile * Shape::block_k, tile % Shape::stages); });
  }
  block.each_warp(rows, [&](auto& warp) { end_keys == tiles ? warp.finish() : warp.keep(state()); });
}

}  // namespace attoscope::mma
