/// The lines of an algorithm for one row, computed from the scores of the kernel's own run and compared with it tile by tile.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/questions/row_tiles.h"
#include "kernels/questions/stepper.h"
#include "kernels/questions/stored_weights.h"
#include "kernels/recurrence/row_steps.h"

namespace attoscope {

/// The parts of a run that a recorder reports.
struct RecordedParts {
  int row = 0, columns = 1;            ///< the row of Q, and the first columns of O
  double q = 1, k = 1, v = 1, of = 1;  ///< bytes of a number of Q, K and V, and of any other
  bool scores = false;                 ///< q.k is a step of its own
  bool stores_P = false;               ///< storing P with a scale is a step of its own
};

/// Records the steps of one run. Letters, order and places of the roundings are those of kernels/lanes/attention_lanes.h.
template <class T>
class StepRecorder {
 public:
  StepRecorder(const Job<T>& job, const RowRun<T>& run, const RecordedParts& parts)
      : job_(job), run_(run), parts_(parts), steps_(job, parts.row) {
    if (job.method.scaling.P.is_on()) stored_P_.emplace(job);
    o_.assign(static_cast<std::size_t>(job.d), T{0});
    e_.assign(static_cast<std::size_t>(job.n), T{0});
    P_ = S_ = P_quotients_ = P_elements_ = P_scales_ = e_;
    for (const RowTile<T>& tile : run.tiles) std::copy(tile.S.begin(), tile.S.end(), S_.begin() + tile.first_key);
  }

  void follow() {
    moved(parts_.q, job_.method.algorithm == Algorithm::flash1 ? 0 : job_.d);
    close(StepKind::start, -1, {});
    switch (job_.method.algorithm) {
      case Algorithm::three_pass:
        three_pass();
        break;
      case Algorithm::two_pass:
        two_pass();
        break;
      case Algorithm::flash1:
        each_tile([&](const RowTile<T>& t, Keys keys) { flash1_tile(t, keys); });
        break;
      default:
        each_tile([&](const RowTile<T>& t, Keys keys) { flash2_tile(t, keys); });
        break;
    }
    finish();
  }

  int passes() const { return pass_ + 1; }
  bool same_bits() const { return same_bits_; }
  std::vector<RowStep> take() { return std::move(done_); }
  std::vector<double> S() const { return doubles(S_); }
  std::vector<double> P() const { return doubles(P_); }
  std::vector<double> output() const { return shown(o_); }
  std::vector<double> P_quotients() const { return doubles(P_quotients_); }
  std::vector<double> P_elements() const { return doubles(P_elements_); }
  std::vector<double> P_scales() const { return doubles(P_scales_); }

 private:
  // --- the algorithms -------------------------------------------------------------------------------------------------

  void three_pass() {
    for (int j = 0; j < job_.n; ++j) {
      moved(parts_.k, job_.d);
      moved(parts_.of, 2);  // S written out, and read again
      running_max(j + 1 == job_.n, 0, {j, j + 1});
    }
    ++pass_;
    T total = 0;
    for (int j = 0; j < job_.n; ++j) {
      exponential_of(m_, j);
      total = l_ = rounded(Step::l_step, total + e_[at(j)], j, 0, j);
      if (j + 1 == job_.n) l_ = rounded(Step::l, rounded(Step::tile_sum, total, 0, 0), 0, 0);
      read_and_close(StepKind::sum, 0, {j, j + 1});
    }
    ++pass_;
    for (int j = 0; j < job_.n; ++j) {
      normalise({j, j + 1});
      moved(parts_.of, 2);  // P written out, and read again
      read_and_close(StepKind::normalise, 0, {j, j + 1});
      add_values(o_, {j, j + 1});
      moved(parts_.v, job_.d);
      close(StepKind::output, 0, {j, j + 1});
    }
    compare(run_.tiles.front());
  }

  void two_pass() {
    each_tile([&](const RowTile<T>& t, Keys keys) {
      moved(parts_.k, count(keys) * job_.d);
      running_max(true, t.tile, keys);
      rescale_factor(t.tile, keys);
      for (int j = keys.first; j < keys.end; ++j) exponential_of(m_, j);
      const T sum = sum_of(e_, t.tile, keys);
      update_l(sum, t.tile);
      close(StepKind::sum, t.tile, keys);
    });
    ++pass_;
    for (const RowTile<T>& t : run_.tiles) {
      const Keys keys = keys_of(t);
      normalise(keys);
      moved(parts_.k, count(keys) * job_.d);
      read_and_close(StepKind::normalise, t.tile, keys);
      add_values(o_, keys);
      moved(parts_.v, count(keys) * job_.d);
      close(StepKind::output, t.tile, keys);
    }
  }

