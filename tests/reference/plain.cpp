#include "tests/reference/plain.h"

#include <stdexcept>

#include "tests/reference/plain_steps.h"

namespace attoscope::plain {
namespace {

template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

template <class T>
struct State {
  explicit State(int d) : O(static_cast<std::size_t>(d)), pending(O) {}
  T m = -std::numeric_limits<T>::infinity(), l = 0, lost = 0;  // lost: Kahan's correction of l
  std::vector<T> O, pending;                                   // pending: P.V that is not in O yet
  bool started = false;
  Keys places{};
  T max_true = -std::numeric_limits<T>::infinity();
};

/// Computes one row by the method's algorithm, step by step.
template <class T>
class Attention {
 public:
  Attention(const Steps<T>& steps, int row, T known_max = -std::numeric_limits<T>::infinity())
      : steps_(steps), method_(steps.method), row_(row), places_(steps.places(row)), known_max_(known_max) {
    answer_.score_unit = static_cast<double>(steps.score_unit());
  }

  /// The row's output; 0 if the row sees no key.
  Row answer() {
    answer_.output.assign(static_cast<std::size_t>(steps_.d_v), 0.0);
    if (places_.empty()) return answer_;
    switch (method_.algorithm) {
      case Algorithm::three_pass:
        three_pass();
        break;
      case Algorithm::two_pass:
        two_pass();
        break;
      case Algorithm::split_kv:
        split_kv();
        break;
      default: {
        const auto [state, output] = online(0, tiles());
        answer_.output = output;
        keep(state, false);
      }
    }
    return answer_;
  }

 private:
  using Values = std::vector<T>;

  int block_k() const { return std::min(method_.block_k, steps_.n); }
  int tiles() const { return (steps_.n + block_k() - 1) / block_k(); }
  T rounded(Step step, T x) const { return steps_.rounded(step, x); }

  /// The places of tile t that the row sees; none: first >= end.
  Keys in_tile(int t) const { return {std::max(places_.first, t * block_k()), std::min(places_.end, (t + 1) * block_k())}; }

  /// A tile of the trace, without P and O.
  Tile noted(int t, const State<T>& state, T alpha, const Values& S, const Values& e, bool moved) {
    Tile tile;
    tile.tile = t;
    tile.seen = steps_.keys_at(state.places);
    tile.max_true = static_cast<double>(state.max_true);
    tile.m = static_cast<double>(state.m);
    tile.alpha = static_cast<double>(alpha);
    tile.l = static_cast<double>(state.l);
    tile.S = widened(S);
    tile.e = tile.before_P = tile.P = widened(e);
    tile.moved = moved;
    return tile;
  }

  /// The former m, the new m and alpha.
  struct Move {
    T old, m, alpha;
    bool moved;
  };

  /// Stores the row's last state, with the sink's share in l.
  void keep(const State<T>& state, bool merged) {
    answer_.m = static_cast<double>(state.m);
    answer_.l = static_cast<double>(steps_.with_sink(state.l, state.m, merged));
  }

  /// Updates m by the tile's max `top`.
  Move move(State<T>& state, T top, Keys places, const Values& S) {
    const T old = state.m;
    T m = top > old ? top : old;
    if (method_.algorithm != Algorithm::flash1) m = rounded(Step::m, m);
    const bool stale = method_.algorithm == Algorithm::flash4 && state.started &&
                       (m - old) * steps_.log2_scale() <= static_cast<T>(method_.tau);
    if (stale) m = old;
    const T alpha = state.started ? rounded(Step::alpha, steps_.factor(old - m)) : T{1};
    const bool moved = state.started && old > -Steps<T>::infinity && m != old;
    state.places = state.started ? Keys{state.places.first, places.end} : places;
    state.started = true;
    state.m = m;
    for (const T s : S) state.max_true = s > state.max_true ? s : state.max_true;
    return {old, m, alpha, moved};
  }

  void update_l(State<T>& state, T alpha, T tile_sum) const {
    const T l_r = rounded(Step::rescaled, alpha * state.l), lost = alpha * state.lost;
    const T y = method_.kahan_l ? tile_sum - lost : tile_sum;
    state.l = rounded(Step::l, l_r + y);
    state.lost = (state.l - l_r) - y;
  }

