/// The backward pass of a GPU's threads, which the host can run too. For P, dS and dQ each lane has a row, for dK and dV a key.
/// The warps of a team share a product's keys or its columns.
#pragma once

#include "kernels/backward/gradient_keys.h"
#include "kernels/backward/row_pairs.h"
#include "kernels/lanes/team.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Work range of a launch, and destination of the forward pass's row states.
template <class T>
struct GradientObserver {
  static constexpr bool keeps = false, is_partial = true;
  WorkRange range{};
  T *m = nullptr, *l = nullptr;  ///< [row]
  ATTOSCOPE_HOST_DEVICE_INLINE WorkRange work_range() const { return range; }
  ATTOSCOPE_HOST_DEVICE_INLINE void check() const {}
  ATTOSCOPE_HOST_DEVICE_INLINE bool wanted() const { return false; }
  ATTOSCOPE_HOST_DEVICE_INLINE int kept_lane(const RowBlock&) const { return -1; }
  ATTOSCOPE_HOST_DEVICE_INLINE void tile(const RowBlock&, const TileView<T>&) const {}
  ATTOSCOPE_HOST_DEVICE_INLINE void state(const RowBlock& block, const T* row_m, const T* row_l) const {
    if (block.count == 0) return;
    *in_global(m + block.rows[0]) = *row_m;
    *in_global(l + block.rows[0]) = *row_l;
  }
};

/// Part of the work on a block of rows: P, dS and delta; dQ from dS; or both.
enum class RowsPart : std::uint8_t { pairs, queries, both };
/// Part of the work on a block of keys: add a panel's rows to the sums, or round the finished dK and dV.
enum class KeysPart : std::uint8_t { sums, finish };

/// P, dS and dQ of a lane's row; dQ has one chain per column.
template <class T, class Observer>
class GradientRow : private RowPairs<T, Observer> {
  using Base = RowPairs<T, Observer>;
  using Base::at, Base::buffers, Base::tiles, Base::of_ds, Base::if_due;
  using Base::job_, Base::block_, Base::group_, Base::cursor_, Base::rows_, Base::scratch_, Base::rule_, Base::task_;
  using typename Base::Array;

 public:
  ATTOSCOPE_HOST_DEVICE GradientRow(const GradientRule<T>& rule, const RowsTask<T>& task, const LaneGroup& group,
                                    const Observer& observer, LaneArena& arena)
      : Base(rule, task, group, observer, arena) {
    sums_ = arena.template take<T>(static_cast<std::size_t>(job_.d));
    buffers_ = arena.template take<T>(static_cast<std::size_t>(job_.d) * static_cast<std::size_t>(buffers()));
    holds_ = arena.template take_own<std::int32_t>(static_cast<std::size_t>(buffers()));
    if (rule.order == GradOrder::shuffled) order_ = arena.template take<std::int32_t>(static_cast<std::size_t>(tiles()));
  }

  /// Does the work that falls into this launch; returns the amount of work done (see PartialWork::end).
  ATTOSCOPE_HOST_DEVICE std::int64_t run(RowsPart part) {
    cursor_.begin();
    part == RowsPart::queries ? this->load_rows() : this->find_pairs();
    if (part != RowsPart::pairs) queries();
    return cursor_.end();
  }

 private:
  ATTOSCOPE_HOST_DEVICE void queries() {
    if_due(tiles(), [&] {
      for (int b = 0; b < buffers(); ++b) holds_[b] = 0;
      if (group_.leads() && rule_.order == GradOrder::shuffled)
        shuffle_tiles(order_, tiles(), task_.query_tile, rule_.order_seed);
    });
    if (!cursor_.goes_on()) return;  // otherwise the order may not be set yet
    group_.sync();                   // dS of all warps' keys, and the order
    const int end_tile = task_.end_tile < tiles() ? task_.end_tile : tiles();
    for (int i = task_.first_tile; i < end_tile; ++i) add_tile(tile_at(i));
    for (int b = 1; b < buffers(); ++b)
      if_due(job_.d, [&] {
        if (holds_[b] != 0) add_column_sums(buffers_ + std::ptrdiff_t{b} * job_.d, -1 - b, 0);
      });
    if_due(job_.d, [&] { store(); });
  }
  ATTOSCOPE_HOST_DEVICE int tile_at(int i) const {
    if (rule_.order == GradOrder::shuffled) return order_[i];
    return rule_.order == GradOrder::descending ? tiles() - 1 - i : i;
  }

