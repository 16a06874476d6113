/// Differences between two models' weights (arXiv 2405.02803, section 4), tensor by tensor and over all.
#pragma once

#include <span>
#include <vector>

#include "kernels/train/plan/parameters.h"

namespace attoscope {

/// Deviation of x from y; sums in the order of kernels/deviation/meter.h. NaN if a number is not finite.
struct WeightDeviation {
  double max_abs = 0;         ///< max |x - y|
  double wasserstein = 0;     ///< Wasserstein-1: mean |sorted x - sorted y|
  double rel_l2 = 0;          ///< ||x - y|| / ||y||
  double update_cosine = 0;   ///< of the last updates: cos(x - x before, y - y before); NaN if one of them is 0
  double directionality = 0;  ///< ||sum of D|| / sqrt(sum of ||D||^2), D the growth of x - y in a step: 1 for steps in random
                              ///< directions, sqrt(steps) for steps in one; 0 while x = y
  double step_size = 0;       ///< ||y - y before|| / ||y||: the size of y's own step

  friend bool operator==(const WeightDeviation&, const WeightDeviation&) = default;
};

/// Follows the difference x - y of two models, in fp32, from step to step. It starts from 0: a difference of the first weights
/// that it gets is the first growth.
class DeviationMeter {
 public:
  explicit DeviationMeter(const Parameters& parameters);
  /// To be called after every step with both models' weights.
  void follow(std::span<const float> x, std::span<const float> y);
  /// Deviations of the weights last passed to `follow`; [0] over all tensors, [1 + t] of tensor t. `x_before`, `y_before`: the
  /// weights before that step.
  std::vector<WeightDeviation> deviations(std::span<const float> x, std::span<const float> y, std::span<const float> x_before,
                                          std::span<const float> y_before) const;
  /// sum of ||D||^2 of every tensor; together with the weights, the complete state of the meter.
  const std::vector<double>& paths() const { return paths_; }
  /// Continues from saved paths and the weights of that step. Throws std::invalid_argument if there is not one path per tensor.
  void restore(std::vector<double> paths, std::span<const float> x, std::span<const float> y);

 private:
  struct Piece {
    std::size_t tensor = 0, first = 0, end = 0;  ///< range of the flat array, at most a chunk of the tensor
  };
  struct Sums;
  Sums sums(const Piece& piece, const float* x, const float* y, const float* x_before, const float* y_before) const;

  const Parameters* parameters_;
  std::vector<Piece> pieces_;
  std::vector<double> paths_;
  std::vector<float> difference_;
};

/// Mean |sorted x - sorted y|, from the radix sort of kernels/deviation/sorting.h.
double wasserstein(std::span<const float> x, std::span<const float> y);

/// max |x - y| over groups of adjacent rows of a tensor, top to bottom: at most `most` numbers. x and y are all weights of the
/// models. A group with NaN or infinity gives NaN or infinity.
std::vector<float> profile(const ParameterTensor& tensor, std::span<const float> x, std::span<const float> y, int most);
inline constexpr int profile_height = 64;

/// The largest singular value of W^Q of one head (columns head * d ..), by powers of its Gram matrix in double, to 1e-9. NaN if
/// a weight is not finite.
double query_norm(const Parameters& parameters, const ModelShape& shape, std::span<const float> weights, int layer, int head);

}  // namespace attoscope