  void flash1_tile(const RowTile<T>& t, Keys keys) {
    moved(parts_.k, count(keys) * job_.d);
    moved(parts_.q, job_.d);
    moved(parts_.of, job_.d + 2);  // O, l, m
    read_scores(t.tile, keys);
    m_tile_ = rounded(Step::m, largest(keys), t.tile, 0);
    close(StepKind::tile_max, t.tile, keys);
    weights(m_tile_, t.tile, keys);
    m_old_ = m_;
    m_ = m_tile_ > m_ ? m_tile_ : m_;
    close(StepKind::max, t.tile, keys);
    alpha_ = started_ ? rounded(Step::alpha, steps_.factor(m_old_ - m_), t.tile, 0) : T{1};
    share_ = rounded(Step::alpha, steps_.factor(m_tile_ - m_), t.tile, 1);
    started_ = true;
    close(StepKind::alpha, t.tile, keys);
    T sum = sum_of(job_.method.precision.sum_rounded_P ? P_ : e_, t.tile, keys);
    const T old_share = rounded(Step::rescaled, alpha_ * l_, t.tile, -1);
    sum = rounded(Step::rescaled, share_ * sum, t.tile, -2);
    l_ = rounded(Step::l, old_share + sum, t.tile, 0);
    close(StepKind::sum, t.tile, keys);
    store_P(t.tile, keys);
    std::vector<T> pv(o_.size(), T{0});
    add_values(pv, keys);
    for (int c = 0; c < job_.d; ++c) {
      T& o = o_[at(c)];
      const T part = rounded(Step::PV, pv[at(c)], c, t.tile, -1, c);
      const T mine = rounded(Step::rescaled, share_ * part, c, -1 - t.tile, -1, c);
      o = rounded(Step::rescaled, old_share * o, c, t.tile, -1, c);
      o = rounded(Step::O, (o + mine) / l_, c, t.tile, -1, c);
    }
    moved(parts_.v, count(keys) * job_.d);
    moved(parts_.of, job_.d + 2);  // O, l, m written back
    close(StepKind::output, t.tile, keys);
  }

  void flash2_tile(const RowTile<T>& t, Keys keys) {
    moved(parts_.k, count(keys) * job_.d);
    running_max(true, t.tile, keys);
    rescale_factor(t.tile, keys);
    weights(m_, t.tile, keys);
    const T sum = sum_of(job_.method.precision.sum_rounded_P ? P_ : e_, t.tile, keys);
    update_l(sum, t.tile);
    close(StepKind::sum, t.tile, keys);
    store_P(t.tile, keys);
    for (int c = 0; c < job_.d; ++c) o_[at(c)] = rounded(Step::rescaled, alpha_ * o_[at(c)], c, t.tile, -1, c);
    if (job_.flush == 0) {
      add_values(o_, keys);
      for (int c = 0; c < job_.d; ++c) o_[at(c)] = rounded(Step::O, o_[at(c)], c, t.tile, -1, c);
    } else {
      std::vector<T> pv(o_.size(), T{0});
      add_values(pv, keys);
      for (int c = 0; c < job_.d; ++c)
        o_[at(c)] = rounded(Step::O, o_[at(c)] + rounded(Step::PV, pv[at(c)], c, t.tile, -1, c), c, t.tile, -1, c);
    }
    moved(parts_.v, count(keys) * job_.d);
    close(StepKind::output, t.tile, keys);
  }

  void finish() {
    const bool normalised = normalises_P(job_.method.algorithm);
    const bool divides = !normalised && job_.method.algorithm != Algorithm::flash1;
    for (int c = 0; c < job_.d; ++c) {
      T& o = o_[at(c)];
      if (normalised && !job_.method.precision.accumulate_in_O) o = rounded(Step::PV, o, c, 0, -1, c);
      if (normalised) o = rounded(Step::O, o, c, 0, -1, c);
      o = rounded(Step::output, job_.scales.output(divides ? o / l_ : o, c), c, 0, -1, c);
    }
    if (divides) moved(parts_.of, 1);  // the log-sum-exp
    if (job_.method.algorithm != Algorithm::flash1) moved(parts_.of, job_.d);
    close(StepKind::finish, -1, {});
    same_bits_ = same_bits_ && equal(doubles(o_), run_.output);
    for (const RowTile<T>& t : run_.tiles)
      for (std::size_t i = 0; i < t.P.size(); ++i) same_bits_ = same_bits_ && same(P_[at(t.first_key) + i], t.P[i]);
  }

  // --- lines of the algorithms ----------------------------------------------------------------------------------------