  /// Random bits of a product: their arguments are the column, then the row.
  ATTOSCOPE_HOST_DEVICE RandomBits<T> random_of_columns() const {
    RandomBits<T> bits = this->random();
    bits.columns_first = true;
    return bits;
  }

  /// Adds the key tile's dS.K to its buffer, in the rows that see one of its keys.
  ATTOSCOPE_HOST_DEVICE void add_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * rule_.block_k, after = begin + rule_.block_k;
    const int k0 = static_cast<int>(begin), k1 = static_cast<int>(after < job_.n ? after : job_.n);
    const int low = job_.reversed ? job_.n - rows_.any.end : rows_.any.first,
              high = job_.reversed ? job_.n - rows_.any.first : rows_.any.end;
    if (k0 >= high || k1 <= low) return;
    for (int first = k0; first < k1; first += key_chunk) {
      const int end = k1 - first < key_chunk ? k1 : first + key_chunk;
      if_due(static_cast<std::int64_t>(end - first) * (rule_.width + 8), [&] { multiply(first, end, first > k0); });
    }
    if_due(job_.d, [&] {
      const Keys seen = seen_of(k0, k1);
      if (seen.empty()) return;
      if (rule_[GradStep::dq_tile].rounds()) fill_columns(sums_, GradStep::dq_tile, tile, [this](int c) { return sums_[c]; });
      add_column_sums(sums_, tile, rule_.order == GradOrder::buffers ? tile % buffers() : 0);
    });
  }
  /// The keys of [k0, k1) that the lane's row sees, counted from k0.
  ATTOSCOPE_HOST_DEVICE Keys seen_of(int k0, int k1) const {
    const Keys seen = rule_.keys_of(block_.row_of(0));
    return {clamp(seen.first, k0, k1) - k0, clamp(seen.end, k0, k1) - k0};
  }

  /// sums = dS.K over the keys, from 0 or, if `resume`, on top of sums.
  ATTOSCOPE_HOST_DEVICE void multiply(int first, int end, bool resume) {
    const Keys seen = seen_of(first, end);
    *scratch_.from = static_cast<T>(seen.first);
    *scratch_.to = static_cast<T>(seen.end);
    group_.sync();  // the last product has read its dS
    group_.each_own(end - first, [&](int j, int last) {
      for (; j < last; ++j) {
        scratch_.S[j] = T{0};
        if (j >= seen.first && j < seen.end) scratch_.S[j] = of_ds()[first + j];
      }
    });
    const ValuesProduct<T> p{.a = rule_.k + static_cast<std::ptrdiff_t>(first) * rule_.width,
                             .m_stride = 1,
                             .k_stride = rule_.width,
                             .b = scratch_.S,
                             .c = sums_,
                             .m = job_.d,
                             .depth = end - first,
                             .resume = resume,
                             .first = scratch_.from,
                             .end = scratch_.to,
                             .step = random_step(GradStep::dq_step),
                             .random = random_of_columns(),
                             .first_k = first,
                             .group = group_};
    if (rule_.dq_sum.accumulator != Accumulator::fma) {
      this->add_in_blocks(p, rule_.dq_sum);
    } else {
      product<true>(p, rule_[GradStep::dq_step], false);
    }
  }

  /// x[c] = round(f(c)) for the warp's columns.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill_columns(Array x, GradStep s, int number, F f) const {
    with_rounder(rule_[s], random_step(s), random_of_columns(), [&](auto rounder) {
      group_.each_own(job_.d, [&](int c, int end) {
        for (; c < end; ++c) x[c] = rounder(f(c), RoundingKey{0, c, number});
      });
    });
  }
  /// x = round(x + from) in buffer b; x = `from` if the buffer held nothing.
  ATTOSCOPE_HOST_DEVICE void add_column_sums(Array from, int number, int b) {
    const Array x = buffers_ + std::ptrdiff_t{b} * job_.d;
    if (holds_[b] != 0) {
      fill_columns(x, GradStep::dq_sum, number, [x, from](int c) { return x[c] + from[c]; });
    } else {
      group_.each_own(job_.d, [&](int c, int end) {
        for (; c < end; ++c) x[c] = from[c];
      });
    }
    holds_[b] = 1;
  }
  ATTOSCOPE_HOST_DEVICE void store() const {
    if (block_.count == 0 || *task_.places < 0) return;
    fill_columns(buffers_, GradStep::dQ, 0, [this](int c) { return holds_[0] != 0 ? rule_.factors.dQ * buffers_[c] : T{0}; });
    double* const row = task_.d_q + static_cast<std::ptrdiff_t>(*task_.places) * job_.d;
    group_.each_own(job_.d, [&](int c, int end) {
      for (; c < end; ++c) *in_global(row + c) = holds_[0] != 0 ? static_cast<double>(buffers_[c]) : 0;
    });
  }

  Array sums_, buffers_;             // [column]; [buffer][column]
  LaneArray<std::int32_t> holds_;    // [buffer]: 1 if the buffer holds sums
  LaneArray<std::int32_t> order_{};  // order of the key tiles, if shuffled
};