  // --- flash ----------------------------------------------------------------------------------------------------------

  /// `first`: the tile that the run begins with.
  void flash2_tile(State<T>& state, int t, int first, Keys places) {
    const Values S = steps_.scores(row_, places);
    const Move to = move(state, steps_.tile_max(S), places, S);
    const int index = places.first - t * block_k();
    const Values e = steps_.exponentials(S, to.m), P = steps_.P_of(e, index);
    update_l(state, to.alpha, steps_.row_sum(method_.precision.sum_rounded_P ? P : e, index));
    const int every = flush_interval(method_);
    for (int col = 0; col < steps_.d_v; ++col) {
      T& o = state.O[static_cast<std::size_t>(col)];
      T& sum = state.pending[static_cast<std::size_t>(col)];
      const T O_r = rounded(Step::rescaled, to.alpha * o);
      if (every == 0) {
        o = rounded(Step::O, steps_.weighted(P, places.first, index, col, O_r));
      } else {
        o = O_r;
        sum = steps_.weighted(P, places.first, index, col, every == 1 ? T{0} : rounded(Step::rescaled, to.alpha * sum));
      }
    }
    if (every == 1 || (every > 1 && (t - first + 1) % every == 0)) flush(state);
    State<T> seen = state;
    if (every > 1) flush(seen);
    note_flash(noted(t, state, to.alpha, S, e, to.moved), P, seen);
  }
  void flush(State<T>& state) const {
    for (std::size_t i = 0; i < state.O.size(); ++i) {
      state.O[i] = rounded(Step::O, state.O[i] + rounded(Step::PV, state.pending[i]));
      state.pending[i] = 0;
    }
  }

  void flash1_tile(State<T>& state, int t, Keys places) {
    const Values S = steps_.scores(row_, places);
    const T m_tile = rounded(Step::m, steps_.tile_max(S));
    const Move to = move(state, m_tile, places, S);
    const int index = places.first - t * block_k();
    const Values e = steps_.exponentials(S, m_tile), P = steps_.P_of(e, index);
    const T l_tile = steps_.row_sum(method_.precision.sum_rounded_P ? P : e, index);
    const T beta = rounded(Step::alpha, steps_.factor(m_tile - to.m));
    const T a_l = rounded(Step::rescaled, to.alpha * state.l), b_l = rounded(Step::rescaled, beta * l_tile);
    state.l = rounded(Step::l, a_l + b_l);
    for (int col = 0; col < steps_.d_v; ++col) {
      T& o = state.O[static_cast<std::size_t>(col)];
      const T PV = rounded(Step::PV, steps_.weighted(P, places.first, index, col));
      o = rounded(Step::O, (rounded(Step::rescaled, a_l * o) + rounded(Step::rescaled, beta * PV)) / state.l);
    }
    note_flash(noted(t, state, to.alpha, S, e, to.moved), P, state);
  }

  void note_flash(Tile tile, const Values& P, const State<T>& state) {
    tile.P = widened(P);
    tile.O = widened(state.O);
    tile.output = output(state, false);
    answer_.tiles.push_back(std::move(tile));
  }

  /// Processes tiles [first, end) from an empty state; returns the state, and the output if these are all tiles.
  std::pair<State<T>, std::vector<double>> online(int first, int end) {
    State<T> state(steps_.d_v);
    state.m = known_max_;
    for (int t = first; t < end; ++t) {
      const Keys places = in_tile(t);
      if (places.first >= places.end) continue;
      const bool restarts = !state.started;
      method_.algorithm == Algorithm::flash1 ? flash1_tile(state, t, places) : flash2_tile(state, t, first, places);
      answer_.tiles.back().restarts = restarts;
    }
    if (flush_interval(method_) > 1) flush(state);
    return {state, output(state, false)};
  }

  std::vector<double> output(const State<T>& state, bool merged) const {
    const T l = steps_.with_sink(state.l, state.m, merged);
    std::vector<double> out;
    for (int col = 0; col < steps_.d_v; ++col) {
      const T o = state.O[static_cast<std::size_t>(col)], scaled = problem_has_sink() ? o * state.l / l : o;
      const T whole = method_.algorithm == Algorithm::flash1 ? scaled : o / l;
      out.push_back(static_cast<double>(rounded(Step::output, steps_.scaled_output(whole, col))));
    }
    return out;
  }
  bool problem_has_sink() const { return steps_.problem.sink.has_value(); }

