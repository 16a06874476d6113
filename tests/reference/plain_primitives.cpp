#include "tests/reference/plain_primitives.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/random.h"
#include "kernels/experiment/matrix.h"
#include "tests/reference/plain_steps.h"

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

/// One head of a sequence as an experiment, whose roundings are those of the head's rule; `place` is sequence * heads + head.
template <class T>
Experiment experiment_of(const HeadBatch<T>& heads, int place) {
  const Job<T>& job = heads.rules[place % heads.heads].job;
  const auto rounding_of = [](const RounderPlan<T>& plan) {
    if (plan.kind == RounderKind::stochastic) throw std::invalid_argument("no plain attention rounds stochastically");
    return plan.rounds() ? to_format(plan.format) : exact;
  };
  Tensors t = Tensors::shaped(AttentionShape::square(heads.context, heads.d));
  for (const auto& [from, to] : {std::pair{heads.q, &t.q}, {heads.k, &t.k}, {heads.v, &t.v}})
    for (int row = 0; row < heads.context; ++row) {
      const T* const first = from + offset_of(heads, place) + row * heads.row_stride;
      to->insert(to->end(), first, first + heads.d);
    }
  Experiment e{.format = sizeof(T) == sizeof(float) ? fp32 : fp64, .a = job.method};
  e.problem.n = heads.context;
  e.problem.d = heads.d;
  e.problem.mask.kind = Mask::Kind::causal;
  e.problem.input.tensors = std::make_shared<const Tensors>(std::move(t));
  for (std::size_t i = 0; i < step_count; ++i) e.a.precision.steps[i] = rounding_of(job.plans[i]);
  e.a.partial = rounding_of(job.partial);
  return e;
}

template <class T>
void attend_head(const HeadBatch<T>& heads, int place) {
  const Experiment e = experiment_of(heads, place);
  const std::vector<Row> rows = attend(e, e.a, *e.problem.input.tensors, attoscope::numbers(heads.context));
  for (int i = 0; i < heads.context; ++i) {
    const Row& row = rows[static_cast<std::size_t>(i)];
    T* const o = heads.o + offset_of(heads, place) + i * heads.row_stride;
    std::ranges::transform(row.output, o, [](double x) { return static_cast<T>(x); });
    heads.m[place * heads.context + i] = static_cast<T>(row.m);
    heads.l[place * heads.context + i] = static_cast<T>(row.l);
  }
}

/// The rule of kernels/train/head/head.h for the gradients of one head, one number at a time.
template <class T>
class HeadBackward {
 public:
  HeadBackward(const HeadGradient<T>& gradient, int place)
      : gradient_(gradient),
        heads_(gradient.forward),
        rule_(heads_.rules[place % heads_.heads]),
        n_(heads_.context),
        first_(offset_of(heads_, place)),
        state_(place * n_),
        seed_(head_seed(heads_.rounding_seed, place)),
        e_(by_fma(experiment_of(heads_, place))),
        steps_(e_, e_.a, *e_.problem.input.tensors) {
    for (std::vector<T>* matrix : {&P_, &dS_}) matrix->resize(static_cast<std::size_t>(n_ * n_));
    for (int row = 0; row < n_; ++row) weigh(row);
    for (int row = 0; row < n_; ++row)
      for (int c = 0; c < heads_.d; ++c) sum_up(row, c);
  }

 private:
  static Experiment by_fma(Experiment e) {
    e.a.accumulator = {};
    return e;
  }

  /// Rounds x with the random bits of `lane`, i and k.
  T round(GradStep step, T x, int lane, int i, int k = 0) const {
    const RounderPlan<T>& plan = rule_[step];
    if (plan.kind != RounderKind::stochastic) return plan.rounds() ? nearest(plan.format, x) : x;
    return round_stochastic(plan.format, x, random_bits(seed_, random_step(step), lane, i, k));
  }
  std::int64_t at(int row, int c) const { return first_ + row * heads_.row_stride + c; }
  std::size_t pair(int row, int key) const { return static_cast<std::size_t>(row * n_ + key); }

  T probability(int row, int key) const {
    const T S = steps_.score(row, key), m = heads_.m[state_ + row], l = heads_.l[state_ + row];
    if (rule_.normalises)
      return round(GradStep::probability, steps_.rounded(Step::P, steps_.exponentials({S}, m)[0] / l), row, key);
    const T L = rule_.is_merged ? m + logarithm(l) : steps_.log_sum_exp(m, l);
    return round(GradStep::probability, exponential(std::fma(S, steps_.score_unit(), -L)), row, key);
  }

  /// Computes P and dS of a row.
  void weigh(int row) {
    std::vector<T> P, dP;
    for (int key = 0; key <= row; ++key) {
      P.push_back(probability(row, key));
      T sum = 0;
      for (int c = 0; c < heads_.d; ++c)
        sum = round(GradStep::dp_step, std::fma(gradient_.d_o[at(row, c)], steps_.V(key, c), sum), row, key, c);
      dP.push_back(round(GradStep::dP, sum, row, key));
    }
    T delta = 0;
    const bool from_output = rule_.delta_from == DeltaFrom::output;
    for (int c = 0; from_output && c < heads_.d; ++c)
      delta = round(GradStep::delta_step, std::fma(gradient_.d_o[at(row, c)], heads_.o[at(row, c)], delta), row, c);
    for (std::size_t key = 0; !from_output && key < P.size(); ++key)
      delta = round(GradStep::delta_step, std::fma(P[key], dP[key], delta), row, static_cast<int>(key));
    delta = round(GradStep::delta, delta, row, 0);
    for (int key = 0; key <= row; ++key) {
      const T p = P[static_cast<std::size_t>(key)],
              centred = round(GradStep::centred, dP[static_cast<std::size_t>(key)] - delta, row, key);
      dS_[pair(row, key)] = round(GradStep::dS, p * centred, row, key);
      P_[pair(row, key)] = round(GradStep::P, p, row, key);
    }
  }

  /// Row `row` of dQ, dK and dV in column c.
  void sum_up(int row, int c) const {
    const T scale = static_cast<T>(scale_of(e_.problem));
    T q = 0, k = 0, v = 0;
    for (int key = 0; key <= row; ++key)
      q = round(GradStep::dq_step, std::fma(dS_[pair(row, key)], steps_.K(key, c), q), c, row, key);
    for (int query = row; query < n_; ++query) {
      v = round(GradStep::dv_step, std::fma(P_[pair(query, row)], gradient_.d_o[at(query, c)], v), c, row, query);
      k = round(GradStep::dk_step, std::fma(dS_[pair(query, row)], steps_.Q(query, c), k), c, row, query);
    }
    gradient_.d_q[at(row, c)] = round(GradStep::dQ, scale * q, c, row);
    gradient_.d_k[at(row, c)] = round(GradStep::dK, scale * k, c, row);
    gradient_.d_v[at(row, c)] = round(GradStep::dV, v, c, row);
  }

  const HeadGradient<T>& gradient_;
  const HeadBatch<T>& heads_;
  const HeadRule<T>& rule_;
  const int n_;
  const std::int64_t first_, state_;  ///< of the head in matrices, and in m and l
  const std::uint64_t seed_;
  const Experiment e_;
  const Steps<T> steps_;
  std::vector<T> P_, dS_;  ///< n x n
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
  for (int place = 0; place < heads.sequences * heads.heads; ++place) attend_head(heads, place);
}

template <class T>
void Device<T>::attention_gradient(const HeadGradient<T>& heads) {
  for (int place = 0; place < heads.forward.sequences * heads.forward.heads; ++place) HeadBackward<T>(heads, place);
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
