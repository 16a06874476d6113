/// What the figures of trainings draw of two models' weights, and what their lines are called.
#pragma once

#include <array>

#include "kernels/train/measures.h"

namespace attoscope {

/// A number of two models' weights over all tensors.
struct WeightMeasure {
  const char* label;
  double WeightDeviation::* value;
};
inline constexpr std::array<WeightMeasure, 2> weight_measures{
    {{"Wasserstein-1", &WeightDeviation::wasserstein}, {"relative L2", &WeightDeviation::rel_l2}}};

/// Lines of the figures over seeds that are no pair of a single plan.
inline constexpr const char* other_tiles = "other tiles";
inline constexpr const char* in_half = "a - b in fp16";

}  // namespace attoscope
