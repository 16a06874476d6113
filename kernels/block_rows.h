/// One block of query rows, a row in each lane: which keys they see, their state, and how far their way was gone. Letters are
/// the papers'.
#pragma once

#include "kernels/job.h"
#include "kernels/scratch.h"
#include "kernels/walk.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// How many keys one tile buffer must hold.
template <class T>
ATTOSCOPE_ANYWHERE inline int tile_keys(const Job<T>& job) {
  return job.method.algorithm == Algorithm::three_pass ? job.n : job.method.block_k;
}

/// Watch is told of every tile, asked whether to go on and how far: Watched, or TileNotes.
template <class T, class Watch>
class BlockRows {
 protected:
  using L = Lanes<T>;
  using V = typename L::V;
  using Array = LaneArray<T>;
  using Walk = std::conditional_t<Watch::cuts, CutWalk, WholeWalk>;
  static constexpr int R = L::rows, vectors = L::vectors;
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  ATTOSCOPE_ANYWHERE BlockRows(const Job<T>& job, const RowBlock& block, const Crew& crew, const Watch& watch, LaneArena& arena)
      : job_(job), block_(block), crew_(crew), watch_(watch), walk_(watch.window(), arena) {
    const std::size_t d = static_cast<std::size_t>(job.d) * R, keys = static_cast<std::size_t>(tile_keys(job));
    for (Array* matrix : {&q_, &o_, &pv_}) *matrix = arena.template take<T>(d);
    s_ = arena.template take<T>(keys * R);
    for (Array* row : {&m_, &m_old_, &m_tile_, &l_, &l_lost_, &alpha_, &sum_, &sum_lost_, &rows_, &first_, &end_, &from_, &to_,
                       &started_, &active_})
      *row = arena.template take<T>(R);
    if (Walk::cuts && job.method.order != SumOrder::sequential)
      parts_ = arena.template take<T>(static_cast<std::size_t>(max_sum_lanes) * R);
    kept_ = watch_.kept_lane(block_);
    if constexpr (Watch::keeps)
      for (Array* kept : {&kept_S_, &kept_e_, &kept_P_}) *kept = arena.template take<T>(keys);
  }

  // --- the rows -------------------------------------------------------------------------------------------------------

