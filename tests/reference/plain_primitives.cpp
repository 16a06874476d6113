#include "tests/reference/plain_primitives.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/random.h"

namespace attoscope::plain {
namespace {

template <class T>
T rounded_by(const RounderPlan<T>& plan, T x) {
  return plan.rounds() ? round(plan.format, x) : x;
}

/// The sum over the channels of a token; step(i, chain) is a chain after channel i.
template <class T, class Step>
T channel_sum(int count, Step step) {
  T chain[16] = {};
  for (int i = 0; i < count; ++i) chain[i % 16] = step(i, chain[i % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int c = 0; c < half; ++c) chain[c] += chain[c + half];
  return chain[0];
}

/// The sum over 0 .. count in pieces.
template <class T, class Step>
T token_sum(int count, int piece, Step step) {
  std::vector<T> sums;
  for (int i = 0; i < count; ++i) {
    if (i % (piece > 0 ? piece : count) == 0) sums.push_back(0);
    sums.back() = step(i, sums.back());
  }
  return std::accumulate(sums.begin() + 1, sums.end(), sums.front());
}

// --- attention ----------------------------------------------------------------------------------------------------------

/// One head of one sequence; the method's `input` step rounds its inputs, row-major context x d.
template <class T>
class Head {
 public:
  using Values = std::vector<T>;

  Head(const HeadBatch<T>& heads, int sequence, int head)
      : heads_(heads),
        rule_(heads.rules[head]),
        job_(rule_.job),
        n_(heads.context),
        d_(heads.d),
        first_(static_cast<std::int64_t>(sequence) * n_ * heads.row_stride + static_cast<std::int64_t>(head) * d_),
        statistics_(static_cast<std::int64_t>(sequence * heads.heads + head) * n_),
        q_(taken(heads.q)),
        k_(taken(heads.k)),
        v_(taken(heads.v)) {
    const Method& m = job_.method;
    const bool known = (m.algorithm == Algorithm::flash2 || m.algorithm == Algorithm::three_pass) && !job_.reversed &&
                       m.exponential == ExponentialKind::natural && m.order == SumOrder::sequential && m.tie_beta == 0 &&
                       m.p_exponent == 0 && !m.kahan_l;
    if (!known) throw std::invalid_argument("no plain attention of this kind");
  }

  void forward() {
    for (int row = 0; row < n_; ++row) rule_.normalises ? three_pass(row) : flash2(row);
  }

  void backward(const HeadGradient<T>& g) {
    for (int row = 0; row < n_; ++row) {
      const Values O = line(heads_.o, row), d_O = line(g.d_o, row), P = weights(row);
      Values dP;
      for (int key = 0; key <= row; ++key) dP.push_back(r(GradStep::dP, chain(GradStep::dp_step, d_O, line(v_, key))));
      const bool from_O = rule_.delta_from == DeltaFrom::output;
      const T delta = r(GradStep::delta, from_O ? chain(GradStep::delta_step, d_O, O) : chain(GradStep::delta_step, P, dP));
      for (int key = 0; key <= row; ++key) {
        const auto j = static_cast<std::size_t>(key);
        dS_.push_back(r(GradStep::dS, P[j] * r(GradStep::centred, dP[j] - delta)));
        P_.push_back(r(GradStep::P, P[j]));
      }
    }
    for (int row = 0; row < n_; ++row)
      for (int col = 0; col < d_; ++col) write_gradients(g, row, col);
  }

 private:
  T r(Step step, T x) const { return rounded_by(job_[step], x); }
  T r(GradStep step, T x) const { return rounded_by(rule_[step], x); }
  T scale() const { return job_.scale; }

  Values taken(const T* x) const {
    Values values;
    for (int row = 0; row < n_; ++row)
      for (const T value : line(x, row)) values.push_back(r(Step::input, value));
    return values;
  }
  Values line(const T* x, int row) const {
    const T* start = x + first_ + row * heads_.row_stride;
    return {start, start + d_};
  }
  Values line(const Values& x, int row) const { return {x.begin() + row * d_, x.begin() + (row + 1) * d_}; }
  T of(const Values& x, int row, int col) const { return x[static_cast<std::size_t>(row * d_ + col)]; }
  /// The index of (row, key) in arrays of visible pairs.
  static std::size_t pair(int row, int key) { return static_cast<std::size_t>(row * (row + 1) / 2 + key); }

  template <class AnyStep>
  T chain(AnyStep step, const Values& a, const Values& b, T start = 0) const {
    for (std::size_t i = 0; i < a.size(); ++i) start = r(step, std::fma(a[i], b[i], start));
    return start;
  }
  T score(int row, int key) const { return r(Step::S, scale() * chain(Step::qk_step, line(q_, row), line(k_, key))); }
  Values scores(int row, int first, int end) const {
    Values S;
    for (int key = first; key < end; ++key) S.push_back(score(row, key));
    return S;
  }
  T shifted_exponential(T S, T m) const { return r(Step::e, exponential(r(Step::shifted, S - m))); }
  T sum(const Values& e) const { return r(Step::tile_sum, chain(Step::l_step, e, Values(e.size(), 1))); }
  T product_with_v(const Values& P, int first, int col, T start) const {
    Values column;
    for (std::size_t j = 0; j < P.size(); ++j) column.push_back(of(v_, first + static_cast<int>(j), col));
    return chain(Step::pv_step, P, column, start);
  }
  static T larger(const Values& S, T m) {
    for (const T s : S) m = s > m ? s : m;
    return m;
  }
  void store(int row, int col, T o) { heads_.o[first_ + row * heads_.row_stride + col] = r(Step::output, o); }
  void store_statistics(int row, T m, T l) {
    heads_.m[statistics_ + row] = m;
    heads_.l[statistics_ + row] = l;
  }

  void flash2(int row) {
    const Precision& precision = job_.method.precision;
    T m = -std::numeric_limits<T>::infinity(), l = 0;
    Values O(static_cast<std::size_t>(d_));
    for (int first = 0; first <= row; first += job_.method.block_k) {
      const Values S = scores(row, first, std::min(row + 1, first + job_.method.block_k));
      const T m_old = m;
      m = r(Step::m, larger(S, m));
      const T alpha = first == 0 ? 1 : r(Step::alpha, exponential(m_old - m));
      Values e, P;
      for (const T s : S) {
        e.push_back(shifted_exponential(s, m));
        P.push_back(r(Step::P, e.back()));
      }
      l = r(Step::l, r(Step::rescaled, alpha * l) + sum(precision.sum_rounded_P ? P : e));
      for (int col = 0; col < d_; ++col) {
        T& o = O[static_cast<std::size_t>(col)];
        const T kept = r(Step::rescaled, alpha * o);
        o = r(Step::O, precision.accumulate_in_O ? product_with_v(P, first, col, kept)
                                                 : kept + r(Step::PV, product_with_v(P, first, col, 0)));
      }
    }
    store_statistics(row, m, l);
    for (int col = 0; col < d_; ++col) store(row, col, O[static_cast<std::size_t>(col)] / l);
  }

  void three_pass(int row) {
    const Values S = scores(row, 0, row + 1);
    const T m = r(Step::m, larger(S, -std::numeric_limits<T>::infinity()));
    Values e, P;
    for (const T s : S) e.push_back(shifted_exponential(s, m));
    const T l = r(Step::l, sum(e));
    for (const T x : e) P.push_back(r(Step::P, x / l));
    store_statistics(row, m, l);
    for (int col = 0; col < d_; ++col) {
      const T o = product_with_v(P, 0, col, 0);
      store(row, col, r(Step::O, job_.method.precision.accumulate_in_O ? o : r(Step::PV, o)));
    }
  }

  /// P of a row as the backward pass recomputes it.
  Values weights(int row) const {
    const T m = heads_.m[statistics_ + row], l = heads_.l[statistics_ + row], L = m + logarithm(l);
    Values P;
    for (const T S : scores(row, 0, row + 1))
      P.push_back(r(GradStep::probability, rule_.normalises ? r(Step::P, shifted_exponential(S, m) / l) : exponential(S - L)));
    return P;
  }

  /// Gradients of one element of q, k and v.
  void write_gradients(const HeadGradient<T>& g, int token, int col) const {
    T d_q = 0, d_k = 0, d_v = 0;
    for (int key = 0; key <= token; ++key) d_q = r(GradStep::dq_step, std::fma(dS_[pair(token, key)], of(k_, key, col), d_q));
    for (int row = token; row < n_; ++row) {
      d_v = r(GradStep::dv_step, std::fma(P_[pair(row, token)], line(g.d_o, row)[static_cast<std::size_t>(col)], d_v));
      d_k = r(GradStep::dk_step, std::fma(dS_[pair(row, token)], of(q_, row, col), d_k));
    }
    const std::int64_t at = first_ + token * heads_.row_stride + col;
    g.d_q[at] = r(GradStep::dQ, scale() * d_q);
    g.d_k[at] = r(GradStep::dK, scale() * d_k);
    g.d_v[at] = r(GradStep::dV, d_v);
  }

  const HeadBatch<T>& heads_;
  const HeadRule<T>& rule_;
  const Job<T>& job_;
  int n_, d_;
  std::int64_t first_, statistics_;
  Values q_, k_, v_, P_, dS_;  ///< P_, dS_ by `pair`
};

// --- everything else ----------------------------------------------------------------------------------------------------

constexpr long double root = 0.79788456080286535587989L;  // sqrt(2/pi)

template <class T>
T decay(T x) {
  return exponential(std::fma((x * x) * x, static_cast<T>(0.044715L), x) * static_cast<T>(-2 * root));
}

}  // namespace

template <class T>
void* Device<T>::allocate(std::size_t bytes) {
  void* memory = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{64});
  std::memset(memory, 0, bytes);
  return memory;
}

template <class T>
void Device<T>::release(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t{64});
}
template <class T>
void Device<T>::upload(const void* host, std::size_t bytes, void* device) {
  std::memcpy(device, host, bytes);
}
template <class T>
void Device<T>::download(const void* device, std::size_t bytes, void* host) {
  std::memcpy(host, device, bytes);
}

