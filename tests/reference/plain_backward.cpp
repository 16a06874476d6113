#include "tests/reference/plain_backward.h"

#include <map>
#include <numeric>

#include "kernels/arithmetic/random.h"
#include "tests/reference/plain_steps.h"

namespace attoscope::plain {
namespace {

/// A number for every query and key, row-major; numbers of keys that a query does not see are never read.
template <class T>
using Pairs = std::vector<T>;

/// Two factors of a sum.
template <class T>
struct Factors {
  std::vector<T> a, b;
};

template <class T>
class Backward {
 public:
  Backward(const Experiment& e, const Method& method, const GradMethod& grad, const Tensors& inputs,
           const OutputGradients& incoming)
      : problem_(e.problem),
        main_(e.format),
        method_(method),
        grad_(grad),
        steps_(e, method, inputs),
        n_(inputs.n),
        input_(input_format(e, method)),
        d_lse_(incoming.d_lse) {
    std::vector<int> all(static_cast<std::size_t>(n_));
    std::iota(all.begin(), all.end(), 0);
    rows_ = attend(e, method, inputs, all);
    for (const double x : incoming.d_o) d_o_.push_back(steps_.rounded(Step::input, static_cast<T>(x)));
    for (Pairs<T>* pairs : {&P_, &dP_, &dS_, &possible_})
      pairs->resize(static_cast<std::size_t>(n_) * static_cast<std::size_t>(steps_.n));
    stored_d_o_ = stored_rows(d_o_, n_, steps_.d_v, grad.scaling.dO);
    for (int row = 0; row < n_; ++row) weigh(row);
    store();
  }

  attoscope::Gradients answer() const {
    attoscope::Gradients out;
    const std::vector<int> rows = computed_rows(problem_), keys = keys_of_backward(problem_);
    out.dq = matrix(rows, steps_.d, [&](int row, int c) { return d_q(row, c); });
    out.dk = matrix(keys, steps_.d, [&](int key, int c) { return d_k(key, c); });
    out.dv = matrix(keys, steps_.d_v, [&](int key, int c) { return d_v(key, c); });
    for (const T x : delta_) out.delta.push_back(static_cast<double>(x));
    for (int row = 0; row < n_; ++row)
      out.lse.push_back(static_cast<double>(lse_[static_cast<std::size_t>(row)] + lowest_of(row)));
    out.dsink = d_sink();
    double lost = 0, count = 0;
    for (const int row : rows)
      for (int key = 0; key < steps_.n; ++key)
        if (seen(row, key)) ++count, lost += is_lost(row, key) ? 1 : 0;
    out.lost_ds = count > 0 ? lost / count : 0;
    return out;
  }

  GradientPairs pairs() const {
    GradientPairs out;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (int row = 0; row < n_; ++row)
      for (int key = 0; key < steps_.n; ++key) {
        const bool is_seen = seen(row, key);
        out.p.push_back(is_seen ? static_cast<double>(P_[pair(row, key)]) : none);
        out.dp.push_back(is_seen ? static_cast<double>(dP_[pair(row, key)]) : none);
        out.ds.push_back(is_seen ? static_cast<double>(dS_[pair(row, key)]) : none);
        out.lost.push_back(is_seen && is_lost(row, key));
      }
    return out;
  }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  T rounded(GradStep step, T x) const {
    const Rounding& r = grad_.precision[step];
    return r.kind == Rounding::Kind::exact ? x : nearest(format_of(r, main_), x);
  }
  /// The format of a number after a step.
  Format format_after(GradStep step, const Format& before) const {
    const Rounding& r = grad_.precision[step];
    return r.kind == Rounding::Kind::exact ? before : format_of(r, main_);
  }
  T scale() const { return static_cast<T>(scale_of(problem_)); }
  bool seen(int row, int key) const {
    const Keys keys = visible_keys(problem_.mask, row + steps_.first_key, steps_.n);
    return keys.first <= key && key < keys.end;
  }
  std::size_t pair(int row, int key) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(steps_.n) + static_cast<std::size_t>(key);
  }
  bool is_lost(int row, int key) const { return possible_[pair(row, key)] != 0 && dS_[pair(row, key)] == 0; }
  T d_o(int row, int c) const { return d_o_[static_cast<std::size_t>(row * steps_.d_v + c)]; }
  T stored_d_o(int row, int c) const { return stored_d_o_[static_cast<std::size_t>(row * steps_.d_v + c)]; }