/// dK and dV of a lane's key.
template <class T>
class GradientKey {
  using Array = LaneArray<T>;

 public:
  ATTOSCOPE_HOST_DEVICE GradientKey(const GradientRule<T>& rule, const KeysTask<T>& task, const LaneGroup& group,
                                    const WorkRange& range, LaneArena& arena)
      : rule_(rule), task_(task), group_(group), cursor_(range, arena) {
    const int width = rule.width > rule.width_v ? rule.width : rule.width_v;
    b_ = arena.template take_tile<T>(key_chunk);
    c_ = arena.template take<T>(static_cast<std::size_t>(width));
    for (Array* x : {&from_, &to_, &changes_, &number_}) *x = arena.template take_own<T>(1);
  }

  ATTOSCOPE_HOST_DEVICE std::int64_t run(KeysPart part, double* d_k, double* d_v) {
    const int at = task_.first + group_.lane(), last = task_.end - 1;
    has_key_ = at <= last;
    place_ = has_key_ ? at : last;
    key_ = task_.keys[place_];
    *number_ = static_cast<T>(key_);
    cursor_.begin();
    if (part == KeysPart::sums) {
      add({task_.p, rule_.d_o, task_.d_v, rule_.width_v, rule_.job.d_v, GradStep::dv_step, &rule_.dv_sum});
      add({task_.ds, rule_.q, task_.d_k, rule_.width, rule_.job.d, GradStep::dk_step, &rule_.dk_sum});
    } else if (has_key_) {
      finish(task_.d_k, rule_.width, rule_.job.d, rule_.factors.dK, GradStep::dK, d_k);
      finish(task_.d_v, rule_.width_v, rule_.job.d_v, T{1}, GradStep::dV, d_v);
    }
    return cursor_.end();
  }

 private:
  /// Operands of one of the two sums: A [block][key][lane], rows of B and of the sums.
  struct Sum {
    const T *a, *b;
    T* c;
    int width, columns;
    GradStep step;
    const BlockSum* blocks;
  };
  /// Adjacent rows of one query tile.
  struct Piece {
    int first = 0, count = 0;  ///< rows
    int from = 0, to = 0;      ///< range of the rows that see the lane's key
  };

