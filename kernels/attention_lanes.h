/// Attention of one block of query rows, a row in each lane: the recurrence of FlashAttention-2 (arXiv 2307.08691,
/// Algorithm 1) and three-pass safe softmax, every step rounded where the job says. Letters are the paper's.
#pragma once

#include "kernels/job.h"
#include "kernels/micro_kernel.h"
#include "kernels/scratch.h"
#include "kernels/short_domain.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

constexpr int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

/// How many keys one tile buffer must hold.
template <class T>
inline int tile_keys(const Job<T>& job) {
  return job.algorithm == Algorithm::three_pass || job.block_k > job.n ? job.n : job.block_k;
}

template <class T>
class AttentionBlock {
  using L = Lanes<T>;
  using V = typename L::V;
  static constexpr int R = L::rows, vectors = L::vectors;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  /// Keys whose P stays in the first-level cache while the columns of O pass by.
  static constexpr int key_chunk = 64;

 public:
  AttentionBlock(const Job<T>& job, const RowBlock& block, Recorder<T>* recorder, Arena& arena)
      : job_(job), block_(block), recorder_(recorder) {
    const std::size_t d = static_cast<std::size_t>(job.d) * R, keys = static_cast<std::size_t>(tile_keys(job));
    for (T** matrix : {&q_, &o_, &pv_}) *matrix = arena.take<T>(d);
    s_ = arena.take<T>(keys * R);
    for (T** row : {&m_, &m_old_, &l_, &alpha_, &sum_, &first_, &end_, &from_, &to_, &started_, &active_}) *row = arena.take<T>(R);
    for (T** kept : {&kept_S_, &kept_e_, &kept_P_}) *kept = arena.take<T>(keys);
    const RounderPlan<T>& rescaled = job[Step::rescaled];
    rescale_by_1_is_free_ = !rescaled.rounds() || (same(rescaled, job[Step::l]) && same(rescaled, job[Step::O]));
  }

  /// The block's rows of the output, row-major.
  void run(const StopSign& stop, double* out) {
    kept_ = recorder_ ? recorder_->kept_lane(block_) : -1;
    load_rows();
    if (job_.algorithm == Algorithm::three_pass) {
      stop.check();
      three_pass();
    } else {
      for (std::int64_t tile = block_first_ / job_.block_k; tile * job_.block_k < block_end_; ++tile) {
        stop.check();
        flash2_tile(static_cast<int>(tile));
      }
    }
    store_output(out);
  }

 private:
  // --- algorithms -----------------------------------------------------------------------------------------------------