  /// x plus the sum of a*b: a chain of fma rounded by `step`, or a GPU's sum of factors in `format`.
  T sum(GradStep step, Accumulator accumulator, const Format& format, const Factors<T>& f, T x) const {
    if (accumulator != Accumulator::fma) {
      const std::vector<float> a(f.a.begin(), f.a.end()), b(f.b.begin(), f.b.end());
      const TensorCoreRule rule = tensor_core_rule(gpu_of(accumulator), format, sums_of(accumulator));
      return static_cast<T>(tensor_core_dot(rule, a, b, static_cast<float>(x)));
    }
    for (std::size_t i = 0; i < f.a.size(); ++i) x = rounded(step, std::fma(f.a[i], f.b[i], x));
    return x;
  }

  // --- a pair -----------------------------------------------------------------------------------------------------------

  /// m of a row with only lowest numbers of a mask tensor, where P and L leave m out; else 0.
  T lowest_of(int row) const {
    const auto m = static_cast<T>(rows_[static_cast<std::size_t>(row)].m);
    return mask_view(problem_).terms != nullptr && m < T(-0x1p24) && m > -infinity ? m : T{0};
  }
  T sum_over_keys(int row, T m) const {
    T l = problem_.sink ? exponential(static_cast<T>(*problem_.sink) - m) : T{0};
    for (int key = 0; key < steps_.n; ++key)
      if (seen(row, key)) l = l + exponential(steps_.score(row, key) - m);
    return l;
  }

  /// L without the lowest number that a mask tensor adds to all keys of the row.
  T log_sum_exp(int row) const {
    const T lowest = lowest_of(row), m = static_cast<T>(rows_[static_cast<std::size_t>(row)].m) - lowest,
            l = lowest < 0 && method_.algorithm == Algorithm::split_kv ? sum_over_keys(row, lowest)
                                                                       : static_cast<T>(rows_[static_cast<std::size_t>(row)].l);
    if (method_.algorithm == Algorithm::split_kv) return rounded(GradStep::lse, m + logarithm(l));
    return rounded(GradStep::lse, std::fma(m, steps_.score_unit(), logarithm(l) - steps_.log_lift()));
  }

  /// K times scale and log2 e, from which the scores are recomputed if the scale is on K.
  T scaled_K(int key, int c) const {
    return rounded(GradStep::scaled_K, steps_.K(key, c) * static_cast<T>(scale_of(problem_) * log2_e));
  }
  T score_of_scaled_K(int row, int key) const {
    std::vector<T> q, k;
    for (int c = 0; c < steps_.d; ++c) q.push_back(steps_.Q(row, c)), k.push_back(scaled_K(key, c));
    return steps_.inner(Step::qk_step, q, k, 0);
  }

  T probability(int row, int key, T L) const {
    const T log2_L = L * static_cast<T>(log2_e);
    if (normalises_P(method_.algorithm)) {
      const Row& own = rows_[static_cast<std::size_t>(row)];
      const T e = steps_.exponentials({steps_.score(row, key)}, static_cast<T>(own.m))[0];
      return steps_.rounded(Step::P, e / static_cast<T>(own.l));
    }
    if (grad_.scale_at == ScaleAt::K) return exponential2(score_of_scaled_K(row, key) - log2_L);
    const T S = steps_.score(row, key) - lowest_of(row), unit = steps_.score_unit();
    switch (grad_.exponential) {
      case GradExponential::natural:
        return exponential(std::fma(S, unit, -L));
      case GradExponential::exp2:
        return exponential2(std::fma(S, steps_.c(), -log2_L));
      case GradExponential::exp2_twice:
        return exponential2((S * unit) * static_cast<T>(log2_e) - log2_L);
    }
    return 0;
  }

