#include "kernels/recurrence/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/recurrence/prefix_golden.h"
#include "kernels/recurrence/row_steps.h"

namespace attoscope {
namespace {

/// Number of rows whose m is recorded for the quantiles and the rescale map: fewer if there are many tiles.
int held_rows(int rows, int tiles) { return std::min(rows, std::max(64, (1 << 17) / std::max(1, tiles))); }

/// H_t = 1 + 1/2 + ... + 1/t for t = 0 .. count.
std::vector<double> harmonic_numbers(int count) {
  std::vector<double> h{0};
  for (int t = 1; t <= count; ++t) h.push_back(h.back() + 1.0 / t);
  return h;
}

/// The tiles [first, end) in which a row sees a key.
struct TileRange {
  int first = 0, end = 0;
};

/// Appends a row's tiles: one range per run of tiles of the method.
template <class T>
void append_ranges(const Job<T>& job, int row, std::vector<TileRange>& ranges) {
  const Keys keys = job.keys_of(row);
  if (keys.empty()) return;
  const int block_k = tile_keys(job.method, job.n), per_run = tiles_of_a_run(job.method, job.n);
  const TileRange all{keys.first / block_k, (keys.end - 1) / block_k + 1};
  for (int first = all.first; first < all.end;) {
    const int end = std::min(all.end, (first / per_run + 1) * per_run);
    ranges.push_back({first, end});
    first = end;
  }
}

/// True if the row, which sees keys of the range `keys`, keeps one of the tile under a mask tensor with terms.
template <class T>
bool keeps_a_key(const Job<T>& job, int row, Keys keys, int tile) {
  const std::int64_t block_k = tile_keys(job.method, job.n), end = std::min<std::int64_t>(keys.end, (tile + 1) * block_k);
  for (auto key = std::max<std::int64_t>(keys.first, tile * block_k); key < end; ++key)
    if (mask_term(job, row, static_cast<int>(key)) != -std::numeric_limits<double>::infinity()) return true;
  return false;
}

/// Adds a row's tiles under a mask tensor with terms; `h` has the harmonic numbers.
template <class T>
void add_kept_tiles(const Job<T>& job, int row, const std::vector<double>& h, Rescales& r) {
  const Keys keys = job.keys_of(row);
  std::vector<TileRange> runs;
  append_ranges(job, row, runs);
  for (const TileRange& run : runs) {
    int kept = 0;
    for (int tile = run.first; tile < run.end; ++tile)
      if (keeps_a_key(job, row, keys, tile) && ++kept > 1) r.expected_per_tile[at(tile)] += 1.0 / kept;
    r.nominal += std::max(0, kept - 1);
    r.expected += kept == 0 ? 0 : h[at(kept)] - 1;
  }
}

/// Expected moves per tile: sum over rows of 1/t if the tile is the row's t-th, t > 1. Counts rows with equal ranges together.
std::vector<double> expected_moves(const std::vector<TileRange>& ranges, int tiles) {
  std::vector<double> expected(at(tiles), 0.0);
  for (std::size_t i = 0; i < ranges.size();) {
    std::size_t same = i + 1;
    while (same < ranges.size() && ranges[same].first == ranges[i].first && ranges[same].end == ranges[i].end) ++same;
    for (int t = ranges[i].first + 1; t < ranges[i].end; ++t)
      expected[at(t)] += static_cast<double>(same - i) / (t - ranges[i].first + 1);
    i = same;
  }
  return expected;
}

/// Quantiles 5, 25, 50, 75, 95 % of at most 256 evenly spread numbers of x; NaN if there are none.
std::array<float, 5> quantiles(const float* x, int count) {
  std::vector<float> some;
  const int step = (count + 255) / 256;
  for (int i = 0; i < count; i += step)
    if (x[i] == x[i]) some.push_back(x[i]);
  std::array<float, 5> q;
  q.fill(std::numeric_limits<float>::quiet_NaN());
  constexpr double at[] = {0.05, 0.25, 0.5, 0.75, 0.95};
  auto rest = some.begin();
  for (std::size_t i = 0; i < q.size() && !some.empty(); ++i) {
    const auto place = some.begin() + std::lround(at[i] * static_cast<double>(some.size() - 1));
    std::nth_element(rest, place, some.end());
    rest = place;
    q[i] = *place;
  }
  return q;
}

}  // namespace

/// Records the recurrence of one row, and its exact values.
template <class T>
class RunRecorder<T>::Tracer {
 public:
  Tracer(const Job<T>& job, const Job<double>& golden, int row, bool precise)
      : job_(job), golden_(golden), row_(row), precise_(precise), keys_(job.keys_of(row)), steps_(job, row) {
    restart();
  }

  /// Resets the state: a new run of tiles begins.
  void restart() {
    if (precise_)
      prefix_ = PrefixGolden<DD<double>>(job_.d_v);
    else
      prefix_ = PrefixGolden<double>(job_.d_v);
    started_ = false;
    at_max_ = tied_ = 0;
    max_true_ = -std::numeric_limits<double>::infinity();
  }

  TraceTile tile(const TileView<T>& view, int lane) {
    TraceTile t{.tile = view.tile, .alpha = view.alpha[lane * view.lane_stride], .l = view.l[lane * view.lane_stride]};
    t.max_used = view.m[lane * view.lane_stride] * job_.exp2.score_unit;
    t.moved = started_ && view.moved(lane);
    started_ = true;
    const int begin = std::max(view.first_key, keys_.first), end = std::min(view.end_key, keys_.end);
    for (int j = begin; j < end; ++j) count_key(t, view, j - view.first_key, lane);
    t.max_true = static_cast<T>(max_true_) * job_.exp2.score_unit;
    if (t.moved) at_max_ = 0;
    t.ties = std::max(0, at_max_ + tied_ - 1) - std::max(0, at_max_ - 1);
    at_max_ += tied_;
    tied_ = 0;
    take_in(begin, end);
    measure(t, view, lane);
    return t;
  }

 private:
  void count_key(TraceTile& t, const TileView<T>& view, int i, int lane) {
    const RounderPlan<T>& plan = job_[Step::P];
    const int at = i * view.lane_stride, own = lane * view.lane_stride;
    const T S = view.S[at], P = view.P[at], e = has_tiles(job_.method.algorithm) ? view.e[at] : view.e[at] / view.l[own];
    if (S > max_true_) max_true_ = S;
    if (S == view.m[own]) ++tied_;
    if (P > t.p_max || std::isnan(P)) t.p_max = P;
    if (e > 0 && P == 0) ++t.underflowed;
    if (job_.method.algorithm == Algorithm::two_pass) return;  // its P is e / l, computed after this pass
    if (plan.rounds() && e * job_.P.factor > plan.largest && !(P < plan.beyond))
      ++t.saturated;  // also true if P is NaN by overflow
  }

  /// Adds keys [begin, end) to the exact values.
  void take_in(int begin, int end) {
    const double* q = golden_.q + static_cast<std::ptrdiff_t>(row_) * golden_.d;
    const auto row_of_key = [&](int j) { return static_cast<std::ptrdiff_t>(job_.reversed ? job_.n - 1 - j : j); };
    std::visit(
        [&](auto& prefix) {
          constexpr int together = 4;  // four at once: each product is one dependent chain
          for (int j = begin; j < end; j += together) {
            const double* k[together];
            for (int i = 0; i < together; ++i) k[i] = golden_.k + row_of_key(std::min(j + i, end - 1)) * golden_.d;
            const auto products = prefix.template products<together>(q, k, golden_.d);
            for (int i = 0; i < together && j + i < end; ++i) {
              const std::ptrdiff_t key = row_of_key(j + i);
              prefix.add(prefix.score(products[i], q, k[i], golden_, row_, static_cast<int>(key)),
                         golden_.v + key * golden_.d_v);
            }
          }
        },
        prefix_);
  }

  /// One output element from the current state.
  T output(const TileView<T>& view, int lane, int column, T l) const {
    const T o = view.o[static_cast<std::ptrdiff_t>(column) * view.stride + lane * view.lane_stride];
    const T normalised = job_.has_sink && !normalises_P(job_.method.algorithm) ? o * view.l[lane * view.lane_stride] / l : o;
    return job_.scales.output(divides_at_the_end(job_.method.algorithm) ? o / l : normalised, column);
  }

