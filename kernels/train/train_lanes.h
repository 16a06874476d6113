/// What the CPU's training is asked to do with one instruction set: parts of the primitives that a thread does alone.
#pragma once

#include <string_view>

#include "kernels/train/primitives.h"

namespace attoscope {

/// A part of C: rows first_row .. end_row - 1 of one panel, columns first_col .. end_col - 1.
struct ProductPart {
  int first_row = 0, end_row = 0, first_col = 0, end_col = 0;
};

/// The lane code of one working type. Rows, channels and elements are first .. end - 1.
template <class T>
struct TrainLanes {
  int panel_columns = 0;  ///< of C, at most, in a part of a product
  int block_rows = 0;     ///< rows of C whose sums registers hold: parts had better have a multiple of it
  std::size_t (*product_scratch)(int rows) = nullptr;  ///< elements, for a part of so many rows
  void (*product)(const MatrixProduct<T>&, const ProductPart&, T* scratch) = nullptr;
  void (*rounded)(const T* x, std::int64_t count, const RounderPlan<T>&, T* y) = nullptr;
  void (*embed)(const T* embedding, const T* position, int width, T* x) = nullptr;  ///< one token
  /// Channels of a word's gradient: the sum over the tokens rows[0 .. count) that are it.
  void (*word_sum)(const int* rows, int count, int context, int width, const T* d_x, T* sum) = nullptr;
  /// Channels of position `position`'s gradient.
  void (*position_sum)(int position, int sequences, int context, int width, const T* d_x, T* sum) = nullptr;
  void (*norm)(const NormRows<T>&, int first, int end) = nullptr;
  void (*norm_gradient)(const NormGradient<T>&, int first, int end) = nullptr;              ///< d_x
  void (*norm_sums)(const NormGradient<T>&, int first_channel, int end_channel) = nullptr;  ///< d_gain and d_bias
  void (*gelu)(const T* x, std::int64_t count, const RounderPlan<T>&, T* y) = nullptr;
  void (*gelu_gradient)(const T* x, const T* d_y, std::int64_t count, const RounderPlan<T>&, T* d_x) = nullptr;
  void (*cross_entropy)(const CrossEntropy<T>&, int first, int end) = nullptr;
  /// The sums of a chunk's chains (kernels/meter.h); returns how many elements are not finite.
  std::int64_t (*squares)(const T* g, std::size_t count, std::size_t chunk, double unscale, double* chain) = nullptr;
  void (*adam)(const AdamStep<T>&) = nullptr;
};

/// One instruction set's lane code.
struct TrainCode {
  TrainLanes<float> single;
  TrainLanes<double> twice;
};

/// That of the instruction set called `name` (see `instruction_set`); simt, a GPU's lanes, has none of its own and gets sse2's.
TrainCode train_code(std::string_view name);

}  // namespace attoscope
