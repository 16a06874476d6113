/// The CPU's training code of one instruction set: the parts of the primitives for one thread.
#pragma once

#include <string_view>

#include "kernels/train/primitives/primitives.h"

namespace attoscope {

/// A part of C: rows first_row .. end_row - 1 of one panel, columns first_col .. end_col - 1.
struct ProductPart {
  int first_row = 0, end_row = 0, first_col = 0, end_col = 0;
};

/// One instruction set's lane code. Rows, channels and elements are first .. end - 1.
struct TrainLanes {
  int panel_columns = 0;  ///< maximum columns of C in a part of a product
  int block_rows = 0;     ///< rows of C whose sums are in registers: parts should have a multiple of this number
  std::size_t (*product_scratch)(int rows) = nullptr;  ///< elements, for a part of `rows` rows
  void (*product)(const MatrixProduct<float>&, const ProductPart&, float* scratch) = nullptr;
  void (*embed)(const float* embedding, const float* position, int width, float* x) = nullptr;  ///< one token
  /// The gradient of a word in all channels: the sum over its tokens rows[0 .. count).
  void (*word_sum)(const int* rows, int count, int context, int width, const float* d_x, float* sum) = nullptr;
  /// The gradient of position `position` in all channels.
  void (*position_sum)(int position, int sequences, int context, int width, const float* d_x, float* sum) = nullptr;
  void (*norm)(const NormRows<float>&, int first, int end) = nullptr;
  void (*norm_gradient)(const NormGradient<float>&, int first, int end) = nullptr;              ///< d_x
  void (*norm_sums)(const NormGradient<float>&, int first_channel, int end_channel) = nullptr;  ///< d_gain and d_bias
  void (*gelu)(const float* x, std::int64_t count, const RounderPlan<float>&, float* y) = nullptr;
  void (*gelu_gradient)(const float* x, const float* d_y, std::int64_t count, const RounderPlan<float>&, float* d_x) = nullptr;
  void (*cross_entropy)(const CrossEntropy<float>&, int first, int end) = nullptr;
  /// The sums of a chunk's chains (kernels/deviation/meter.h); returns the number of elements that are not finite.
  std::int64_t (*squares)(const float* g, std::size_t count, std::size_t chunk, double unscale, double* chain) = nullptr;
  void (*adam)(const AdamStep<float>&) = nullptr;
  HeadCode heads{};
};

/// The code of the instruction set called `name` (see `instruction_set`); for simt, a GPU's lanes, the code of sse2.
TrainLanes train_code(std::string_view name);

namespace sse2 {
TrainLanes train_lanes();
}
namespace avx2 {
TrainLanes train_lanes();
}
namespace avx512 {
TrainLanes train_lanes();
}

}  // namespace attoscope