  /// Factor of dS under a soft cap.
  T derivative_of_cap(int row, int key) const {
    const T t = steps_.capped_score(row, key) / static_cast<T>(problem_.softcap);
    return std::fma(-t, t, T{1});
  }

  T d_P(int row, int key) const {
    Factors<T> f;
    for (int c = 0; c < steps_.d_v; ++c) f.a.push_back(stored_d_o(row, c)), f.b.push_back(steps_.V(key, c));
    return rounded(GradStep::dP, sum(GradStep::dp_step, grad_.accumulator.dP, input_, f, 0));
  }

  /// P and dS of a row.
  void weigh(int row) {
    const Keys keys = visible_keys(problem_.mask, row + steps_.first_key, steps_.n);
    delta_.push_back(0);
    lse_.push_back(keys.empty() ? -infinity : log_sum_exp(row));
    if (keys.empty()) return;
    std::map<int, T> P, dP;
    for (int key = keys.first; key < keys.end; ++key) {
      P[key] = rounded(GradStep::probability, probability(row, key, lse_.back()));
      dP[key] = d_P(row, key);
    }
    Factors<T> f;
    if (grad_.precision.delta_from == DeltaFrom::probabilities)
      for (const auto& [key, p] : P) f.a.push_back(p), f.b.push_back(dP[key]);
    else
      for (int c = 0; c < steps_.d_v; ++c) {
        f.a.push_back(d_o(row, c));
        f.b.push_back(static_cast<T>(rows_[static_cast<std::size_t>(row)].output[static_cast<std::size_t>(c)]));
      }
    T x = sum(GradStep::delta_step, Accumulator::fma, fp32, f, 0);
    if (!d_lse_.empty()) x = x - static_cast<T>(d_lse_[static_cast<std::size_t>(row)]);
    const T delta = delta_.back() = rounded(GradStep::delta, x);
    for (const auto& [key, p] : P) {
      T y = p * rounded(GradStep::centred, dP[key] - delta);
      const bool is_flat = problem_.softcap != 0 && derivative_of_cap(row, key) == 0;
      possible_[pair(row, key)] = p != 0 && dP[key] != delta && !is_flat ? T{1} : T{0};
      dP_[pair(row, key)] = dP[key];
      if (problem_.softcap != 0) y = y * derivative_of_cap(row, key);
      if (grad_.scale_at == ScaleAt::dS) y = y * scale();
      dS_[pair(row, key)] = rounded(GradStep::dS, y);
      P_[pair(row, key)] = rounded(GradStep::P, p);
    }
  }

  // --- storage with scales ------------------------------------------------------------------------------------------------

  /// A matrix stored as Q is: blocks along its columns.
  std::vector<T> stored_rows(const std::vector<T>& x, int rows, int columns, const Scaling& s) const {
    Method m;
    m.scaling.Q = s;
    Stored<T> y = stored<T>(x, {}, {}, {rows, 0, columns, 0}, m, main_, 0);
    for (std::size_t i = 0; i < y.q.size() && !y.row_factor.empty(); ++i)
      y.q[i] = y.q[i] * y.row_factor[i / static_cast<std::size_t>(columns)];
    return y.q;
  }
  /// A matrix stored as V is: blocks along its rows.
  std::vector<T> stored_columns(const std::vector<T>& x, int rows, int columns, const Scaling& s) const {
    Method m;
    m.scaling.V = s;
    Stored<T> y = stored<T>({}, {}, x, {0, rows, 0, columns}, m, main_, 0);
    for (std::size_t i = 0; i < y.v.size() && !y.o_factor.empty(); ++i)
      y.v[i] = y.v[i] * y.o_factor[i % static_cast<std::size_t>(columns)];
    return y.v;
  }
  /// The numbers of x, each tile stored separately.
  template <class Store>
  Pairs<T> stored_tiles(const Pairs<T>& x, Store store) const {
    Pairs<T> y(x.size());
    for (int row0 = 0; row0 < n_; row0 += block_q())
      for (int key0 = 0; key0 < steps_.n; key0 += block_k()) {
        const int rows = std::min(block_q(), n_ - row0), keys = std::min(block_k(), steps_.n - key0);
        std::vector<T> tile;
        const auto at = [&](int i) { return pair(row0 + i / keys, key0 + i % keys); };
        for (int i = 0; i < rows * keys; ++i) tile.push_back(x[at(i)]);  // 0 where a key is not seen
        tile = store(tile, rows, keys);
        for (int i = 0; i < rows * keys; ++i) y[at(i)] = tile[static_cast<std::size_t>(i)];
      }
    return y;
  }
  /// Stores P and dS with their scales; dS_of_dK_ comes from the dS that is not yet stored for dQ.
  void store() {
    const auto by = [&](bool rows, const Scaling& s) {
      return [this, rows, &s](const std::vector<T>& tile, int n, int keys) {
        return rows ? stored_rows(tile, n, keys, s) : stored_columns(tile, n, keys, s);
      };
    };
    const GradScalings& s = grad_.scaling;
    dS_of_dK_ = dS_;
    if (s.P.is_on()) P_ = stored_tiles(P_, by(false, s.P));
    if (s.dS.is_on()) dS_ = stored_tiles(dS_, by(true, s.dS));
    dS_of_dK_ = s.dS_of_dK.is_on() ? stored_tiles(dS_of_dK_, by(false, s.dS_of_dK)) : dS_;
  }