template <class T>
void Device<T>::product(const MatrixProduct<T>& p) {
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      const T sum = rounded_by(p.rounding, token_sum<T>(p.k, p.piece, [&](int k, T chain) {
                                 return std::fma(p.a[i * p.a_row + k * p.a_col], p.b[k * p.b_row + j * p.b_col], chain);
                               }));
      T& c = p.c[i * p.c_row + j];
      c = p.adds ? c + sum : sum;
    }
}

template <class T>
void Device<T>::rounded(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = rounded_by(plan, x[i]);
}

template <class T>
void Device<T>::clear(T* y, std::int64_t count) {
  std::fill_n(y, count, T(0));
}

template <class T>
void Device<T>::embed(const std::uint16_t* tokens, int rows, int context, int width, const T* embedding, const T* positions,
                      T* x) {
  for (int row = 0; row < rows; ++row)
    for (int c = 0; c < width; ++c)
      x[row * width + c] = embedding[tokens[row] * width + c] + positions[row % context * width + c];
}

template <class T>
void Device<T>::embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const T* d_x,
                               T* d_embedding, T* d_positions) {
  const auto total = [&](int c, auto counts) {
    return token_sum<T>(rows, context, [&](int row, T chain) { return counts(row) ? chain + d_x[row * width + c] : chain; });
  };
  for (int c = 0; c < width; ++c) {
    for (int v = 0; v < vocabulary; ++v) d_embedding[v * width + c] = total(c, [&](int row) { return tokens[row] == v; });
    for (int t = 0; t < context; ++t) d_positions[t * width + c] = total(c, [&](int row) { return row % context == t; });
  }
}

template <class T>
void Device<T>::norm(const NormRows<T>& n) {
  for (int row = 0; row < n.rows; ++row) {
    const T* x = n.x + row * n.width;
    const T width = static_cast<T>(n.width);
    const T mean = n.norm == Norm::rms ? 0 : channel_sum<T>(n.width, [&](int i, T chain) { return chain + x[i]; }) / width;
    const T variance =
        channel_sum<T>(n.width, [&](int i, T chain) { return std::fma(x[i] - mean, x[i] - mean, chain); }) / width;
    const T reciprocal = 1 / std::sqrt(variance + T(1e-5));
    for (int i = 0; i < n.width; ++i) {
      const T normed = (x[i] - mean) * reciprocal;
      n.y[row * n.width + i] = rounded_by(n.rounding, n.bias ? std::fma(normed, n.gain[i], n.bias[i]) : normed * n.gain[i]);
    }
    n.mean[row] = mean;
    n.reciprocal[row] = reciprocal;
  }
}

template <class T>
void Device<T>::norm_gradient(const NormGradient<T>& g) {
  const NormRows<T>& f = g.forward;
  const auto at = [&](int row, int i) { return row * f.width + i; };
  const auto normed = [&](int row, int i) { return (f.x[at(row, i)] - f.mean[row]) * f.reciprocal[row]; };
  const auto share = [&](int row, int i) { return g.d_y[at(row, i)] * f.gain[i]; };
  const T width = static_cast<T>(f.width);
  for (int row = 0; row < f.rows; ++row) {
    const T s = channel_sum<T>(f.width, [&](int i, T chain) { return chain + share(row, i); }) / width;
    const T t = channel_sum<T>(f.width, [&](int i, T chain) { return std::fma(share(row, i), normed(row, i), chain); }) / width;
    for (int i = 0; i < f.width; ++i) {
      const T h = f.norm == Norm::rms ? share(row, i) : share(row, i) - s;
      T& d_x = g.d_x[at(row, i)];
      d_x = std::fma(f.reciprocal[row], std::fma(-normed(row, i), t, h), d_x);
    }
  }
  for (int i = 0; i < f.width; ++i) {
    g.d_gain[i] =
        token_sum<T>(f.rows, g.piece, [&](int row, T chain) { return std::fma(g.d_y[at(row, i)], normed(row, i), chain); });
    if (g.d_bias) g.d_bias[i] = token_sum<T>(f.rows, g.piece, [&](int row, T chain) { return chain + g.d_y[at(row, i)]; });
  }
}