  /// Computes every run of tiles alone, then merges the runs' states.
  void split_kv() {
    const int per_run = (tiles() + method_.splits - 1) / method_.splits;
    std::vector<State<T>> runs;
    std::vector<bool> is_last;
    for (int first = 0; first < tiles(); first += per_run) {
      const auto [state, alone] = online(first, std::min(tiles(), first + per_run));
      if (!state.started) continue;
      runs.push_back(state), is_last.push_back(first + per_run >= tiles());
      answer_.output = alone;
    }
    merge(runs, is_last);
  }

  /// The runs' largest m if a mask tensor gives the row only lowest numbers: the runs' log-sum-exps leave it out; else 0.
  T lowest_of(const std::vector<State<T>>& runs) const {
    T m = -std::numeric_limits<T>::infinity();
    for (const State<T>& run : runs) m = std::max(m, run.m);
    return mask_view(steps_.problem).terms != nullptr && m < T(-0x1p24) && !std::isinf(m) ? m : T{0};
  }

  /// Merges the stored partial outputs by the log-sum-exps as the merge reads them.
  void merge(const std::vector<State<T>>& runs, const std::vector<bool>& is_last) {
    const bool reads_2 = method_.lse_base == StoredBase::two;
    const auto power = [&](T x) { return reads_2 ? exponential2(x) : exponential(x); };
    const T lowest = lowest_of(runs);
    std::vector<T> lse;
    std::vector<std::vector<T>> partial;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool in_2 = method_.lse_base == StoredBase::last_two_as_e ? is_last[i] : method_.lse_base != StoredBase::e;
      lse.push_back(steps_.log_sum_exp(runs[i].m - lowest, runs[i].l) * (in_2 ? static_cast<T>(log2_e) : T{1}));
      partial.emplace_back();
      for (const T o : runs[i].O) partial.back().push_back(steps_.rounded_as(method_.partial, o / runs[i].l));
    }
    if (runs.size() == 1 && !steps_.rounds(method_.partial)) return keep_single(runs.front());
    State<T> all(steps_.d_v);
    if (method_.merge == MergeRule::weights) {
      for (const T x : lse) all.m = std::max(all.m, x);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const T w = rounded(Step::alpha, power(lse[i] - all.m));
        all.l = rounded(Step::l, all.l + w);
        for (std::size_t c = 0; c < all.O.size(); ++c)
          all.O[c] = rounded(Step::O, all.O[c] + rounded(Step::rescaled, w * partial[i][c]));
      }
    } else {
      all.l = 1;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const T s = rounded(Step::alpha, 1 / (1 + power(all.m - lse[i])));
        for (std::size_t c = 0; c < all.O.size(); ++c)
          all.O[c] = rounded(Step::O, all.O[c] - rounded(Step::rescaled, s * (all.O[c] - partial[i][c])));
        const T high = std::max(all.m, lse[i]), low = std::min(all.m, lse[i]);
        all.m = high + logarithm(1 + power(low - high)) * (reads_2 ? static_cast<T>(log2_e) : T{1});
      }
    }
    if (reads_2) all.m *= static_cast<T>(ln_2);
    all.m += lowest * steps_.score_unit();
    answer_.output = output(all, true);
    keep(all, true);
  }
  void keep_single(const State<T>& run) {
    answer_.m = static_cast<double>(steps_.log_sum_exp(run.m, steps_.with_sink(run.l, run.m, false)));
    answer_.l = 1;
  }

  // --- P normalised before P.V ----------------------------------------------------------------------------------------

  Values normalised(const Values& e, T l) const {
    Values x;
    for (const T value : e) x.push_back(value / l);
    return x;
  }

  /// The output from O = P.V; the state's l includes the sink's share.
  std::vector<double> finished(State<T>& state) {
    answer_.m = static_cast<double>(state.m);
    answer_.l = static_cast<double>(state.l);
    std::vector<double> out;
    for (int col = 0; col < steps_.d_v; ++col) {
      T& o = state.O[static_cast<std::size_t>(col)];
      if (!method_.precision.accumulate_in_O) o = rounded(Step::PV, o);
      o = rounded(Step::O, o);
      out.push_back(static_cast<double>(rounded(Step::output, steps_.scaled_output(o, col))));
    }
    return out;
  }

  void three_pass() {
    State<T> state(steps_.d_v);
    const Values S = steps_.scores(row_, places_);
    const Move to = move(state, steps_.tile_max(S), places_, S);
    const Values e = steps_.exponentials(S, to.m);
    state.l = steps_.with_sink(rounded(Step::l, steps_.row_sum(e, places_.first)), to.m, false);
    const Values before_P = normalised(e, state.l), P = steps_.all_rounded(Step::P, before_P);
    for (int col = 0; col < steps_.d_v; ++col)
      state.O[static_cast<std::size_t>(col)] = steps_.weighted(P, places_.first, places_.first, col);
    answer_.output = finished(state);
    Tile tile = noted(0, state, to.alpha, S, e, false);
    tile.before_P = widened(before_P);
    tile.P = widened(P);
    tile.O = widened(state.O);
    tile.output = answer_.output;
    answer_.tiles.push_back(std::move(tile));
  }

  void two_pass() {
    State<T> state(steps_.d_v);
    each_tile([&](int t, Keys places) {
      const Values S = steps_.scores(row_, places);
      const Move to = move(state, steps_.tile_max(S), places, S);
      const Values e = steps_.exponentials(S, to.m);
      update_l(state, to.alpha, steps_.row_sum(e, places.first - t * block_k()));
      answer_.tiles.push_back(noted(t, state, to.alpha, S, e, to.moved));
    });
    state.l = steps_.with_sink(state.l, state.m, false);
    each_tile([&](int t, Keys places) {
      const Values e = steps_.exponentials(steps_.scores(row_, places), state.m);
      const Values P = steps_.all_rounded(Step::P, normalised(e, state.l));
      for (int col = 0; col < steps_.d_v; ++col) {
        T& o = state.O[static_cast<std::size_t>(col)];
        o = steps_.weighted(P, places.first, places.first - t * block_k(), col, o);
      }
    });
    answer_.output = finished(state);
  }

  template <class Work>
  void each_tile(Work work) const {
    for (int t = 0; t < tiles(); ++t)
      if (const Keys places = in_tile(t); places.first < places.end) work(t, places);
  }

  const Steps<T>& steps_;
  const Method& method_;
  int row_;
  Keys places_;
  T known_max_;  ///< m before the first tile
  Row answer_;
};