  // --- products -----------------------------------------------------------------------------------------------------------

  int block_q() const { return std::min(grad_.block_q, n_); }
  int block_k() const { return std::min(grad_.block_k, steps_.n); }
  int key_tiles() const { return (steps_.n + block_k() - 1) / block_k(); }

  T factor_of_dQ() const {
    if (grad_.scale_at == ScaleAt::dS) return 1;
    return grad_.scale_at == ScaleAt::K ? static_cast<T>(ln_2) : scale();
  }

  /// The key tile's share of dQ; none if the row sees no key of the tile.
  std::optional<T> tile_of_dQ(int row, int c, int tile) const {
    Factors<T> f;
    bool any = false;
    for (int key = tile * block_k(); key < std::min((tile + 1) * block_k(), steps_.n); ++key) {
      any = any || seen(row, key);
      add(f, grad_.accumulator.dQ, seen(row, key), dS_[pair(row, key)],
          grad_.scale_at == ScaleAt::K ? scaled_K(key, c) : steps_.K(key, c));
    }
    if (!any) return {};
    return rounded(GradStep::dq_tile, sum(GradStep::dq_step, grad_.accumulator.dQ, format_after(GradStep::dS, fp32), f, 0));
  }
  /// Adds a pair to the factors; an unseen pair is 0 in a tensor core and absent in a chain of fma.
  void add(Factors<T>& f, Accumulator accumulator, bool is_seen, T x, T y) const {
    if (!is_seen && accumulator == Accumulator::fma) return;
    f.a.push_back(is_seen ? x : T{0});
    f.b.push_back(is_seen ? y : T{0});
  }

  /// The key tiles in the order in which the row's query tile adds them.
  std::vector<int> order_of_tiles(int row) const {
    std::vector<int> order(static_cast<std::size_t>(key_tiles()));
    std::iota(order.begin(), order.end(), 0);
    if (grad_.order == GradOrder::descending) std::ranges::reverse(order);
    if (grad_.order == GradOrder::shuffled)
      for (std::size_t x = order.size() - 1; x >= 1; --x) {
        const auto u = static_cast<std::uint64_t>(row / block_q());
        const std::uint64_t r = philox<std::uint64_t>(x, u, 0, grad_.order_seed).x[0];
        std::swap(order[x], order[r % (x + 1)]);
      }
    return order;
  }

  T d_q(int row, int c) const {
    const std::size_t count = grad_.order == GradOrder::buffers ? static_cast<std::size_t>(grad_.buffers) : 1;
    std::vector<std::optional<T>> buffers(count);
    const auto take = [&](std::optional<T>& sum, std::optional<T> x) {
      if (x) sum = sum ? rounded(GradStep::dq_sum, *sum + *x) : *x;
    };
    for (const int tile : order_of_tiles(row)) take(buffers[static_cast<std::size_t>(tile) % count], tile_of_dQ(row, c, tile));
    std::optional<T> sum;
    for (const std::optional<T>& buffer : buffers) take(sum, buffer);
    return sum ? rounded(GradStep::dQ, factor_of_dQ() * *sum) : T{0};
  }

