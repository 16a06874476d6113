/// One block of query rows, one row per lane: the keys they see, their state, and the work done. Names of variables follow the
/// papers.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/sum_order.h"
#include "kernels/lanes/work_cursor.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Number of keys that a tile buffer must hold.
template <class T>
ATTOSCOPE_HOST_DEVICE inline int tile_keys(const Job<T>& job) {
  return has_tiles(job.method.algorithm) ? job.method.block_k : job.n;
}

/// Number of ranges into which a team's warps divide the keys of a piece.
inline constexpr int key_ranges = has_teams ? key_chunk / column_group : 1;

/// The observer (CpuObserver, LaunchObserver or GradientObserver) receives the state after every tile, can stop the block, and
/// selects the part of the work to do.
template <class T, class Observer>
class BlockRows {
 protected:
  using L = Lanes<T>;
  using V = typename L::V;
  using Array = LaneArray<T>;
  using Tiles = TileArray<T>;
  using Cursor = WorkCursor<Observer>;
  static constexpr int R = L::rows, vectors = L::vectors;
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  ATTOSCOPE_HOST_DEVICE BlockRows(const Job<T>& job, const RowBlock& block, const LaneGroup& group, const Observer& observer,
                                  LaneArena& arena)
      : job_(job), block_(block), group_(group), observer_(observer), cursor_(observer.work_range(), arena) {
    const std::size_t d_v = static_cast<std::size_t>(job.d_v) * R, keys = static_cast<std::size_t>(tile_keys(job));
    rows_.q = arena.template take<T>(static_cast<std::size_t>(job.d) * R);
    for (Array* matrix : {&state_.O, &scratch_.PV}) *matrix = arena.template take<T>(d_v);
    scratch_.shared = arena.template take_tile<T>(key_ranges * R);
    held_.has_room = keys <= key_chunk || arena.template has_room_for<T>(keys * R);
    scratch_.S = arena.template take_tile<T>((held_.has_room ? keys : key_chunk) * R);
    for (Array* row : {&state_.m, &scratch_.m_old, &scratch_.m_tile, &state_.l, &state_.l_lost, &scratch_.alpha,
                       &scratch_.max_then_sum, &scratch_.sum_lost, &rows_.number, &rows_.first, &rows_.end, &scratch_.from,
                       &scratch_.to, &state_.started, &tile_.active})
      *row = arena.template take_own<T>(R);
    if (job.method.order != SumOrder::sequential) take_partial_sums(arena);
    if (job.scales.q != nullptr) rows_.factor = arena.template take_own<T>(R);
    if (job.flush > 1) state_.pending = arena.template take<T>(d_v);
    if (!Cursor::is_partial && lane_stride == 1 &&
        (is_tensor_core(job.qk_sum.accumulator) || is_tensor_core(job.pv_sum.accumulator))) {
      const int chunk = job.d > key_chunk ? job.d : key_chunk, columns = job.d > job.d_v ? job.d : job.d_v;
      scratch_.exponents_a =
          arena.template take<std::int16_t>(static_cast<std::size_t>(key_chunk) * static_cast<std::size_t>(columns));
      scratch_.exponents_b = arena.template take<std::int16_t>(static_cast<std::size_t>(chunk) * R);
    }
    kept_.lane = observer_.kept_lane(block_);
    if constexpr (Observer::keeps)
      for (Array* kept : {&kept_.S, &kept_.e, &kept_.P}) *kept = arena.template take_own<T>(keys);
  }

  /// Allocates partial sums for an order other than sequential, which persist between pieces of keys: one set per row, and on a
  /// GPU one per column of O.
  ATTOSCOPE_HOST_DEVICE void take_partial_sums(LaneArena& arena) {
    const std::size_t all = static_cast<std::size_t>(parts_of_a_sum()) * R;
    scratch_.parts = arena.template take_own<T>(all);
    if (has_teams) scratch_.column_parts = arena.template take<T>(all * static_cast<std::size_t>(job_.d_v));
  }
  ATTOSCOPE_HOST_DEVICE int parts_of_a_sum() const {
    return partial_sums(job_.method.order, job_.method.sum_lanes, tile_keys(job_));
  }

  // --- the rows -------------------------------------------------------------------------------------------------------