template <class T>
std::vector<Row> attend_in(const Experiment& experiment, const Method& method, const Tensors& inputs,
                           const std::vector<int>& rows) {
  const Steps<T> steps(experiment, method, inputs);
  std::vector<Row> answers;
  for (const int row : rows) answers.push_back(Attention<T>(steps, row).answer());
  return answers;
}

template <class T>
std::vector<Row> attend_from_last_max(const Experiment& experiment, const Method& method, const Tensors& inputs,
                                      const std::vector<int>& rows) {
  const Steps<T> steps(experiment, method, inputs);
  std::vector<Row> answers;
  for (const int row : rows) {
    const Row usual = Attention<T>(steps, row).answer();
    answers.push_back(Attention<T>(steps, row, static_cast<T>(usual.tiles.back().m)).answer());
  }
  return answers;
}

}  // namespace

std::vector<Row> attend_without_rescales(const Experiment& experiment, const Method& method, const Tensors& inputs,
                                         const std::vector<int>& rows) {
  if (method.algorithm != Algorithm::flash2) throw std::invalid_argument("the control is that of flash2");
  return works_in_double(experiment) ? attend_from_last_max<double>(experiment, method, inputs, rows)
                                     : attend_from_last_max<float>(experiment, method, inputs, rows);
}

std::vector<Row> attend(const Experiment& experiment, const Method& method, const Tensors& inputs,
                        const std::vector<int>& rows) {
  return works_in_double(experiment) ? attend_in<double>(experiment, method, inputs, rows)
                                     : attend_in<float>(experiment, method, inputs, rows);
}

Row attend(const Experiment& experiment, const Method& method, const Tensors& inputs, int row) {
  return attend(experiment, method, inputs, std::vector<int>{row}).front();
}

}  // namespace attoscope::plain