  /// Sum of x times y(row) over the queries that see `key`, tile by tile; none without queries.
  template <class Y>
  std::optional<T> over_queries(int key, const Pairs<T>& x, GradStep step, Accumulator accumulator, const Format& format,
                                Y y) const {
    const int tiles = (n_ + block_q() - 1) / block_q();
    std::optional<T> total;
    for (int i = 0; i < tiles; ++i) {
      const int tile = grad_.last_queries_first ? tiles - 1 - i : i;
      Factors<T> f;
      bool any = false;
      for (int row = tile * block_q(); row < std::min((tile + 1) * block_q(), n_); ++row) {
        any = any || seen(row, key);
        add(f, accumulator, seen(row, key), x[pair(row, key)], y(row));
      }
      if (any) total = sum(step, accumulator, format, f, total.value_or(T{0}));
    }
    return total;
  }
  T d_v(int key, int c) const {
    const std::optional<T> x = over_queries(key, P_, GradStep::dv_step, grad_.accumulator.dV, format_after(GradStep::P, fp32),
                                            [&](int row) { return stored_d_o(row, c); });
    return x ? rounded(GradStep::dV, *x) : T{0};
  }
  T d_k(int key, int c) const {
    const std::optional<T> x = over_queries(key, dS_of_dK_, GradStep::dk_step, grad_.accumulator.dK,
                                            format_after(GradStep::dS, fp32), [&](int row) { return steps_.Q(row, c); });
    return x ? rounded(GradStep::dK, (grad_.scale_at == ScaleAt::dS ? T{1} : scale()) * *x) : T{0};
  }

  double d_sink() const {
    if (!problem_.sink) return 0;
    T sum = 0;
    for (std::size_t row = 0; row < delta_.size(); ++row)
      if (!rows_[row].tiles.empty()) sum = std::fma(exponential(static_cast<T>(*problem_.sink) - lse_[row]), delta_[row], sum);
    return static_cast<double>(-sum);
  }

  template <class Number>
  static Matrix matrix(const std::vector<int>& rows, int columns, Number number) {
    Matrix m{static_cast<int>(rows.size()), columns, {}};
    for (const int row : rows)
      for (int c = 0; c < columns; ++c) m.values.push_back(static_cast<double>(number(row, c)));
    return m;
  }

  const Problem& problem_;
  const Format& main_;
  const Method& method_;
  const GradMethod& grad_;
  const Steps<T> steps_;
  const int n_;         ///< queries
  const Format input_;  ///< of Q, K, V and dO
  const std::vector<double>& d_lse_;
  std::vector<Row> rows_;
  std::vector<T> d_o_, stored_d_o_, delta_, lse_;
  Pairs<T> P_, dP_, dS_, dS_of_dK_;
  Pairs<T> possible_;  ///< 1 where the exact dS is not 0
};

}  // namespace

std::vector<int> keys_of_backward(const Problem& p) {
  const int n_k = key_count(p), count = p.rows > 0 && p.rows < n_k ? p.rows : n_k;
  std::vector<int> keys;
  for (std::int64_t i = 0; i < count; ++i) keys.push_back(static_cast<int>(i * n_k / count));
  return keys;
}

attoscope::Gradients backward(const Experiment& e, const Method& method, const GradMethod& grad, const Tensors& inputs,
                              const OutputGradients& incoming) {
  return works_in_double(e) ? Backward<double>(e, method, grad, inputs, incoming).answer()
                            : Backward<float>(e, method, grad, inputs, incoming).answer();
}

GradientPairs backward_pairs(const Experiment& e, const Method& method, const GradMethod& grad, const Tensors& inputs,
                             const OutputGradients& incoming) {
  return works_in_double(e) ? Backward<double>(e, method, grad, inputs, incoming).pairs()
                            : Backward<float>(e, method, grad, inputs, incoming).pairs();
}

}  // namespace attoscope::plain