  ATTOSCOPE_HOST_DEVICE void add(const Sum& sum) {
    for (int block = 0; block < task_.block_count;) {
      int end = block, rows = 0;
      while (end < task_.block_count && task_.first_rows[end] == task_.first_rows[block] &&
             rows + task_.blocks[end].count <= key_chunk)
        rows += task_.blocks[end++].count;
      if (cursor_.due(static_cast<std::int64_t>(rows) * (sum.width + 8) + sum.width)) add_piece(sum, block, end);
      block = end;
    }
  }

  ATTOSCOPE_HOST_DEVICE void add_piece(const Sum& sum, int first_block, int end_block) {
    group_.sync();  // the last product has read its numbers
    Piece piece{.first = task_.blocks[first_block].rows[0], .from = key_chunk};
    for (int block = first_block; block < end_block; ++block) copy_rows(sum, block, piece);
    const bool sees = piece.from < piece.to;
    if (!sees) piece.from = 0;
    *from_ = static_cast<T>(piece.from);
    *to_ = static_cast<T>(piece.to);
    *changes_ = sees ? T{1} : T{0};
    if (group_.all(!sees)) return;
    multiply(sum, piece);
  }
  /// Copies the block's numbers of the lane's key, 0 for rows that do not see it. The warps share the rows.
  ATTOSCOPE_HOST_DEVICE void copy_rows(const Sum& sum, int block, Piece& piece) const {
    const RowBlock& rows = task_.blocks[block];
    const Keys seen = rows_of_key(rule_, rows, key_);
    const T* const a = sum.a + (static_cast<std::ptrdiff_t>(block) * task_.keys.count + place_) * warp_lanes;
    group_.each_own(rows.count, [&](int row, int end) {
      for (; row < end; ++row) {
        b_[piece.count + row] = T{0};
        if (row >= seen.first && row < seen.end) b_[piece.count + row] = *in_global(a + row);
      }
    });
    if (!seen.empty()) {
      piece.from = piece.count + seen.first < piece.from ? piece.count + seen.first : piece.from;
      piece.to = piece.count + seen.end;
    }
    piece.count += rows.count;
  }

  ATTOSCOPE_HOST_DEVICE void multiply(const Sum& sum, const Piece& piece) {
    T* const row = sum.c + static_cast<std::ptrdiff_t>(place_) * sum.width;
    each_own_column(sum.columns, [&](int c) { c_[c] = *in_global(row + c); });
    const ValuesProduct<T> p{.a = sum.b + static_cast<std::ptrdiff_t>(piece.first) * sum.width,
                             .m_stride = 1,
                             .k_stride = sum.width,
                             .b = b_,
                             .c = c_,
                             .m = sum.columns,
                             .depth = piece.count,
                             .resume = true,
                             .first = from_,
                             .end = to_,
                             .step = random_step(sum.step),
                             .random = {.seed = rule_.job.seed, .rows = number_, .columns_first = true},
                             .first_k = piece.first,
                             .group = group_};
    if (sum.blocks->accumulator == Accumulator::fma) {
      product<true>(p, rule_[sum.step], false);
    } else if constexpr (std::is_same_v<T, float>) {
      accumulated_product(BlockProduct<ValuesProduct<T>>{.p = p, .sum = *sum.blocks, .changes = changes_});
    }
    if (has_key_) each_own_column(sum.columns, [&](int c) { *in_global(row + c) = c_[c]; });
  }
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_own_column(int columns, F f) const {
    group_.each_own(columns, [&](int c, int end) {
      for (; c < end; ++c) f(c);
    });
  }

  /// out = round(factor * sums), one row of `columns` numbers.
  ATTOSCOPE_HOST_DEVICE void finish(const T* sums, int width, int columns, T factor, GradStep s, double* out) const {
    const T* const from = sums + static_cast<std::ptrdiff_t>(place_) * width;
    double* const to = out + static_cast<std::ptrdiff_t>(place_) * columns;
    const RandomBits<T> random{.seed = rule_.job.seed, .rows = number_, .columns_first = true};
    with_rounder(rule_[s], random_step(s), random, [&](auto rounder) {
      each_own_column(columns, [&](int c) {
        *in_global(to + c) = static_cast<double>(rounder(factor * *in_global(from + c), RoundingKey{0, c, 0}));
      });
    });
  }