  /// Loads Q transposed into lanes, and the keys of each row. Lanes without a row repeat the last row. Every launch repeats
  /// this except for Q, which stays in scratch. Every warp of a team repeats the work of a row.
  ATTOSCOPE_HOST_DEVICE void load_rows() {
    rows_.any.first = rows_.all.end = job_.n;
    rows_.any.end = rows_.all.first = 0;
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.row_of(lane);
      const T* q = job_.q + static_cast<std::ptrdiff_t>(row) * job_.d;
      if (cursor_.is_new())
        group_.each_own(job_.d, [&](int c, int end) {
          for (; c < end; ++c) rows_.q[c * R + lane] = *in_global(q + c);
        });
      if (job_.scales.q != nullptr) rows_.factor[lane] = *in_global(job_.scales.q + row);
      Keys keys = job_.keys_of(row);
      if (keys.empty()) keys = {-1, -1};  // in no tile
      rows_.number[lane] = static_cast<T>(row);
      rows_.first[lane] = static_cast<T>(keys.first);
      rows_.end[lane] = static_cast<T>(keys.end);
      rows_.all.first = keys.first > rows_.all.first ? keys.first : rows_.all.first;
      rows_.all.end = keys.end < rows_.all.end ? keys.end : rows_.all.end;
      if (keys.empty()) continue;
      rows_.any.first = keys.first < rows_.any.first ? keys.first : rows_.any.first;
      rows_.any.end = keys.end > rows_.any.end ? keys.end : rows_.any.end;
    }
    rows_.any.first = group_.least(rows_.any.first);
    rows_.all.end = group_.least(rows_.all.end);
    rows_.any.end = group_.greatest(rows_.any.end);
    rows_.all.first = group_.greatest(rows_.all.first);
  }

  /// Sets the state before any key: m = -infinity, l = 0, O = 0.
  ATTOSCOPE_HOST_DEVICE void clear_state() {
    for (int lane = 0; lane < R; ++lane) {
      state_.m[lane] = -infinity;
      state_.l[lane] = state_.l_lost[lane] = state_.started[lane] = 0;
    }
    state_.restarts = true;
    each_own_column([o = state_.O](int i) { o[i] = 0; });
    if (job_.flush > 1) each_own_column([sum = state_.pending](int i) { sum[i] = 0; });
  }
  /// Calls f(i) for the numbers of the warp's columns of O.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_own_column(F f) const {
    group_.each_own(job_.d_v, [&](int first, int end) {
      for (int i = first * R; i < end * R; ++i) f(i);
    });
  }

  /// Sets tile `tile` and its keys [j0, j1) that some row of the block sees.
  ATTOSCOPE_HOST_DEVICE void enter_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * job_.method.block_k, end = begin + job_.method.block_k;
    enter(tile, static_cast<int>(begin), begin > rows_.any.first ? static_cast<int>(begin) : rows_.any.first,
          end < rows_.any.end ? static_cast<int>(end) : rows_.any.end);
  }
  ATTOSCOPE_HOST_DEVICE void enter(int tile, int tile_first, int j0, int j1) {
    if (job_.P.block != 0 && j1 > j0) j0 -= (j0 - tile_first) % job_.P.block;  // no piece may begin inside a block
    tile_.index = tile;
    tile_.first_key = tile_first;
    tile_.j0 = j0;
    tile_.j1 = j1;
    held_.S = held_.e = false;
    const V low = splat<V>(static_cast<T>(j0)), high = splat<V>(static_cast<T>(j1)), one = splat<V>(1), zero{};
    tile_.any_idle = false;
    for (int r = 0; r < vectors; ++r) {
      vec(tile_.active)[r] = vec(rows_.first)[r] < high ? (vec(rows_.end)[r] > low ? one : zero) : zero;
      for (int lane = 0; lane < L::width; ++lane) tile_.any_idle |= lane_of(vec(tile_.active)[r], lane) == T{0};
    }
    if (job_.mask_tensor.terms != nullptr) find_active();
  }
  /// Sets the active rows under a mask tensor with gaps: rows that keep a key of the tile.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void find_active() {
    tile_.any_idle = false;
    for (int lane = 0; lane < R; ++lane) {
      const int row = static_cast<int>(rows_.number[lane]);
      int j = tile_.j0 > rows_.first[lane] ? tile_.j0 : static_cast<int>(rows_.first[lane]);
      const int end = tile_.j1 < rows_.end[lane] ? tile_.j1 : static_cast<int>(rows_.end[lane]);
      while (j < end && mask_term(job_, row, j) == -std::numeric_limits<double>::infinity()) ++j;
      tile_.active[lane] = j < end ? 1 : 0;
      tile_.any_idle |= j >= end;
    }
  }
  ATTOSCOPE_HOST_DEVICE int keys() const { return tile_.j1 - tile_.j0; }
  /// True if any row of the block sees any key.
  ATTOSCOPE_HOST_DEVICE bool sees_keys() const { return rows_.any.first < rows_.any.end; }

  /// Calls work() if this work item, of about `cost` fma per row, is due in this launch.
  template <class Work>
  ATTOSCOPE_HOST_DEVICE void if_due(std::int64_t cost, Work work) {
    if (cursor_.due(cost)) work();
  }

  /// Calls work() for one piece of the tile's keys after another, to keep a piece's S in the first-level cache or a GPU's
  /// shared memory between the items. Inside work(), the tile is that piece. Pieces end at multiples of key_chunk within the
  /// tile. `cost` is the cost of one key. Returns true if this launch did all pieces.
  template <class Work>
  ATTOSCOPE_HOST_DEVICE bool each_piece(std::int64_t cost, Work work) {
    const Tiles s = scratch_.S;
    const int j0 = tile_.j0, j1 = tile_.j1, begin = j0 - (j0 - tile_.first_key) % key_chunk,
              count = j0 < j1 ? (j1 - begin - 1) / key_chunk + 1 : 0;
    const DueItems due = cursor_.due_of(count, cost * key_chunk);
    for (int i = due.first; i < due.end; ++i) {
      observer_.check();
      const int first = begin + i * key_chunk;
      tile_.j0 = first > j0 ? first : j0;
      tile_.j1 = j1 - first > key_chunk ? first + key_chunk : j1;
      tile_.piece = tile_.j0 - j0;
      if (held_.has_room) scratch_.S = s + static_cast<std::ptrdiff_t>(tile_.piece) * R;
      work();
    }
    scratch_.S = s;
    tile_.j0 = j0;
    tile_.j1 = j1;
    tile_.piece = 0;
    return due.first == 0 && due.end == count;
  }

  /// True if every row of the block sees all keys j0 .. j1-1.
  ATTOSCOPE_HOST_DEVICE bool all_visible(int j0, int j1) const {
    return rows_.all.first <= j0 && j1 <= rows_.all.end && job_.mask_tensor.terms == nullptr;
  }

  template <class A>
  ATTOSCOPE_HOST_DEVICE static auto vec(A x) {
    return as_vectors(x);
  }
  ATTOSCOPE_HOST_DEVICE RandomBits<T> random() const {
    RandomBits<T> bits{job_.seed, rows_.number};
    if constexpr (records_roundings) bits.log = observer_.log;
    return bits;
  }
  /// True if the step's rounder must be called.
  ATTOSCOPE_HOST_DEVICE bool rounds(Step step) const { return records_roundings || job_[step].rounds(); }
  ATTOSCOPE_HOST_DEVICE V active(int r) const { return vec(tile_.active)[r]; }

  // --- rounding whole arrays ------------------------------------------------------------------------------------------

  template <class Use>
  ATTOSCOPE_HOST_DEVICE void with(Step step, Use&& use) const {
    with_rounder(job_[step], step, random(), use);
  }
  /// x[r] = round(f(r)), one number per row; `k` distinguishes several roundings of the same step in a tile.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill_rows(Array x, Step step, F f, int k = 0) const {
    with(step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) vec(x)[r] = rounder(f(r), RoundingKey{r, tile_.index, k});
    });
  }
  /// S[key] = round(f(i, r)) for the tile's keys.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill_keys(Step step, F f) {
    const auto s = vec(scratch_.S);
    const int j0 = tile_.j0;
    with(step, [&](auto rounder) {
      group_.each_own(keys(), [&](int j, int end) {
        for (; j < end; ++j)
          for (int r = 0; r < vectors; ++r) s[j * vectors + r] = rounder(f(j * vectors + r, r), RoundingKey{r, j0 + j, 0});
      });
    });
  }
  ATTOSCOPE_HOST_DEVICE void round_keys(Step step) {
    if (rounds(step)) fill_keys(step, [s = vec(scratch_.S)](int i, int) { return s[i]; });
  }
  /// x[column] = round(f(i, r)), d_v numbers per row, in the tile's active rows.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill_columns(Array x, Step step, F f, int key) const {
    const auto out = vec(x), active = vec(tile_.active);
    const bool any_idle = tile_.any_idle;
    const V one = splat<V>(1);
    with(step, [&](auto rounder) {
      group_.each_own(job_.d_v, [&](int c, int end) {
        for (; c < end; ++c)
          for (int r = 0; r < vectors; ++r) {
            const V y = rounder(f(c * vectors + r, r), ColumnRoundingKey{{r, c, key}});
            out[c * vectors + r] = any_idle ? (active[r] == one ? y : out[c * vectors + r]) : y;
          }
      });
    });
  }
  ATTOSCOPE_HOST_DEVICE void round_columns(Array x, Step step, int key) const {
    if (rounds(step)) fill_columns(x, step, [v = vec(x)](int i, int) { return v[i]; }, key);
  }

  /// Copies the recorder's lane of the tile to `kept`.
  ATTOSCOPE_HOST_DEVICE void keep(Array kept) const {
    if constexpr (Observer::keeps)
      for (int j = 0; kept_.lane >= 0 && j < keys(); ++j)
        kept[tile_.piece + j] = scratch_.S[static_cast<std::ptrdiff_t>(j) * R + kept_.lane];
  }

  // --- reports and shared state ----------------------------------------------------------------------------------------

  ATTOSCOPE_HOST_DEVICE void report() {
    const bool restarts = state_.restarts;
    if (!observer_.wanted()) return;
    state_.restarts = false;
    if (!group_.leads()) return;
    TileView<T> view{.tile = tile_.index,
                     .first_key = tile_.j0,
                     .end_key = tile_.j1,
                     .stride = R * lane_stride,
                     .lane_stride = lane_stride,
                     .m_old = first_of(scratch_.m_old),
                     .m = first_of(state_.m),
                     .l = first_of(state_.l),
                     .alpha = first_of(scratch_.alpha),
                     .takes_part = first_of(tile_.active),
                     .o = first_of(state_.O)};
    if (Observer::keeps && kept_.lane >= 0) {
      view.S = first_of(kept_.S);
      view.e = first_of(kept_.e);
      view.P = first_of(kept_.P);
    }
    view.restarts = restarts;
    observer_.tile(block_, view);
  }

  /// The query rows and the keys that they see. Arrays have one number per row, except q.
  struct Rows {
    Array q;                   ///< Q: d numbers per row
    Array number, first, end;  ///< row index of Q; it sees keys [first, end), [-1, -1) if none
    Array factor;              ///< scale factor of the row's q.k, if the keys have scale factors
    Keys any, all;             ///< keys that at least one row sees; keys that every row sees (empty if end <= first)
  };
  /// The current tile of keys, or the piece of it that is being computed.
  struct Tile {
    int index = 0, first_key = 0;
    int j0 = 0, j1 = 0;     ///< keys of the tile that some row sees
    int piece = 0;          ///< index of the piece's first key, counted from the tile's j0
    bool any_idle = false;  ///< true if some row sees no key of the tile
    Array active;           ///< 1 in rows that see a key of the tile, else 0
  };
  /// State passed from one tile to the next.
  struct State {
    Array m, l, l_lost, O;
    Array pending;          ///< P.V not yet added to O, if O is flushed after several tiles
    Array started;          ///< 1 in rows that have seen a key, else 0
    bool restarts = false;  ///< true if the state is empty in every row
  };
  /// Memory that only the current tile needs.
  struct Scratch {
    Tiles S;       ///< S of the tile if there is room, else of a piece; overwritten by e, then P
    Tiles shared;  ///< exchange between the team's warps: one number per row and range of keys
    Array PV, m_old, m_tile, alpha;
    Array max_then_sum, sum_lost;
    Array from, to;                                    ///< mask of a product: the keys [from, to) of its depth
    LaneArray<std::int16_t> exponents_a, exponents_b;  ///< see BlockProduct
    Array parts, column_parts;                         ///< partial sums of unfinished sums in an order other than sequential
  };
  /// Results of the tile that this launch has computed and can reuse: S of all its keys, or e.
  struct Held {
    bool has_room = false;
    bool S = false, e = false;
  };
  /// One lane's S, e and P for the recorder; lane -1 if none.
  struct Kept {
    int lane = -1;
    Array S, e, P;
  };

  /// The largest S of each row and the sum of its e or P share memory: the max is merged into m before the sum begins.
  ATTOSCOPE_HOST_DEVICE Array tile_max() const { return scratch_.max_then_sum; }
  ATTOSCOPE_HOST_DEVICE Array tile_sum() const { return scratch_.max_then_sum; }
  /// Number of keys that share the max. Uses alpha's memory: alpha is set afterwards.
  ATTOSCOPE_HOST_DEVICE Array tie_counts() const { return scratch_.alpha; }

  const Job<T>& job_;
  const RowBlock& block_;
  LaneGroup group_;
  Observer observer_;
  Cursor cursor_;
  const StepCosts<T> costs_{job_};
  Rows rows_{};
  Tile tile_{};
  State state_{};
  Scratch scratch_{};
  Held held_{};
  Kept kept_{};
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope