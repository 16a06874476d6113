/// Attention inside training for tests: heads with all arrays that a pass reads and writes, and the backward pass's rule as
/// plainly as it can be written.
#pragma once

#include "kernels/arithmetic/random.h"
#include "kernels/train/head/head.h"
#include "tests/reference/plain_steps.h"
#include "tests/support/support.h"

namespace attoscope::testing {

/// Heads of several sequences in matrices with gaps between the rows, with all arrays that a pass reads and writes.
template <class T>
struct Heads {
  Heads(const ModelShape& model, const TrainMethod& train_method, int sequence_count, Dice& dice)
      : shape(model), method(train_method), sequences(sequence_count), stride(model.width + 3) {
    const std::size_t rows = static_cast<std::size_t>(sequences * shape.context),
                      count = rows * static_cast<std::size_t>(stride);
    for (std::vector<T>* x : {&q, &k, &v, &d_o})
      for (std::size_t i = 0; i < count; ++i) x->push_back(static_cast<T>(static_cast<float>(dice.normal())));
    for (std::vector<T>* x : {&o, &d_q, &d_k, &d_v}) x->assign(count, T{-7});
    for (std::vector<T>* x : {&m, &l}) x->assign(rows * static_cast<std::size_t>(shape.heads), T{-7});
    for (int head = 0; head < shape.heads; ++head) rules.push_back(head_rule<T>(shape, method, false));
    seed = dice.bits();
  }

  int d() const { return shape.head_dimension(); }
  std::size_t at(int place, int row, int c) const {
    const int sequence = place / shape.heads, head = place % shape.heads;
    return static_cast<std::size_t>((sequence * shape.context + row) * stride + head * d() + c);
  }
  std::size_t row_of(int place, int row) const { return static_cast<std::size_t>(place * shape.context + row); }
  int places() const { return sequences * shape.heads; }

  HeadBatch<T> batch() {
    return {rules.data(), sequences, shape.heads, shape.context, d(),      stride, q.data(),
            k.data(),     v.data(),  o.data(),    m.data(),      l.data(), seed};
  }
  HeadGradient<T> gradient() { return {batch(), d_o.data(), d_q.data(), d_k.data(), d_v.data()}; }
  void forward(std::string_view isa = {}) { run_heads(batch(), isa); }
  void backward(std::string_view isa = {}) { run_head_gradients(gradient(), isa); }

  /// Q, K, V of one head.
  Tensors tensors(int place) const {
    Tensors t = Tensors::shaped(AttentionShape::square(shape.context, d()));
    for (int row = 0; row < shape.context; ++row)
      for (int c = 0; c < d(); ++c) {
        t.q.push_back(static_cast<double>(q[at(place, row, c)]));
        t.k.push_back(static_cast<double>(k[at(place, row, c)]));
        t.v.push_back(static_cast<double>(v[at(place, row, c)]));
      }
    return t;
  }
  /// One head as an experiment of Explore.
  Experiment experiment(int place) const {
    Experiment e;
    e.problem = {.input = given(tensors(place)), .seed = head_seed(seed, place), .n = shape.context, .d = d()};
    e.problem.mask.kind = Mask::Kind::causal;
    e.format = method.format;
    e.a = method.method;
    return e;
  }

  ModelShape shape;
  TrainMethod method;
  int sequences;
  std::int64_t stride;
  std::uint64_t seed = 0;
  std::vector<HeadRule<T>> rules;
  std::vector<T> q, k, v, d_o, o, d_q, d_k, d_v, m, l;
};

/// The rule of kernels/train/head/head.h for one head, one number at a time.
template <class T>
class PlainGradient {
 public:
  PlainGradient(const Heads<T>& heads, int place)
      : heads_(heads),
        place_(place),
        n_(heads.shape.context),
        d_(heads.d()),
        e_(heads.experiment(place)),
        steps_(e_, e_.a, *e_.problem.input.tensors) {
    for (std::vector<T>* matrix : {&P_, &dS_}) matrix->resize(static_cast<std::size_t>(n_ * n_));
    for (std::vector<T>* matrix : {&d_q, &d_k, &d_v}) matrix->resize(static_cast<std::size_t>(n_ * d_));
    for (int row = 0; row < n_; ++row) weigh(row);
    for (int row = 0; row < n_; ++row)
      for (int c = 0; c < d_; ++c) sum_up(row, c);
  }

  std::vector<T> d_q, d_k, d_v;  ///< n x d

 private:
  T in(const std::vector<T>& x, int row, int c) const { return steps_.rounded(Step::input, x[heads_.at(place_, row, c)]); }
  T raw(const std::vector<T>& x, int row, int c) const { return x[heads_.at(place_, row, c)]; }

  /// Rounds x with the random bits of `lane`, i and k.
  T round(GradStep step, T x, int lane, int i, int k = 0) const {
    const Rounding& r = heads_.method.gradient[step];
    if (r.kind == Rounding::Kind::exact) return x;
    const Format& f = format_of(r, heads_.method.format);
    const bool is_every_number = plan<T>(r, heads_.method.format).kind == RounderKind::none;
    if (!r.stochastic || is_every_number) return plain::nearest(f, x);
    return round_stochastic(f, x, random_bits(head_seed(heads_.seed, place_), random_step(step), lane, i, k));
  }

  T probability(int row, int key) const {
    const int stored = e_.a.reverse_keys ? n_ - 1 - key : key;
    const T S = steps_.scores(row, {stored, stored + 1})[0], m = heads_.m[heads_.row_of(place_, row)],
            l = heads_.l[heads_.row_of(place_, row)];
    if (normalises_P(e_.a.algorithm)) {
      const T e = steps_.exponentials({S}, m)[0];
      return round(GradStep::probability, steps_.rounded(Step::P, e / l), row, key);
    }
    const T L = e_.a.algorithm == Algorithm::split_kv ? m + logarithm(l) : steps_.log_sum_exp(m, l);
    return round(GradStep::probability, exponential(std::fma(S, steps_.score_unit(), -L)), row, key);
  }

  /// Computes P and dS of a row.
  void weigh(int row) {
    std::vector<T> P, dP;
    for (int key = 0; key <= row; ++key) {
      P.push_back(probability(row, key));
      T sum = 0;
      for (int c = 0; c < d_; ++c)
        sum = round(GradStep::dp_step, std::fma(raw(heads_.d_o, row, c), in(heads_.v, key, c), sum), row, key, c);
      dP.push_back(round(GradStep::dP, sum, row, key));
    }
    T delta = 0;
    if (heads_.method.gradient.delta_from == DeltaFrom::output) {
      for (int c = 0; c < d_; ++c)
        delta = round(GradStep::delta_step, std::fma(raw(heads_.d_o, row, c), raw(heads_.o, row, c), delta), row, c);
    } else {
      for (int key = 0; key <= row; ++key)
        delta = round(GradStep::delta_step,
                      std::fma(P[static_cast<std::size_t>(key)], dP[static_cast<std::size_t>(key)], delta), row, key);
    }
    delta = round(GradStep::delta, delta, row, 0);
    for (int key = 0; key <= row; ++key) {
      const T p = P[static_cast<std::size_t>(key)],
              centred = round(GradStep::centred, dP[static_cast<std::size_t>(key)] - delta, row, key);
      dS_[at(row, key)] = round(GradStep::dS, p * centred, row, key);
      P_[at(row, key)] = round(GradStep::P, p, row, key);
    }
  }

  /// Row `row` of dQ, dK and dV in column c.
  void sum_up(int row, int c) {
    const T scale = static_cast<T>(scale_of(e_.problem));
    T q = 0, k = 0, v = 0;
    for (int key = 0; key <= row; ++key)
      q = round(GradStep::dq_step, std::fma(dS_[at(row, key)], in(heads_.k, key, c), q), c, row, key);
    for (int query = row; query < n_; ++query) {
      v = round(GradStep::dv_step, std::fma(P_[at(query, row)], raw(heads_.d_o, query, c), v), c, row, query);
      k = round(GradStep::dk_step, std::fma(dS_[at(query, row)], in(heads_.q, query, c), k), c, row, query);
    }
    const std::size_t out = static_cast<std::size_t>(row * d_ + c);
    d_q[out] = round(GradStep::dQ, scale * q, c, row);
    d_k[out] = round(GradStep::dK, scale * k, c, row);
    d_v[out] = round(GradStep::dV, v, c, row);
  }

  std::size_t at(int row, int key) const { return static_cast<std::size_t>(row * n_ + key); }

  const Heads<T>& heads_;
  const int place_, n_, d_;
  const Experiment e_;
  const plain::Steps<T> steps_;
  std::vector<T> P_, dS_;  // n x n
};

}  // namespace attoscope::testing