  void flash2_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * job_.block_k, end = begin + job_.block_k;
    const int j0 = begin > block_first_ ? static_cast<int>(begin) : block_first_;
    const int j1 = end < block_end_ ? static_cast<int>(end) : block_end_;
    scores(j0, j1);
    running_max(j0, j1);
    rescale_factors();
    exponentials(j0, j1);
    if (job_.sum_rounded_P) round_P(j1 - j0);
    sum_tile(j1 - j0);
    if (!job_.sum_rounded_P) round_P(j1 - j0);
    update_l();
    update_O(j0, j1);
    report(tile, j0, j1);
  }

  /// Safe softmax as one tile of all keys, normalised before P.V.
  void three_pass() {
    const int j0 = block_first_, j1 = block_end_;
    scores(j0, j1);
    running_max(j0, j1);
    rescale_factors();
    exponentials(j0, j1);
    sum_tile(j1 - j0);
    fill(l_, vectors, Step::l, [&](int r) { return vec(sum_)[r]; });
    normalise(j1 - j0);
    if (!all_visible(j0, j1)) hide(j0, j1, T{0});
    keep(kept_P_, j1 - j0);
    weighted_values(j0, j1, o_, false);
    if (!job_.accumulate_in_O) round_all(o_, job_.d * vectors, Step::PV);
    round_all(o_, job_.d * vectors, Step::O);
    report(0, j0, j1);
  }

  /// The output from the final state: O/l, or O itself where P was normalised.
  void store_output(double* out) {
    const bool divides = job_.algorithm != Algorithm::three_pass;
    const V* o = vec(o_);
    const V* l = vec(l_);
    if (divides) {
      fill(o_, job_.d * vectors, Step::output, [&](int i) { return o[i] / l[i % vectors]; });
    } else {
      round_all(o_, job_.d * vectors, Step::output);
    }
    for (int lane = 0; lane < block_.count; ++lane)
      for (int c = 0; c < job_.d; ++c) out[static_cast<std::ptrdiff_t>(lane) * job_.d + c] = static_cast<double>(o_[c * R + lane]);
  }

  // --- the rows -------------------------------------------------------------------------------------------------------

  /// Q transposed into lanes, the keys each row sees, and the empty state. Lanes without a row repeat the last one.
  void load_rows() {
    block_first_ = full_end_ = job_.n;
    block_end_ = full_first_ = 0;
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.rows[lane < block_.count ? lane : block_.count - 1];
      const T* q = job_.q + static_cast<std::ptrdiff_t>(row) * job_.d;
      for (int c = 0; c < job_.d; ++c) q_[c * R + lane] = q[c];
      const Keys keys = visible_keys(job_.mask, row, job_.n);
      first_[lane] = static_cast<T>(keys.first);
      end_[lane] = static_cast<T>(keys.end);
      block_first_ = keys.first < block_first_ ? keys.first : block_first_;
      block_end_ = keys.end > block_end_ ? keys.end : block_end_;
      full_first_ = keys.first > full_first_ ? keys.first : full_first_;
      full_end_ = keys.end < full_end_ ? keys.end : full_end_;
      m_[lane] = -infinity;
      l_[lane] = started_[lane] = 0;
    }
    for (int i = 0; i < job_.d * R; ++i) o_[i] = 0;
  }

  /// Whether every row of the block sees all keys j0 .. j1-1.
  bool all_visible(int j0, int j1) const { return full_first_ <= j0 && j1 <= full_end_; }

  static V* vec(T* x) { return reinterpret_cast<V*>(x); }
  static bool same(const RounderPlan<T>& x, const RounderPlan<T>& y) { return x.kind == y.kind && x.format == y.format; }

  /// x[i] = round(f(i)) for `count` vectors.
  template <class F>
  void fill(T* x, int count, Step step, F f) const {
    V* out = vec(x);
    with_rounder(job_[step], [&](auto rounder) {
      for (int i = 0; i < count; ++i) out[i] = rounder(f(i));
    });
  }
  void round_all(T* x, int count, Step step) const {
    if (job_[step].rounds()) fill(x, count, step, [v = vec(x)](int i) { return v[i]; });
  }

  // --- scores and the running max -------------------------------------------------------------------------------------

  /// S = round(scale * (q.k)) for keys j0 .. j1-1; -infinity where a row does not see the key.
  void scores(int j0, int j1) {
    const Product<T> qk{.a = job_.k + static_cast<std::ptrdiff_t>(j0) * job_.d, .m_stride = job_.d, .k_stride = 1,
                        .b = q_, .c = s_, .m = j1 - j0, .depth = job_.d};
    product(qk, job_[Step::qk_step], products_in_domain(job_.q_range, job_.k_range, job_.d));
    const V scale = splat<V>(job_.scale);
    const V* s = vec(s_);
    fill(s_, (j1 - j0) * vectors, Step::S, [&](int i) { return scale * s[i]; });
    if (!all_visible(j0, j1)) hide(j0, j1, -infinity);
    keep(kept_S_, j1 - j0);
  }

  /// Puts `value` where a row does not see the key.
  void hide(int j0, int j1, T value) {
    for (int j = j0; j < j1; ++j) {
      if (all_visible(j, j + 1)) continue;
      const V key = splat<V>(static_cast<T>(j)), hidden = splat<V>(value);
      V* s = vec(s_) + static_cast<std::ptrdiff_t>(j - j0) * vectors;
      for (int r = 0; r < vectors; ++r) s[r] = key < vec(first_)[r] ? hidden : (key < vec(end_)[r] ? s[r] : hidden);
    }
  }

  /// m_new = round(max(m, max S)); a NaN score never replaces. Rows that see no key of the tile are idle.
  void running_max(int j0, int j1) {
    const V low = splat<V>(static_cast<T>(j0)), high = splat<V>(static_cast<T>(j1)), one = splat<V>(1), zero{};
    for (int r = 0; r < vectors; ++r) {
      vec(active_)[r] = vec(first_)[r] < high ? (vec(end_)[r] > low ? one : zero) : zero;
      V m = vec(m_old_)[r] = vec(m_)[r];
      const V* s = vec(s_) + r;
      for (int j = j0; j < j1; ++j, s += vectors) m = *s > m ? *s : m;
      vec(m_)[r] = m;
    }
    round_all(m_, vectors, Step::m);
    for (int r = 0; r < vectors; ++r) vec(m_)[r] = vec(active_)[r] == one ? vec(m_)[r] : vec(m_old_)[r];
  }

  /// alpha = round(exp(m_old - m_new)); 1 where there is nothing to rescale: on a row's first tile, and for idle rows.
  void rescale_factors() {
    const V one = splat<V>(1);
    fill(alpha_, vectors, Step::alpha, [&](int r) { return exponential(vec(m_old_)[r] - vec(m_)[r]); });
    any_rescale_ = any_idle_ = false;
    for (int r = 0; r < vectors; ++r) {
      const V applies = vec(active_)[r] * vec(started_)[r];
      vec(alpha_)[r] = applies == one ? vec(alpha_)[r] : one;
      vec(started_)[r] = vec(started_)[r] < vec(active_)[r] ? one : vec(started_)[r];
      for (int lane = 0; lane < L::width; ++lane) {
        any_rescale_ |= !(vec(alpha_)[r][lane] == T{1});
        any_idle_ |= vec(active_)[r][lane] == T{0};
      }
    }
  }

  // --- P and its sum --------------------------------------------------------------------------------------------------

  /// S becomes e = round(exp(round(S - m))); 0 where a row does not see the key.
  void exponentials(int j0, int j1) {
    V* s = vec(s_);
    const int keys = j1 - j0;
    with_rounder(job_[Step::shifted], [&](auto rounder) {
      for (int j = 0; j < keys; ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = rounder(s[j * vectors + r] - vec(m_)[r]);
    });
    for (int i = 0; i < keys * vectors; ++i) s[i] = exponential(s[i]);
    round_all(s_, keys * vectors, Step::e);
    if (!all_visible(j0, j1)) hide(j0, j1, T{0});
    keep(kept_e_, keys);
  }

  void round_P(int keys) {
    round_all(s_, keys * vectors, Step::P);
    keep(kept_P_, keys);
  }

  /// P = round(e / l), three-pass.
  void normalise(int keys) {
    V* s = vec(s_);
    with_rounder(job_[Step::P], [&](auto rounder) {
      for (int j = 0; j < keys; ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = rounder(s[j * vectors + r] / vec(l_)[r]);
    });
  }

  /// The tile's sum, rounded after every addition by l_step and at the end by tile_sum.
  void sum_tile(int keys) {
    const V* s = vec(s_);
    V sum[vectors] = {};
    with_rounder(job_[Step::l_step], [&](auto rounder) {
      for (int j = 0; j < keys; ++j)
        for (int r = 0; r < vectors; ++r) sum[r] = rounder(sum[r] + s[j * vectors + r]);
    });
    fill(sum_, vectors, Step::tile_sum, [&](int r) { return sum[r]; });
  }

  /// Copies the kept lane of the tile for the recorder.
  void keep(T* kept, int keys) const {
    if (kept_ < 0) return;
    for (int j = 0; j < keys; ++j) kept[j] = s_[static_cast<std::ptrdiff_t>(j) * R + kept_];
  }

  // --- the running state ----------------------------------------------------------------------------------------------

  bool must_rescale() const { return any_rescale_ || !rescale_by_1_is_free_; }

  /// l = round(round(alpha * l) + tile sum).
  void update_l() {
    const V one = splat<V>(1);
    V rescaled[vectors];
    with_rounder(job_[Step::rescaled], [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) rescaled[r] = rounder(vec(alpha_)[r] * vec(l_)[r]);
    });
    with_rounder(job_[Step::l], [&](auto rounder) {
      for (int r = 0; r < vectors; ++r)
        vec(l_)[r] = vec(active_)[r] == one ? rounder(rescaled[r] + vec(sum_)[r]) : vec(l_)[r];
    });
  }

  /// O = round(round(alpha * O) + P.V), or P.V continued in the rescaled O.
  void update_O(int j0, int j1) {
    if (must_rescale()) rescale_O();
    if (job_.accumulate_in_O) {
      weighted_values(j0, j1, o_, true);
      if (job_[Step::O].rounds()) assign_active(o_, [o = vec(o_)](int i) { return o[i]; });
      return;
    }
    weighted_values(j0, j1, pv_, false);
    round_all(pv_, job_.d * vectors, Step::PV);
    assign_active(o_, [o = vec(o_), pv = vec(pv_)](int i) { return o[i] + pv[i]; });
  }

  void rescale_O() {
    const V one = splat<V>(1);
    V* o = vec(o_);
    with_rounder(job_[Step::rescaled], [&](auto rounder) {
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r) {
          const V x = rounder(vec(alpha_)[r] * o[c * vectors + r]);
          o[c * vectors + r] = vec(active_)[r] == one ? x : o[c * vectors + r];
        }
    });
  }

  /// O = round_O(f(i)) in the rows that take part in the tile.
  template <class F>
  void assign_active(T* x, F f) const {
    if (!any_idle_) {
      fill(x, job_.d * vectors, Step::O, f);
      return;
    }
    V* out = vec(x);
    const V one = splat<V>(1);
    with_rounder(job_[Step::O], [&](auto rounder) {
      for (int i = 0; i < job_.d * vectors; ++i) out[i] = vec(active_)[i % vectors] == one ? rounder(f(i)) : out[i];
    });
  }

  // --- P.V ------------------------------------------------------------------------------------------------------------

  /// target = chain of P.V over keys j0 .. j1-1, from 0 or from what target holds: masked only where some row cannot see.
  void weighted_values(int j0, int j1, T* target, bool resume) {
    int middle = clamp(full_first_, j0, j1), last = clamp(full_end_, j0, j1);
    if (last < middle) last = middle = j1;
    weighted_range(j0, j0, middle, target, resume, true);
    weighted_range(j0, middle, last, target, resume, false);
    weighted_range(j0, last, j1, target, resume, true);
  }

  void weighted_range(int tile_first, int j0, int j1, T* target, bool resume, bool masked) {
    for (int j = j0; j < j1; j += key_chunk) {
      const int end = j1 - j > key_chunk ? j + key_chunk : j1;
      const Product<T> pv{.a = job_.v + static_cast<std::ptrdiff_t>(j) * job_.d, .m_stride = 1, .k_stride = job_.d,
                          .b = s_ + static_cast<std::ptrdiff_t>(j - tile_first) * R, .c = target, .m = job_.d, .depth = end - j,
                          .resume = resume || j > tile_first};
      if (masked) {
        masked_product(pv, j);
      } else {
        product(pv, job_[Step::pv_step], pv_in_domain(pv));
      }
    }
  }

  void masked_product(Product<T> pv, int j0) {
    for (int r = 0; r < vectors; ++r) {
      vec(from_)[r] = vec(first_)[r] - static_cast<T>(j0);
      vec(to_)[r] = vec(end_)[r] - static_cast<T>(j0);
    }
    pv.first = from_;
    pv.end = to_;
    product<T, true>(pv, job_[Step::pv_step], pv_in_domain(pv));
  }

  bool pv_in_domain(const Product<T>& pv) const {
    if (!job_[Step::pv_step].can_be_short) return false;
    const Magnitudes p = magnitudes(pv.b, pv.depth * vectors, job_[Step::P].mantissa_bits());
    if (!products_in_domain(p, job_.v_range, pv.depth)) return false;
    return !pv.resume || in_domain(magnitudes(pv.c, job_.d * vectors, Layout<T>::mantissa_bits));
  }

  // --- what others see ------------------------------------------------------------------------------------------------

  void report(int tile, int j0, int j1) {
    if (!recorder_) return;
    const bool kept = kept_ >= 0;
    recorder_->tile(block_, TileView<T>{.tile = tile, .first_key = j0, .end_key = j1, .stride = R, .m_old = m_old_, .m = m_,
                                        .l = l_, .alpha = alpha_, .takes_part = active_, .o = o_, .S = kept ? kept_S_ : nullptr,
                                        .e = kept ? kept_e_ : nullptr, .P = kept ? kept_P_ : nullptr});
  }

  const Job<T>& job_;
  const RowBlock& block_;
  Recorder<T>* recorder_;
  int kept_ = -1;
  int block_first_ = 0, block_end_ = 0;  // keys that some row sees
  int full_first_ = 0, full_end_ = 0;    // keys that every row sees (none where end <= first)
  bool any_rescale_ = false, any_idle_ = false, rescale_by_1_is_free_ = true;
  T *q_, *o_, *pv_, *s_;
  T *m_, *m_old_, *l_, *alpha_, *sum_, *first_, *end_, *from_, *to_, *started_, *active_;
  T *kept_S_, *kept_e_, *kept_P_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
