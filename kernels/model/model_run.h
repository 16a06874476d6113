/// A model over tokens, layer by layer, in a working type T: the steps around attention, and attention of every head.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/model/architecture.h"
#include "kernels/model/model_lanes.h"
#include "kernels/model/surroundings.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {

/// cos and sin of position times frequency, [n, head_dim / 2], rounded by the steps of `s`.
struct RopeTable {
  std::vector<double> cos, sin;
};
RopeTable rope_table(const Rope& rope, int head_dim, int n, const Surroundings& s);

/// A head of a layer. head -1: every head; layer -1: no place.
struct ModelPlace {
  int layer = -1, head = -1;
  bool holds(int l, int h) const { return layer == l && (head < 0 || head == h); }
  friend bool operator==(const ModelPlace&, const ModelPlace&) = default;
};

/// The attention of the heads: golden in double, or `method` on the heads of `only` and golden elsewhere.
struct AttentionChoice {
  const Method* method = nullptr;  ///< null: golden everywhere
  Format format = bf16;            ///< the main format D
  std::uint64_t seed = 1;          ///< seed of stochastic rounding; head h of layer l uses seed + l heads + h
  ModelPlace only{};               ///< the heads computed by `method`; no place: all

  bool rounds(int layer, int head) const { return method != nullptr && (only.layer < 0 || only.holds(layer, head)); }
};

/// The experiment of one head over n tokens: causal, every query sees the keys before it and its own.
Experiment head_experiment(const Architecture& a, int n, const Method& method, const Format& format, std::uint64_t seed);

/// Q [n, heads head_dim], K and V [n, kv_heads head_dim] of a layer, as they enter attention.
template <class T>
struct LayerHeads {
  std::vector<T> q, k, v;
};

/// The d columns of head `head` in n rows of x.
template <class T>
std::vector<double> head_columns(const std::vector<T>& x, int n, int heads, int head, int d) {
  std::vector<double> y;
  y.reserve(at(n) * at(d));
  for (int i = 0; i < n; ++i) {
    const auto first = x.begin() + (static_cast<std::ptrdiff_t>(i) * heads + head) * d;
    y.insert(y.end(), first, first + d);
  }
  return y;
}

/// The outputs `all` of a layer's heads, with head h taken from `other`.
template <class T>
std::vector<T> with_head(const Architecture& a, std::vector<T> all, const std::vector<T>& other, int h) {
  const std::ptrdiff_t d = a.head_dim, width = d * a.heads;
  for (std::ptrdiff_t place = d * h; place < std::ssize(all); place += width)
    std::copy_n(other.begin() + place, d, all.begin() + place);
  return all;
}

template <class T>
class ModelRun {
 public:
  /// `model` and `stop` must outlive the run; tokens are below the vocabulary's size.
  ModelRun(const LanguageModel& model, std::span<const int> tokens, const Surroundings& around, const StopSign& stop)
      : ModelRun(model, model.architecture, tokens, around, stop) {}
  /// The same with another epsilon or rotary embedding; sizes must be the model's.
  ModelRun(const LanguageModel& model, const Architecture& architecture, std::span<const int> tokens,
           const Surroundings& around, const StopSign& stop);

  /// Called with each tensor [n, columns] after it is computed, and its layer, or -1 for tensors outside layers; may change the
  /// numbers. Not called with logits, which are computed a block of rows at a time.
  std::function<void(ModelTensor, int layer, std::vector<T>&)> tap;

  /// The residual stream [n, width] before layer 0. With `unrounded_variance` it is rounded only where it is read.
  std::vector<T> embedded();
  LayerHeads<T> heads(int layer, const std::vector<T>& x);
  /// The output of every head [n, heads head_dim].
  std::vector<T> attended(int layer, const LayerHeads<T>& heads, const AttentionChoice& choice);
  /// Replaces x, the residual stream before the layer, by the stream after it.
  void finish(int layer, const std::vector<T>& attended, std::vector<T>& x);
  void run_layer(int layer, std::vector<T>& x, const AttentionChoice& choice) {
    finish(layer, attended(layer, heads(layer, x), choice), x);
  }
  /// The last norm's output [n, width].
  std::vector<T> last_norm(const std::vector<T>& x) { return tapped(ModelTensor::norm, -1, norm(model_.norm, x, n_, true)); }
  /// Logits [count, vocabulary] of rows first .. first + count - 1 of the last norm's output.
  std::vector<double> logits(const std::vector<T>& last, int first, int count);
  /// The online cross entropy of the surroundings; `block` is 0 if they have none.
  OnlineLoss<T> loss() const;
  const ModelLanes<T>& lanes() const { return lanes_; }

 private:
  RounderPlan<T> rounder(AroundStep s) const { return plan<T>(around_[s], bf16); }
  std::vector<T> tapped(ModelTensor t, int layer, std::vector<T> x) const {
    if (tap) tap(t, layer, x);
    return x;
  }
  /// `of_residual`: x is the residual stream, which may be unrounded.
  std::vector<T> norm(const WeightMatrix& w, const std::vector<T>& x, int rows, bool of_residual);
  void add_to_residual(std::vector<T>& x, const std::vector<T>& y) const;
  /// round(x w^T + bias) for `rows` rows of x.
  std::vector<T> project(const WeightMatrix& w, const WeightMatrix& bias, const T* x, int rows, AroundStep step);
  /// Computes columns first .. first + count - 1 of the output from `count` rows of w in T; `shape` has the size of all rows.
  void project_slice(const T* w, const WeightMatrix& shape, int first, int count, const T* x, int rows,
                     const RounderPlan<T>& rounding, std::vector<T>& y);
  void turn(std::vector<T>& x, int heads) const;
  const LayerWeights& layer(int l) const { return model_.layers[static_cast<std::size_t>(l)]; }
  std::vector<T> widened(const WeightMatrix& w, AroundStep step = AroundStep::weights) const;

  const LanguageModel& model_;
  Architecture a_;
  std::span<const int> tokens_;
  Surroundings around_;
  const StopSign& stop_;
  int n_;
  ModelLanes<T> lanes_;
  BlockSum block_sum_{};      ///< rule of the tensor cores
  std::vector<T> cos_, sin_;  ///< [n, head_dim / 2]
  std::vector<T> slice_;      ///< rows of a projection's weights in T
  PerThread<AlignedBuffer> scratch_;
};

}  // namespace attoscope
