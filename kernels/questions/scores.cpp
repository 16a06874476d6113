#include "kernels/questions/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/recurrence/prefix_golden.h"
#include "kernels/recurrence/row_steps.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// flash1's factor of a tile's P.V: round(exp(m~ - m)); m~ is the tile's own max as stored.
template <class T>
T tile_share(const Job<T>& job, const RowSteps<T>& steps, const RowTile<T>& tile) {
  T m = -std::numeric_limits<T>::infinity();
  for (const T s : tile.S) m = s > m ? s : m;
  const bool tied = job.method.tie_beta != 0 && std::count(tile.S.begin(), tile.S.end(), m) > 1;
  if (tied && m > T{0}) m = static_cast<T>(job.method.tie_beta) * m;
  if (tied && m < T{0} && std::isfinite(m)) m = T{0};
  return steps.rounded(Step::alpha, steps.factor(steps.rounded(Step::m, m, tile.tile, 0) - tile.m), tile.tile, 1);
}

/// Factor of each tile's P.V in the final state of its run: the product of the later alphas.
template <class T>
std::vector<double> kept_shares(const Job<T>& job, const RowSteps<T>& steps, const std::vector<RowTile<T>>& tiles) {
  std::vector<double> shares(tiles.size());
  double later = 1;
  for (std::size_t i = tiles.size(); i-- > 0;) {
    shares[i] =
        job.method.algorithm == Algorithm::flash1 ? later * static_cast<double>(tile_share(job, steps, tiles[i])) : later;
    later = tiles[i].restarts ? 1 : later * static_cast<double>(tiles[i].alpha);
  }
  return shares;
}

/// Last tile of every run.
template <class T>
std::vector<const RowTile<T>*> run_ends(const std::vector<RowTile<T>>& tiles) {
  std::vector<const RowTile<T>*> ends;
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (i + 1 == tiles.size() || tiles[i + 1].restarts) ends.push_back(&tiles[i]);
  return ends;
}

/// Final factor of each run's O: 1/l, or its share in the merge by log-sum-exp.
template <class T>
std::vector<double> run_shares(const Job<T>& job, const RowSteps<T>& steps, const std::vector<const RowTile<T>*>& ends) {
  if (ends.size() == 1) return {1 / static_cast<double>(steps.divisor(ends[0]->l, ends[0]->m))};
  const int per_run = tiles_of_a_run(job.method, job.n), last_run = ((job.n - 1) / job.method.block_k) / per_run;
  const bool one_by_one = job.method.merge == MergeRule::sigmoid, base_2 = job.method.lse_base == StoredBase::two;
  T lowest = -std::numeric_limits<T>::infinity();  // for rows that see only a mask tensor's lowest numbers, as in the lanes
  for (const RowTile<T>* end : ends) lowest = std::max(lowest, end->m);
  if (job.mask_tensor.terms == nullptr || !(lowest < T(-0x1p24)) || std::isinf(lowest)) lowest = 0;
  const auto lse_of = [&](const RowTile<T>* end) {
    return steps.log_sum_exp(end->m - lowest, end->l, end->tile / per_run == last_run);
  };
  T m = -std::numeric_limits<T>::infinity(), l = one_by_one ? 1 : 0;
  for (const RowTile<T>* end : ends)
    if (const T lse = lse_of(end); !one_by_one && lse > m) m = lse;
  std::vector<double> shares;
  for (const RowTile<T>* end : ends) {
    const int run = end->tile / per_run;
    const T lse = lse_of(end), high = std::max(m, lse), low = std::min(m, lse);
    const T part = one_by_one ? 1 / (1 + steps.merge_weight(m - lse)) : steps.merge_weight(lse - m);
    const T w = steps.rounded(Step::alpha, part, 0, -2 - run);
    if (one_by_one) {
      for (double& share : shares) share *= 1 - static_cast<double>(w);
      m = high + logarithm(1 + steps.merge_weight(low - high)) * (base_2 ? log2_e<T> : T{1});
    } else {
      l = steps.rounded(Step::l, l + w, run, -2);
    }
    shares.push_back(static_cast<double>(w) / static_cast<double>(end->l));
  }
  l = steps.divisor(l, (base_2 ? m * ln_2<T> : m) + lowest * job.exp2.score_unit, true);
  for (double& share : shares) share /= static_cast<double>(l);
  return shares;
}

/// Factor from each tile's P to the weight that multiplies V.
template <class T>
std::vector<double> shares(const Job<T>& job, int row, const std::vector<RowTile<T>>& tiles) {
  if (tiles.empty() || normalises_P(job.method.algorithm)) return std::vector<double>(tiles.size(), 1.0);
  const RowSteps<T> steps(job, row);
  std::vector<double> all = kept_shares(job, steps, tiles);
  const std::vector<double> runs = run_shares(job, steps, run_ends(tiles));
  for (std::size_t i = 0, run = 0; i < all.size(); ++i) {
    run += i > 0 && tiles[i].restarts;
    all[i] *= runs[run] / static_cast<double>(job.scales.P_factor);
  }
  return all;
}

/// exp(x - m); in double if x or m is not finite.
template <class G>
G shifted_exponential(const G& x, const G& m) {
  using Golden = PrefixGolden<G>;
  if (std::isfinite(Golden::high(x)) && std::isfinite(Golden::high(m))) return exponential(x - m);
  return Golden::from(exponential(Golden::high(x) - Golden::high(m)));
}