  /// tile(t, its keys) for each tile; checks after each whether the kernel had the same state.
  template <class Tile>
  void each_tile(Tile tile) {
    for (const RowTile<T>& t : run_.tiles) {
      tile(t, keys_of(t));
      compare(t);
      same_bits_ = same_bits_ && equal(o_, t.O);
    }
  }

  /// Records q.k, if it is a step of its own.
  void read_scores(int tile, Keys keys) {
    reads_ += count(keys);
    if (parts_.scores) close(StepKind::scores, tile, keys);
  }

  void running_max(bool complete, int tile, Keys keys) {
    read_scores(tile, keys);
    m_old_ = m_;
    const T here = largest(keys);
    m_ = here > m_ ? here : m_;
    if (complete) m_ = rounded(Step::m, m_, tile, 0);
    if (job_.method.algorithm == Algorithm::flash4 && started_) {
      const bool exp2 = job_.method.exponential == ExponentialKind::exp2;
      const T rise = (m_ - m_old_) * (exp2 ? job_.exp2.scale : static_cast<T>(0x1.71547652b82fep+0));
      if (rise <= static_cast<T>(job_.method.tau)) m_ = m_old_;
    }
    close(StepKind::max, tile, keys);
  }

  void rescale_factor(int tile, Keys keys) {
    alpha_ = started_ ? rounded(Step::alpha, steps_.factor(m_old_ - m_), tile, 0) : T{1};
    started_ = true;
    close(StepKind::alpha, tile, keys);
  }

  void exponential_of(T m, int key) {
    const bool exp2 = job_.method.exponential == ExponentialKind::exp2;
    const T S = S_[at(key)], exponent = exp2 ? fused(S, job_.exp2.scale, -(m * job_.exp2.scale - job_.exp2.shift)) : S - m;
    const T shifted = rounded(Step::shifted, exponent, key, 0, key);
    e_[at(key)] = rounded(Step::e, (exp2 ? exponential2(shifted) : exponential(shifted)) * job_.P.lift, key, 0, key);
  }

  void weights(T m, int tile, Keys keys) {
    for (int j = keys.first; j < keys.end; ++j) {
      exponential_of(m, j);
      P_[at(j)] = parts_.stores_P ? e_[at(j)] : rounded(Step::P, e_[at(j)], j, 0, j);
    }
    close(StepKind::weights, tile, keys);
  }

  /// Stores P, with a scale if it has one; in a run without roundings P stays e.
  void store_P(int tile, Keys keys) {
    if (!parts_.stores_P) return;
    const std::size_t first = at(keys.first), size = at(count(keys));
    for (std::size_t j = first; j < first + size; ++j) P_[j] = P_[j] * job_.P.factor;
    std::vector<T> before(P_.begin() + keys.first, P_.begin() + keys.end);
    if (stored_P_)
      stored_P_->store(std::span(P_).subspan(first, size), P_quotients_.data() + first, P_elements_.data() + first,
                       P_scales_.data() + first);
    for (int j = keys.first; j < keys.end; ++j)
      numbers_.push_back({.step = Step::P,
                          .key = j,
                          .column = -1,
                          .before = static_cast<double>(before[at(j - keys.first)]),
                          .after = static_cast<double>(P_[at(j)]),
                          .exact = 0,
                          .rounds = stored_P_.has_value()});
    close(StepKind::store, tile, keys);
  }

  void normalise(Keys keys) {
    for (int j = keys.first; j < keys.end; ++j) P_[at(j)] = rounded(Step::P, e_of_the_end(j) / l_, j, 0, j);
  }
  /// e with the last m: two_pass computes it a second time.
  T e_of_the_end(int key) const {
    return job_.method.algorithm == Algorithm::three_pass ? e_[at(key)] : steps_.weight(S_[at(key)], m_, key);
  }

  T sum_of(const std::vector<T>& x, int tile, Keys keys) {
    T total = 0;
    for (int j = keys.first; j < keys.end; ++j) total = rounded(Step::l_step, total + x[at(j)], j, 0, j);
    return rounded(Step::tile_sum, total, tile, 0);
  }

  void update_l(T sum, int tile) { l_ = rounded(Step::l, rounded(Step::rescaled, alpha_ * l_, tile, -1) + sum, tile, 0); }

  void add_values(std::vector<T>& target, Keys keys) {
    if constexpr (std::is_same_v<T, float>)
      if (job_.pv_sum.accumulator != Accumulator::fma) return add_blocks(target, keys);
    for (int c = 0; c < job_.d; ++c)
      for (int j = keys.first; j < keys.end; ++j) {
        T& o = target[at(c)];
        o = rounded(Step::pv_step, fused(job_.v[j * job_.d + c], P_[at(j)], o), c, j, j, c);
      }
  }