  const GradientRule<T>& rule_;
  const KeysTask<T>& task_;
  const LaneGroup group_;
  PartialWork cursor_;
  TileArray<T> b_;                          // [row of the piece]
  Array c_, from_, to_, changes_, number_;  // [column]; range of rows that see the key; 1 if the range is not empty; the key
  bool has_key_ = false;
  int place_ = 0, key_ = 0;  // index in the list, and the key
};

/// The task of one lane: its row, and its lane of all arrays.
template <class T>
ATTOSCOPE_HOST_DEVICE RowsTask<T> task_of_lane(RowsTask<T> task, int lane) {
  const bool has_row = lane < task.block.count;
  const int at = has_row ? lane : task.block.count - 1;
  task.block = {task.block.rows + at, has_row ? 1 : 0, task.block.first + lane};
  if (task.places != nullptr) task.places += at;
  if (task.p != nullptr) task.p += lane;
  if (task.ds != nullptr) task.ds += lane;
  if (task.dp != nullptr) task.dp += lane;
  if (task.lost != nullptr) task.lost += lane;
  return task;
}

/// Runs one thread's part of a team's work on a block of rows; all threads of the team must call it. Returns the amount of work
/// done.
template <class T, class Observer>
ATTOSCOPE_HOST_DEVICE std::int64_t gradient_rows_thread(const GradientRule<T>& rule, const RowsTask<T>& task, RowsPart part,
                                                        const LaneGroup& group, const Observer& observer, void* scratch) {
  const RowsTask<T> own = task_of_lane(task, group.lane());
  LaneArena arena(scratch, group);
  return GradientRow<T, Observer>(rule, own, group, observer, arena).run(part);
}

/// Same for at most warp_lanes keys; KeysPart::finish writes d_k and d_v.
template <class T>
ATTOSCOPE_HOST_DEVICE std::int64_t gradient_keys_thread(const GradientRule<T>& rule, const KeysTask<T>& task, KeysPart part,
                                                        const LaneGroup& group, const GradientObserver<T>& observer,
                                                        void* scratch, double* d_k, double* d_v) {
  LaneArena arena(scratch, group);
  return GradientKey<T>(rule, task, group, observer.range, arena).run(part, d_k, d_v);
}

/// Memory of a team of `warps` warps, and the work of its rows; a launch cannot split the work of one chunk of keys. `keeps`:
/// the task has memory for dS.
template <class T, class Observer = GradientObserver<T>>
TeamNeeds rows_needs(const GradientRule<T>& rule, int warps, const Observer& observer = {}, bool keeps = false) {
  LaneArena arena(warps, 0);
  T some{};
  const RowsTask<T> task{.ds = keeps ? &some : nullptr};
  const GradientRow<T, Observer> row(rule, task, LaneGroup{}, observer, arena);
  const std::int64_t key = 8 * (StepCosts<T>(rule.job).score() + rule.width_v) + rule.width + 256;
  return {arena.used(), arena.shared(), {key * rule.job.n, key * key_chunk}};
}
/// Same for a block of keys over `rows` rows.
template <class T>
TeamNeeds keys_needs(const GradientRule<T>& rule, int warps, int rows = 1) {
  LaneArena arena(warps, 0);
  const KeysTask<T> task;
  const GradientKey<T> key(rule, task, LaneGroup{}, {}, arena);
  const std::int64_t row = rule.width + rule.width_v + 16;
  return {arena.used(), arena.shared(), {row * rows + 1, row * key_chunk}};
}

