/// Activations that a model stores in the forward pass for its backward pass, and pointers to its weights in the flat array.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/train/primitives/primitives.h"

namespace attoscope {

template <class T>
using DeviceNumbers = DeviceArray<T, T>;

/// First element of a tensor in the flat array; null if the model has none.
template <class T>
T* within(T* flat, const ParameterTensor* tensor) {
  return tensor ? flat + tensor->first : nullptr;
}

/// Sizes of a model, the same for all its layers.
struct ModelSize {
  ModelSize(const ModelShape& shape, int vocabulary, int batch)
      : rows(static_cast<std::size_t>(batch * shape.context)),
        width(static_cast<std::size_t>(shape.width)),
        heads(static_cast<std::size_t>(shape.heads)),
        words(static_cast<std::size_t>(vocabulary)) {}

  std::size_t rows, width, heads, words;  ///< tokens of a batch; words of the vocabulary
};

/// Bytes of all arrays of a model in training: activations, gradients, weights in T and in D, and the optimiser's moments.
double bytes_of_training(const ModelShape& shape, int vocabulary, int batch);

/// A norm's weights, its output, and the numbers that its backward pass needs.
template <class T>
struct Normed {
  Normed(Primitives<T>& on, const ModelSize& size, const ParameterTensor* gains, const ParameterTensor* biases)
      : gain(gains), bias(biases), y(on, size.rows * size.width), mean(on, size.rows), reciprocal(on, size.rows) {}

  const ParameterTensor *gain, *bias;
  DeviceNumbers<T> y, mean, reciprocal;
};

/// A layer's weights, its heads' rules and its activations.
template <class T>
struct Layer {
  Layer(Primitives<T>& on, const ModelSize& size, const Parameters& parameters, int index);

  /// O as it enters W_O.
  const T* projected() const { return o_in_D.get() ? o_in_D.get() : o.get(); }

  const ParameterTensor *W_Q, *W_K, *W_V, *W_O, *W_1, *W_2;
  std::vector<HeadRule<T>> rules;  ///< [head]
  bool gradients_are_in_D = true;  ///< the gradients of attention are in D already
  Normed<T> norm_1, norm_2;
  DeviceNumbers<T> x, middle;  ///< the residual stream before the layer, and between its halves
  DeviceNumbers<T> q, k, v, o, d_o, m, l;
  DeviceNumbers<T> o_in_D;  ///< empty if o is in D already
  DeviceNumbers<T> hidden, gelu;
};

template <class T>
struct Activations {
  Activations(Primitives<T>& on, const ModelSize& size, const Parameters& parameters, const ModelShape& shape,
              const TrainMethod& method);

  /// All arrays of the forward pass with their names, in order of the data.
  std::vector<std::pair<std::string, const DeviceNumbers<T>*>> named() const;

  std::vector<Layer<T>> layers;
  DeviceNumbers<T> last;  ///< the residual stream after all layers
  Normed<T> final_norm;
  DeviceNumbers<T> logits, losses;
};

/// Gradients of the activations; all layers use the same arrays, one after the other.
template <class T>
struct StreamGradients {
  StreamGradients(Primitives<T>& on, const ModelSize& size)
      : x(on, size.rows * size.width),
        x_in_D(on, x.size()),
        normed(on, x.size()),
        q(on, x.size()),
        k(on, x.size()),
        v(on, x.size()),
        wide(on, 4 * x.size()),
        logits(on, size.rows * size.words) {}

  DeviceNumbers<T> x, x_in_D;  ///< of the residual stream; the same as it enters matrix products
  DeviceNumbers<T> normed;     ///< of a norm's output
  DeviceNumbers<T> q, k, v, wide, logits;
};

}  // namespace attoscope
