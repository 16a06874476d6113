/// The weights of a model as one flat array of named tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/train/plan/plan.h"

namespace attoscope {

/// A tensor of the model: row-major, element (r, c) at first + r * cols + c of the flat array. Matrices are stored as
/// [inputs][outputs]: Y = X.W.
struct ParameterTensor {
  std::string name;  ///< "embedding", "positions", "layer 0 W_Q", "layer 0 norm 1 gain", "final norm bias", "head"
  int rows = 0, cols = 0;
  std::size_t first = 0;  ///< a multiple of 16
  int layer = -1;         ///< -1: outside the layers
  bool decays = false;    ///< weight decay applies

  std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); }
};

/// Names of a layer's tensors, in order; `norm_1_bias` and `norm_2_bias` are missing with Norm::rms.
enum class Weight : std::uint8_t { norm_1_gain, norm_1_bias, W_Q, W_K, W_V, W_O, norm_2_gain, norm_2_bias, W_1, W_2 };
inline constexpr EnumArray<Weight> weight_names{"norm 1 gain", "norm 1 bias", "W_Q",         "W_K", "W_V",
                                                "W_O",         "norm 2 gain", "norm 2 bias", "W_1", "W_2"};

/// All tensors of a model, in order of the data: embedding [vocabulary x width], positions [context x width], the layers', the
/// final norm's, head [width x vocabulary].
struct Parameters {
  std::vector<ParameterTensor> tensors;
  std::size_t size = 0;  ///< of the flat array, padding included; padding is 0 and stays 0

  /// Index of a layer's tensor, or -1 if the model has none.
  int index(int layer, Weight weight) const;
  /// Index of "embedding", "positions", "final norm gain", "final norm bias", "head", or -1.
  int index(std::string_view name) const;
  /// The tensor; null if the model has none.
  const ParameterTensor* find(int layer, Weight weight) const { return find_at(index(layer, weight)); }
  const ParameterTensor* find(std::string_view name) const { return find_at(index(name)); }

 private:
  const ParameterTensor* find_at(int i) const { return i < 0 ? nullptr : &tensors[static_cast<std::size_t>(i)]; }
};
Parameters parameters(const ModelShape& shape, int vocabulary);

/// The initial weights as in GPT-2: N(0, 0.02), W_O and W_2 smaller by sqrt(2 layers), gains 1, biases 0. Tensor i is drawn
/// from stream i of the seed.
std::vector<float> first_weights(const Parameters& parameters, const ModelShape& shape, std::uint64_t seed);

}  // namespace attoscope