  /// Q transposed into lanes, and the keys each row sees. Lanes without a row repeat the last one. Every launch does it anew:
  /// only Q stays.
  ATTOSCOPE_ANYWHERE void load_rows() {
    block_first_ = full_end_ = job_.n;
    block_end_ = full_first_ = 0;
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.row_of(lane);
      const T* q = job_.q + static_cast<std::ptrdiff_t>(row) * job_.d;
      for (int c = 0; walk_.is_new() && c < job_.d; ++c) q_[c * R + lane] = q[c];
      Keys keys = job_.keys_of(row);
      if (keys.empty()) keys = {-1, -1};  // in no tile
      rows_[lane] = static_cast<T>(row);
      first_[lane] = static_cast<T>(keys.first);
      end_[lane] = static_cast<T>(keys.end);
      full_first_ = keys.first > full_first_ ? keys.first : full_first_;
      full_end_ = keys.end < full_end_ ? keys.end : full_end_;
      if (keys.empty()) continue;
      block_first_ = keys.first < block_first_ ? keys.first : block_first_;
      block_end_ = keys.end > block_end_ ? keys.end : block_end_;
    }
    block_first_ = crew_.least(block_first_);
    full_end_ = crew_.least(full_end_);
    block_end_ = crew_.greatest(block_end_);
    full_first_ = crew_.greatest(full_first_);
  }

  /// The state before any key: m = -infinity, l = 0, O = 0.
  ATTOSCOPE_ANYWHERE void clear_state() {
    for (int lane = 0; lane < R; ++lane) {
      m_[lane] = -infinity;
      l_[lane] = l_lost_[lane] = started_[lane] = 0;
    }
    restarts_ = true;
    for (int i = 0; i < job_.d * R; ++i) o_[i] = 0;
  }

  /// Keys [j0, j1) of tile `tile` that some row of the block sees.
  ATTOSCOPE_ANYWHERE void enter_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * job_.method.block_k, end = begin + job_.method.block_k;
    enter(tile, static_cast<int>(begin), begin > block_first_ ? static_cast<int>(begin) : block_first_,
          end < block_end_ ? static_cast<int>(end) : block_end_);
  }
  ATTOSCOPE_ANYWHERE void enter(int tile, int tile_first, int j0, int j1) {
    tile_ = tile;
    tile_first_ = tile_first;
    j0_ = j0;
    j1_ = j1;
    const V low = splat<V>(static_cast<T>(j0)), high = splat<V>(static_cast<T>(j1)), one = splat<V>(1), zero{};
    any_idle_ = false;
    for (int r = 0; r < vectors; ++r) {
      vec(active_)[r] = vec(first_)[r] < high ? (vec(end_)[r] > low ? one : zero) : zero;
      for (int lane = 0; lane < L::width; ++lane) any_idle_ |= lane_of(vec(active_)[r], lane) == T{0};
    }
  }
  ATTOSCOPE_ANYWHERE int keys() const { return j1_ - j0_; }
  /// Whether any row of the block sees any key.
  ATTOSCOPE_ANYWHERE bool sees_keys() const { return block_first_ < block_end_; }

  /// work() where that step, of about `cost` fma a row, is due in this launch.
  template <class Work>
  ATTOSCOPE_ANYWHERE void step(std::int64_t cost, Work work) {
    if (walk_.due(cost)) work();
  }

  /// Calls work() for one piece of the tile's keys after the other, so that its S stays in the first-level cache between the
  /// steps; inside, the tile is that piece. `cost` is a key's.
  template <class Work>
  ATTOSCOPE_ANYWHERE void each_piece(std::int64_t cost, Work work) {
    const Array s = s_;
    const int j0 = j0_, j1 = j1_;
    const Steps due = walk_.due_of((j1 - j0 + key_chunk - 1) / key_chunk, cost * key_chunk);
    for (int i = due.first; i < due.end; ++i) {
      watch_.check();
      piece_ = i * key_chunk;
      j0_ = j0 + piece_;
      j1_ = j1 - j0_ > key_chunk ? j0_ + key_chunk : j1;
      s_ = s + static_cast<std::ptrdiff_t>(piece_) * R;
      work();
    }
    s_ = s;
    j0_ = j0;
    j1_ = j1;
    piece_ = 0;
  }

  /// Whether every row of the block sees all keys j0 .. j1-1.
  ATTOSCOPE_ANYWHERE bool all_visible(int j0, int j1) const { return full_first_ <= j0 && j1 <= full_end_; }

  ATTOSCOPE_ANYWHERE static auto vec(Array x) { return as_vectors(x); }
  ATTOSCOPE_ANYWHERE Dice<T> dice() const { return {job_.seed, rows_}; }
  ATTOSCOPE_ANYWHERE V active(int r) const { return vec(active_)[r]; }

  // --- rounding whole arrays ------------------------------------------------------------------------------------------

  template <class Use>
  ATTOSCOPE_ANYWHERE void with(Step step, Use&& use) const {
    with_rounder(job_[step], step, dice(), use);
  }
  /// x[r] = round(f(r)), one number a row; `k` tells several of a tile apart.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_rows(Array x, Step step, F f, int k = 0) const {
    with(step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) vec(x)[r] = rounder(f(r), Where{r, tile_, k});
    });
  }
  /// S[key] = round(f(i)) for the tile's keys.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_keys(Step step, F f) {
    const auto s = vec(s_);
    with(step, [&](auto rounder) {
      for (int j = 0; j < keys(); ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = rounder(f(j * vectors + r, r), Where{r, j0_ + j, 0});
    });
  }
  ATTOSCOPE_ANYWHERE void round_keys(Step step) {
    if (job_[step].rounds()) fill_keys(step, [s = vec(s_)](int i, int) { return s[i]; });
  }
  /// x[column] = round(f(i, r)), d numbers a row, in the rows that take part in the tile.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_columns(Array x, Step step, F f, int key) const {
    const auto out = vec(x);
    const V one = splat<V>(1);
    with(step, [&](auto rounder) {
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r) {
          const V y = rounder(f(c * vectors + r, r), Where{r, c, key});
          out[c * vectors + r] = any_idle_ ? (active(r) == one ? y : out[c * vectors + r]) : y;
        }
    });
  }
  ATTOSCOPE_ANYWHERE void round_columns(Array x, Step step, int key) const {
    if (job_[step].rounds()) fill_columns(x, step, [v = vec(x)](int i, int) { return v[i]; }, key);
  }

  /// Copies the kept lane of the tile for the recorder.
  ATTOSCOPE_ANYWHERE void keep(Array kept) const {
    if constexpr (Watch::keeps)
      for (int j = 0; kept_ >= 0 && j < keys(); ++j) kept[piece_ + j] = s_[static_cast<std::ptrdiff_t>(j) * R + kept_];
  }

  // --- what others see ------------------------------------------------------------------------------------------------

  ATTOSCOPE_ANYWHERE void report() {
    if (!watch_.wanted()) return;
    TileView<T> view{.tile = tile_,
                     .first_key = j0_,
                     .end_key = j1_,
                     .stride = R * lane_stride,
                     .lane_stride = lane_stride,
                     .m_old = first_of(m_old_),
                     .m = first_of(m_),
                     .l = first_of(l_),
                     .alpha = first_of(alpha_),
                     .takes_part = first_of(active_),
                     .o = first_of(o_)};
    if (Watch::keeps && kept_ >= 0) {
      view.S = first_of(kept_S_);
      view.e = first_of(kept_e_);
      view.P = first_of(kept_P_);
    }
    view.restarts = restarts_;
    restarts_ = false;
    watch_.tile(block_, view);
  }

  const Job<T>& job_;
  const RowBlock& block_;
  Crew crew_;
  Watch watch_;
  Walk walk_;
  const StepCosts<T> costs_{job_};
  int kept_ = -1;
  int block_first_ = 0, block_end_ = 0;              // keys that some row sees
  int full_first_ = 0, full_end_ = 0;                // keys that every row sees (none where end <= first)
  int tile_ = 0, tile_first_ = 0, j0_ = 0, j1_ = 0;  // the tile, its first key, and its keys that some row sees
  int piece_ = 0;                                    // where the piece in hand starts among them
  bool any_idle_ = false, restarts_ = false;
  Array q_, o_, pv_, s_;
  Array m_, m_old_, m_tile_, l_, l_lost_, alpha_, sum_, sum_lost_, rows_, first_, end_, from_, to_, started_, active_;
  Array parts_{};  // of a sum in another order, where it is interrupted
  Array kept_S_{}, kept_e_{}, kept_P_{};
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope