/// The transformer: forward and backward over a device's primitives, mixed precision as in practice: the residual stream, norms
/// and softmax of the loss in T, every matrix product and its operands in the main format D.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/train/plan/corpus.h"
#include "kernels/train/primitives/primitives.h"

namespace attoscope {

/// Q, K, V of one head and sequence as they enter attention, row-major context x d.
struct CapturedHead {
  int n = 0, d = 0;
  std::vector<float> q, k, v;
};

/// The seed of stochastic rounding in step or layer `index`; each stream of a seed gives other seeds.
std::uint64_t rounding_seed_of(std::uint64_t seed, int index, std::uint64_t stream);

/// A model on a device. Y = X.W, with X, W and Y rounded to D; the gradients of X and W as well, dW after its sum over tokens.
template <class T>
class Model {
 public:
  /// `on` must outlive the model.
  Model(const ModelShape& shape, int vocabulary, int batch, const TrainMethod& method, Primitives<T>& on);
  ~Model();

  const Parameters& parameters() const;
  /// Mean cross-entropy in nats of the batch under the weights (on the device); keeps the activations for `backward`.
  /// `rounding_seed` feeds stochastic rounding.
  double forward(const T* weights, const Batch& batch, std::uint64_t rounding_seed);
  /// The gradient of scale * loss of the last `forward`, laid out as the weights (on the device).
  void backward(const T* weights, T scale, T* gradient);

  /// After `backward`: the statistics of the layer's heads; empty in double.
  std::vector<HeadStatistics> statistics(int layer) const;
  /// After `forward`: the inputs of a head of a sequence.
  CapturedHead captured(int layer, int head, int sequence) const;
  /// After `forward`: name of the first array with a nonfinite number: "layer 1, attention output O"; empty: there is none.
  std::string first_nonfinite() const;
  /// After `forward`: name of the array with the largest magnitude; nonfinite numbers count as largest.
  std::string largest() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attoscope
