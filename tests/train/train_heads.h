/// Attention inside training for tests: heads with all arrays that a pass reads and writes.
#pragma once

#include "kernels/train/head/head.h"
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

}  // namespace attoscope::testing