/// Rows of the forward pass in one launch, team_rows per team. All arrays of launches lie on the device.
template <class T>
struct ForwardLaunch {
  const Job<T>* job = nullptr;
  const int* rows = nullptr;  ///< 0, 1, ...
  int count = 0;
  int first = 0;  ///< first block of rows of the launch
  double* out = nullptr;
  T *m = nullptr, *l = nullptr;
  std::size_t tile_room = 0;
  char* scratch = nullptr;
  std::size_t scratch_bytes = 0;  ///< per team
  WorkRange range{};
};
/// Blocks of rows of one launch, one per team.
template <class T>
struct RowsLaunch {
  const GradientRule<T>* rule = nullptr;
  const RowBlock* blocks = nullptr;                    ///< of the whole pass
  const int *first_rows = nullptr, *places = nullptr;  ///< [block]: first row of its query tile; [row]: row of dQ
  int block_q = 1;
  int first = 0, panel = 0;  ///< first block of the launch; of the panel
  KeyList keys{};
  T *p = nullptr, *ds = nullptr;                            ///< of the panel's blocks
  double *d_q = nullptr, *delta = nullptr, *lse = nullptr;  ///< null: not wanted
  std::int64_t* lost_count = nullptr;                       ///< [row]; null: not wanted
  char* scratch = nullptr;
  std::size_t scratch_bytes = 0;  ///< per team
  WorkRange range{};
};
/// Blocks of keys of one launch, warp_lanes keys per team.
template <class T>
struct KeysLaunch {
  const GradientRule<T>* rule = nullptr;
  KeysTask<T> task{};  ///< task of the panel and all keys
  int first = 0;       ///< first block of keys of the launch
  KeysPart part = KeysPart::sums;
  double *d_k = nullptr, *d_v = nullptr;
  char* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  WorkRange range{};
};

/// Runs one thread of team `team` of the launch; all threads of the team must call it. Returns the amount of work done.
template <class T>
ATTOSCOPE_HOST_DEVICE std::int64_t launch_thread(const ForwardLaunch<T>& launch, int team, const LaneGroup& group) {
  return attention_thread(*launch.job, RowSlice{launch.rows, launch.count, 0}, launch.first + team, group,
                          GradientObserver<T>{launch.range, launch.m, launch.l},
                          {launch.scratch + team * launch.scratch_bytes, launch.tile_room}, launch.out);
}
template <class T>
ATTOSCOPE_HOST_DEVICE std::int64_t launch_thread(const RowsLaunch<T>& launch, int team, const LaneGroup& group) {
  const int block = launch.first + team;
  const std::ptrdiff_t pairs = std::ptrdiff_t{block - launch.panel} * launch.keys.count * warp_lanes;
  const RowBlock rows = launch.blocks[block];
  const RowsTask<T> task{.block = rows,
                         .query_tile = launch.first_rows[block] / launch.block_q,
                         .keys = launch.keys,
                         .p = launch.p + pairs,
                         .ds = launch.ds + pairs,
                         .d_q = launch.d_q,
                         .places = launch.places + rows.first,
                         .delta = launch.delta,
                         .lse = launch.lse,
                         .lost_count = launch.lost_count};
  return gradient_rows_thread(*launch.rule, task, launch.d_q != nullptr ? RowsPart::both : RowsPart::pairs, group,
                              GradientObserver<T>{launch.range}, launch.scratch + team * launch.scratch_bytes);
}
template <class T>
ATTOSCOPE_HOST_DEVICE std::int64_t launch_thread(const KeysLaunch<T>& launch, int team, const LaneGroup& group) {
  KeysTask<T> task = launch.task;
  task.first = (launch.first + team) * warp_lanes;
  task.end = task.keys.count - task.first < warp_lanes ? task.keys.count : task.first + warp_lanes;
  return gradient_keys_thread(*launch.rule, task, launch.part, group, GradientObserver<T>{launch.range},
                              launch.scratch + team * launch.scratch_bytes, launch.d_k, launch.d_v);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