template <class T>
void Device<T>::gelu(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = rounded_by(plan, x[i] / (1 + decay(x[i])));
}

template <class T>
void Device<T>::gelu_gradient(const T* x, const T* d_y, std::int64_t count, const RounderPlan<T>& plan, T* d_x) {
  const T a = static_cast<T>(2 * root), b = static_cast<T>(3 * 0.044715L * 2 * root);
  for (std::int64_t i = 0; i < count; ++i) {
    const T s = 1 / (1 + decay(x[i]));
    const T slope = std::fma(x[i] * (s * (1 - s)), std::fma(x[i] * x[i], b, a), s);
    d_x[i] = rounded_by(plan, d_y[i] * slope);
  }
}

template <class T>
void Device<T>::attention(const HeadBatch<T>& heads) {
  for (int s = 0; s < heads.sequences; ++s)
    for (int h = 0; h < heads.heads; ++h) Head<T>(heads, s, h).forward();
}

template <class T>
void Device<T>::attention_gradient(const HeadGradient<T>& heads) {
  for (int s = 0; s < heads.forward.sequences; ++s)
    for (int h = 0; h < heads.forward.heads; ++h) Head<T>(heads.forward, s, h).backward(heads);
}

template <class T>
void Device<T>::cross_entropy(const CrossEntropy<T>& c) {
  for (int row = 0; row < c.rows; ++row) {
    const T* x = c.logits + row * c.vocabulary;
    const T top = *std::max_element(x, x + c.vocabulary);
    const T sum = channel_sum<T>(c.vocabulary, [&](int i, T chain) { return chain + exponential(x[i] - top); });
    c.losses[row] = (top + logarithm(sum)) - x[c.targets[row]];
    for (int i = 0; c.d_logits && i < c.vocabulary; ++i) {
      const T onehot = i == c.targets[row] ? 1 : 0;
      c.d_logits[row * c.vocabulary + i] = rounded_by(c.rounding, (exponential(x[i] - top) / sum - onehot) * c.factor);
    }
  }
}

/// Chunks of 4096 elements in 8 chains each, joined by halves.
template <class T>
GradientSize Device<T>::gradient_size(const T* g, std::int64_t count, double unscale) {
  GradientSize size;
  for (std::int64_t first = 0; first < count; first += 4096) {
    double chain[8] = {};
    for (std::int64_t i = first; i < std::min(count, first + 4096); ++i) {
      const double x = static_cast<double>(g[i]) * unscale;
      if (std::isfinite(x)) {
        chain[i % 8] += x * x;
      } else {
        if (size.nonfinite++ == 0) size.first = i;
      }
    }
    for (int half = 4; half > 0; half /= 2)
      for (int c = 0; c < half; ++c) chain[c] += chain[c + half];
    size.squares += chain[0];
  }
  return size;
}

template <class T>
void Device<T>::adam(const AdamStep<T>& s) {
  for (std::int64_t i = 0; i < s.count; ++i) {
    const auto store = [&](const RounderPlan<T>& plan, int array, T x) {
      if (plan.kind == RounderKind::none) return x;
      if (plan.kind != RounderKind::stochastic) return round(plan.format, x);
      return round_stochastic(plan.format, x, random_bits(s.seed, Step::input, array, static_cast<int>(s.first + i), 0));
    };
    const T g = (s.g[i] * s.unscale) * s.clip;
    s.m[i] = store(s.moments, 1, std::fma(s.beta1, s.m[i], (1 - s.beta1) * g));
    s.v[i] = store(s.moments, 2, std::fma(s.beta2, s.v[i], (1 - s.beta2) * (g * g)));
    const T update = (s.m[i] * s.correction1) / (std::sqrt(s.v[i] * s.correction2) + s.epsilon);
    s.w[i] = store(s.weights, 0, std::fma(-s.rate, std::fma(s.decay, s.w[i], update), s.w[i]));
  }
}

template class Device<float>;
template class Device<double>;

}  // namespace attoscope::plain