  void measure(TraceTile& t, const TileView<T>& view, int lane) const {
    if (job_.method.algorithm == Algorithm::two_pass) {  // no O before the second pass
      t.o_norm = t.error = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const T l_lane = view.l[lane * view.lane_stride], m = view.m[lane * view.lane_stride];
    // in three_pass, l contains the sink already
    const T l = has_tiles(job_.method.algorithm) ? steps_.divisor(l_lane, m) : l_lane;
    double square = 0;
    for (int c = 0; c < job_.d_v; ++c) {
      const double o = view.o[static_cast<std::ptrdiff_t>(c) * view.stride + lane * view.lane_stride];
      square += o * o;
      const T y = steps_.rounded(Step::output, output(view, lane, c, l), c, 0);
      const double exact = std::visit([&](const auto& g) { return g.value(c, golden_); }, prefix_);
      const double error = std::fabs(static_cast<double>(y) - exact);
      if (error > t.error || error != error) t.error = t.error == t.error ? error : t.error;
    }
    t.o_norm = std::sqrt(square);
  }

  const Job<T>& job_;
  const Job<double>& golden_;
  int row_;
  bool precise_;
  Keys keys_;
  RowSteps<T> steps_;
  bool started_ = false;
  double max_true_ = 0;
  int at_max_ = 0, tied_ = 0;
  std::variant<PrefixGolden<double>, PrefixGolden<DD<double>>> prefix_{PrefixGolden<double>(0)};
};

template <class T>
RunRecorder<T>::RunRecorder(const Job<T>& job, const Job<double>& golden, const std::vector<int>& rows, int traced,
                            bool precise)
    : job_(job), rows_(rows), tiles_(key_tiles(job.method, job.n)), moved_(at(tiles_)) {
  const int count = static_cast<int>(rows.size()), held = held_rows(count, tiles_);
  map_.tiles = tiles_;
  map_.row_step = (count + held - 1) / held;
  const std::size_t held_count = static_cast<std::size_t>((count + map_.row_step - 1) / map_.row_step);
  map_.m.assign(at(tiles_) * held_count, std::numeric_limits<float>::quiet_NaN());
  trace_.row = traced;
  if (traced >= 0) tracer_ = std::make_unique<Tracer>(job, golden, traced, precise);
}

template <class T>
RunRecorder<T>::~RunRecorder() = default;

template <class T>
int RunRecorder<T>::kept_lane(const RowBlock& block) const {
  const int* found = std::find(block.rows, block.rows + block.count, trace_.row);
  return found == block.rows + block.count ? -1 : static_cast<int>(found - block.rows);
}

template <class T>
void RunRecorder<T>::tile(const RowBlock& block, const TileView<T>& view) {
  const std::size_t held = map_.m.size() / at(tiles_);
  std::int64_t moves = 0;
  for (int lane = 0; lane < block.count; ++lane) {
    if (!view.sees(lane)) continue;
    moves += view.moved(lane);
    const int row = block.first + lane;
    if (map_.row_step > 1 && row % map_.row_step != 0) continue;
    map_.m[at(view.tile) * held + at(row / map_.row_step)] =
        static_cast<float>(view.m[lane * view.lane_stride] * job_.exp2.score_unit);
  }
  if (moves != 0) moved_[at(view.tile)].fetch_add(moves, std::memory_order_relaxed);
  const int lane = view.P ? kept_lane(block) : -1;
  if (lane >= 0 && view.restarts) tracer_->restart();
  if (lane >= 0 && view.sees(lane)) trace_.tiles.push_back(tracer_->tile(view, lane));
}

template <class T>
void RunRecorder<T>::take_in(const std::vector<std::int64_t>& moved, std::vector<float> m) {
  for (std::size_t t = 0; t < moved_.size(); ++t) moved_[t].fetch_add(moved[t], std::memory_order_relaxed);
  map_.m = std::move(m);
}

template <class T>
Rescales RunRecorder<T>::rescales() const {
  Rescales r;
  r.tiles = tiles_;
  const std::vector<double> h = harmonic_numbers(tiles_);
  std::vector<TileRange> ranges;
  const bool has_terms = job_.mask_tensor.terms != nullptr;
  for (const int row : rows_)
    if (!has_terms) append_ranges(job_, row, ranges);
  r.expected_per_tile = expected_moves(ranges, tiles_);
  for (const int row : rows_)
    if (has_terms) add_kept_tiles(job_, row, h, r);
  const double rows = static_cast<double>(rows_.size());
  for (const TileRange& range : ranges) {
    r.nominal += range.end - range.first - 1;
    r.expected += h[at(range.end - range.first)] - 1;
  }
  r.nominal /= rows;
  r.expected /= rows;
  for (int t = 0; t < tiles_; ++t) {
    r.per_tile.push_back(moved_[at(t)].load(std::memory_order_relaxed));
    r.effective_mean += static_cast<double>(r.per_tile.back());
  }
  r.effective_mean /= rows;
  r.max_quantiles.resize(at(tiles_));
  parallel_for(0, tiles_, [&](int t) {
    r.max_quantiles[at(t)] = quantiles(map_.m.data() + static_cast<std::ptrdiff_t>(t) * held(), held());
  });
  return r;
}

template class RunRecorder<float>;
template class RunRecorder<double>;

}  // namespace attoscope