  /// The same by a tensor core. After each key, the sum as if that key were the last.
  void add_blocks(std::vector<float>& target, Keys keys) {
    const bool by_key = job_.method.algorithm == Algorithm::three_pass;  // its blocks begin at key 0
    for (int c = 0; c < job_.d; ++c) {
      float& o = target[at(c)];
      const float start = by_key ? 0 : o;
      for (int j = keys.first; j < keys.end; ++j) {
        const int first = by_key ? 0 : keys.first;
        const double before = double{o} + double{job_.v[j * job_.d + c]} * double{P_[at(j)]};
        o = sum_of_blocks({.a = job_.v + first * job_.d + c, .b = P_.data() + first, .a_step = job_.d, .count = j + 1 - first},
                          start);
        record(
            {.step = Step::pv_step, .key = j, .column = c, .before = before, .after = double{o}, .exact = 0, .rounds = true});
      }
    }
  }
  float sum_of_blocks(const BlockFactors& all, float sum) const {
    if (job_.pv_sum.accumulator == Accumulator::f64) return next_fp64_sum(all, sum);
    sum = first_carry(job_.pv_sum, sum);
    for (int i = 0; i < all.count; i += job_.pv_sum.block) {
      BlockFactors block = all;
      block.a += i * all.a_step;
      block.b += i * all.b_step;
      block.count = std::min(job_.pv_sum.block, all.count - i);
      sum = next_sum(job_.pv_sum, block, sum);
    }
    return sum;
  }

  // --- recording ------------------------------------------------------------------------------------------------------

  /// x rounded as the kernel rounds it at (i, k), recorded as the number of `key` and `column`.
  T rounded(Step step, T x, int i, int k, int key = -1, int column = -1) {
    const T y = steps_.rounded(step, x, i, k);
    record({.step = step,
            .key = key,
            .column = column,
            .before = static_cast<double>(x),
            .after = static_cast<double>(y),
            .exact = 0,
            .rounds = job_[step].rounds()});
    return y;
  }
  void record(const RoundedNumber& made) {
    if (made.column < parts_.columns) numbers_.push_back(made);
  }

  void moved(double bytes, int elements) { moved_ += elements * bytes; }
  void read_and_close(StepKind kind, int tile, Keys keys) {
    reads_ += count(keys);
    close(kind, tile, keys);
  }
  void close(StepKind kind, int tile, Keys keys) {
    done_.push_back({.kind = kind,
                     .pass = pass_,
                     .tile = tile,
                     .keys = keys,
                     .reads = reads_,
                     .bytes = moved_,
                     .alpha = static_cast<double>(alpha_),
                     .share = static_cast<double>(share_),
                     .state = {static_cast<double>(m_), static_cast<double>(l_), shown(o_)},
                     .exact = {},
                     .numbers = std::move(numbers_)});
    numbers_.clear();
  }

  void compare(const RowTile<T>& t) { same_bits_ = same_bits_ && same(m_, t.m) && same(l_, t.l) && same(alpha_, t.alpha); }

  T largest(Keys keys) const {
    T m = -std::numeric_limits<T>::infinity();
    for (int j = keys.first; j < keys.end; ++j) m = S_[at(j)] > m ? S_[at(j)] : m;
    return m;
  }

  static Keys keys_of(const RowTile<T>& t) { return {t.first_key, t.first_key + static_cast<int>(t.S.size())}; }
  static int count(Keys keys) { return keys.end - keys.first; }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  template <class X>
  static bool same(X x, X y) {
    return x != x ? y != y : bit_as<typename Layout<X>::Bits>(x) == bit_as<typename Layout<X>::Bits>(y);
  }
  template <class X>
  static bool equal(const std::vector<X>& x, const std::vector<X>& y) {
    return std::ranges::equal(x, y, [](X a, X b) { return same(a, b); });
  }
  static std::vector<double> doubles(const std::vector<T>& x) { return {x.begin(), x.end()}; }
  /// The columns that are reported.
  std::vector<double> shown(const std::vector<T>& x) const { return {x.begin(), x.begin() + parts_.columns}; }

  const Job<T>& job_;
  const RowRun<T>& run_;
  RecordedParts parts_;
  RowSteps<T> steps_;
  std::optional<StoredWeights<T>> stored_P_;  ///< if P is scaled
  T m_ = -std::numeric_limits<T>::infinity(), m_old_ = m_, m_tile_ = m_, l_ = 0, alpha_ = 1, share_ = 1;
  bool started_ = false, same_bits_ = true;
  std::vector<T> S_, e_, P_, o_, P_quotients_, P_elements_, P_scales_;
  int pass_ = 0, reads_ = 0;
  double moved_ = 0;
  std::vector<RoundedNumber> numbers_;
  std::vector<RowStep> done_;
};

}  // namespace attoscope
