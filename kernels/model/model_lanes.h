/// One instruction set's code for a model: parts of its operations for one thread, with the same bits on every set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/block_sum.h"
#include "kernels/arithmetic/rounders.h"
#include "kernels/train/primitives/train_lanes.h"

namespace attoscope {

/// RMSNorm of rows: y = round_norm(round_normalised(round_input(x) * (1 / sqrt(square_sum / width + epsilon))) * weight). The
/// sum of the squares of x has 16 interleaved chains, each product and each addition one operation, joined by halves.
template <class T>
struct RmsNorm {
  const T *x = nullptr, *weight = nullptr;
  T* y = nullptr;
  int width = 0;
  T epsilon = 0;
  RounderPlan<T> input{}, square_sum{}, normalised{}, norm{};
};

/// y = round_gated(round_silu(gate / (1 + exp(-gate))) * up); y may be gate.
template <class T>
struct GatedProduct {
  const T *gate = nullptr, *up = nullptr;
  T* y = nullptr;
  std::int64_t count = 0;
  RounderPlan<T> silu{}, gated{};
};

/// Logits of one position as a distribution: the largest, its first index, and ln of the sum of exp(x - top).
struct LogitSum {
  double top = 0, log_sum = 0;
  int argmax = 0;
  double log_probability(double logit) const { return (logit - top) - log_sum; }
};

/// Cross entropy by the online recurrence over blocks of a row of logits in ascending order: m' = max(m, max of the block), l =
/// round_sum(l exp(m - m') + sum of round_exp(exp(logit - m'))), the product and the addition one operation each, the sum in 16
/// interleaved chains joined by halves; finally ln p = round_log_probability(logit - (m + ln l)). This is attention's
/// recurrence of the row sum in one pass, without V.
template <class T>
struct OnlineLoss {
  int block = 0;
  RounderPlan<T> exp{}, sum{}, log_probability{};
};

template <class T>
struct ModelLanes {
  int panel_columns = 0, block_rows = 0;               ///< as TrainLanes
  std::size_t (*product_scratch)(int rows) = nullptr;  ///< elements
  void (*product)(const MatrixProduct<T>&, const ProductPart&, T* scratch) = nullptr;
  void (*norm)(const RmsNorm<T>&, std::int64_t row) = nullptr;
  void (*gated)(const GatedProduct<T>&) = nullptr;
  /// y = round(x + add); add may be null, y may be x.
  void (*rounded_sum)(const T* x, const T* add, std::int64_t count, const RounderPlan<T>&, T* y) = nullptr;
  /// Part of a product whose terms tensor cores add, block by block; null in double. block_scratch: its scratch in bytes.
  void (*block_product)(const MatrixProduct<T>&, const BlockSum&, const ProductPart&, void* scratch) = nullptr;
  std::size_t (*block_scratch)(int rows, int depth) = nullptr;
  /// m and ln l of a row by the recurrence, and its likeliest token; the logits must be numbers of T.
  LogitSum (*online_sum)(const OnlineLoss<T>&, const double* x, int count) = nullptr;
  /// ln p of a logit by the result of online_sum.
  double (*log_probability)(const OnlineLoss<T>&, const LogitSum&, double logit) = nullptr;
  /// y = round(x)
  void (*widened)(const float* x, std::int64_t count, const RounderPlan<T>&, T* y) = nullptr;
};

/// Measures of logits in double.
struct LogitLanes {
  LogitSum (*sum)(const double* x, int count) = nullptr;
  /// KL(x || y) in nats: the sum of p_x (ln p_x - ln p_y).
  double (*divergence)(const double* x, const LogitSum&, const double* y, const LogitSum&, int count) = nullptr;
};

/// The code of the instruction set called `name` (see `instruction_set`); for simt, a GPU's lanes, the code of sse2.
template <class T>
ModelLanes<T> model_lanes(std::string_view name);
LogitLanes logit_lanes(std::string_view name);

struct ModelSet {
  ModelLanes<float> in_float;
  ModelLanes<double> in_double;
  LogitLanes logits;
};

namespace sse2 {
ModelSet model_set();
}
namespace avx2 {
ModelSet model_set();
}
namespace avx512 {
ModelSet model_set();
}

}  // namespace attoscope