/// Softmax over the keys that the row sees, in precision G; the sum includes the sink.
template <class G>
std::vector<double> true_weights(const Job<double>& golden, int row, const StopSign& stop) {
  using Golden = PrefixGolden<G>;
  const Keys keys = golden.keys_of(row);
  const double* q = golden.q + static_cast<std::ptrdiff_t>(row) * golden.d;
  std::vector<G> S;
  G m = Golden::from(-std::numeric_limits<double>::infinity());
  for (int key = keys.first; key < keys.end; ++key) {
    if (key % 64 == 0) stop.check();
    const double* k = golden.k + static_cast<std::ptrdiff_t>(key) * golden.d;
    S.push_back(Golden::score(q, k, golden, row, key));
    if (Golden::high(S.back()) > Golden::high(m)) m = S.back();
  }
  G l = Golden::from(0);
  for (G& s : S) {
    s = shifted_exponential(s, m);
    l = l + s;
  }
  const bool sink_is_all = golden.has_sink && golden.sink - Golden::high(m) > 700;
  if (golden.has_sink && !sink_is_all) l = l + shifted_exponential(Golden::from(golden.sink), m);
  std::vector<double> weights;
  for (const G& e : S)
    weights.push_back(sink_is_all ? Golden::high(e) * exponential(Golden::high(m) - golden.sink) : Golden::high(e / l));
  return weights;
}

template <class T>
class WindowMaker {
 public:
  WindowMaker(ScoreWindow& window, const StopSign& stop) : window_(window), stop_(stop) {}

  void fill() {
    parallel_for_single(0, window_.question.rows, [&](int i) {
      stop_.check();
      fill_a(i);
      fill_golden(i);
    });
  }

 private:
  /// Index of `key` in the window's i-th row; -1 if it is outside, or if a mask tensor drops it there.
  std::ptrdiff_t place(int i, int key) const {
    const ScoreQuestion& q = window_.question;
    const int column = key - q.first_key;
    if (column < 0 || column >= q.keys) return -1;
    if (mask_.terms != nullptr && mask_.drops(q.first_row + i, key)) return -1;
    return static_cast<std::ptrdiff_t>(i) * q.keys + column;
  }

  void fill_a(int i) {
    const Job<T>& job = a_.job();
    const int row = window_.question.first_row + i;
    const std::vector<RowTile<T>> tiles = row_run(job, row, stop_).tiles;
    const std::vector<double> share = shares(job, row, tiles);
    for (std::size_t t = 0; t < tiles.size(); ++t)
      for (std::size_t j = 0; j < tiles[t].S.size(); ++j) {
        const int stored = tiles[t].first_key + static_cast<int>(j);
        const std::ptrdiff_t at = place(i, job.reversed ? job.n - 1 - stored : stored);
        if (at < 0) continue;
        window_.S[static_cast<std::size_t>(at)] = static_cast<float>(tiles[t].S[j] * job.exp2.score_unit);
        window_.P[static_cast<std::size_t>(at)] = static_cast<float>(static_cast<double>(tiles[t].P[j]) * share[t]);
      }
  }

  void fill_golden(int i) {
    constexpr bool precise = std::is_same_v<T, double>;
    using G = std::conditional_t<precise, DD<double>, double>;
    const int row = window_.question.first_row + i, first = golden_.keys_of(row).first;
    const std::vector<double> weights = true_weights<G>(golden_, row, stop_);
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (const std::ptrdiff_t at = place(i, first + static_cast<int>(j)); at >= 0)
        window_.weight[static_cast<std::size_t>(at)] = static_cast<float>(weights[j]);
  }

  ScoreWindow& window_;
  const StopSign& stop_;
  const Experiment& e_ = window_.question.experiment;
  const MaskView mask_ = mask_view(e_.problem);
  MethodRows<T> a_{e_, false, stop_};
  std::shared_ptr<const Tensors> inputs_ = as_tensors(a_.given(), shape_of(e_.problem), stop_);
  Job<double> golden_ = golden_job(e_.problem, *inputs_);
};

void check_axis(const char* name, int first, int count, int n) {
  if (first >= 0 && count > 0 && count <= n && first <= n - count) return;
  throw std::invalid_argument("scores: the window begins at " + std::string(name) + " " + std::to_string(first) + " and has " +
                              std::to_string(count) + ", expected at least one, within 0 .. " + std::to_string(n - 1));
}

}  // namespace

void check_window(const ScoreQuestion& q) {
  check_axis("row", q.first_row, q.rows, q.experiment.problem.n);
  check_axis("key", q.first_key, q.keys, key_count(q.experiment.problem));
  if (static_cast<std::int64_t>(q.rows) * q.keys > max_window_cells)
    throw std::invalid_argument("scores: the window has " + std::to_string(static_cast<std::int64_t>(q.rows) * q.keys) +
                                " cells, expected at most " + std::to_string(max_window_cells));
}

ScoreWindow scores(const ScoreQuestion& q, const Options& options) {
  refuse(q.experiment, options.threads);
  check_window(q);
  if (!is_emulated(q.experiment.a.algorithm))
    throw std::invalid_argument("scores: method a is `" + std::string(name(q.experiment.a.algorithm)) +
                                "`, which shows no scores; expected an emulated algorithm");
  ScoreWindow window{.question = q, .S = {}, .P = {}, .weight = {}};
  const std::size_t cells = at(q.rows) * at(q.keys);
  for (auto* x : {&window.S, &window.P, &window.weight}) x->assign(cells, std::numeric_limits<float>::quiet_NaN());
  const StopToken stop(options);
  on_threads(options.threads, [&] {
    works_in_double(q.experiment) ? WindowMaker<double>(window, stop).fill() : WindowMaker<float>(window, stop).fill();
  });
  return window;
}

}  // namespace attoscope
