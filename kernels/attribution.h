/// Which step's rounding costs what: method a again and again, with one step made exact, or one step alone rounding.
#pragma once

#include "kernels/compute.h"

namespace attoscope {

/// What an attribution weighs of a Deviation.
struct StepError {
  double mean_abs = 0, rms = 0;  ///< NaN where no element is finite
  std::int64_t nonfinite = 0;
};

/// One rounding step of method a.
struct StepShare {
  Step step = Step::input;
  StepError without;  ///< a's error with this step alone made exact
  StepError alone;    ///< a's error with this step alone rounding
  double relief = 0;  ///< total.mean_abs - without.mean_abs; below 0 where the rounding made up for another step's
};

/// What the rounding steps of method a cost, one by one. The `input` step is none of them: the golden value sees the same
/// rounded inputs, so it is never part of the error. Flags, algorithm and everything else are kept throughout.
/// A method that is not emulated has no steps.
struct Attribution {
  StepError total;               ///< as the experiment has it
  StepError floor;               ///< with every step exact: what the working type alone costs
  std::vector<StepShare> steps;  ///< those that save most NaN and infinities first, then by relief, largest first
  /// sqrt(floor^2 + sum over steps of (alone^2 - floor^2)) of the rms: what the steps would cost together if each had the error
  /// that it has alone and none knew of another.
  double combined_rms = 0;
  /// total.rms - combined_rms: above 0 where the steps make each other worse, below where they cancel.
  double interaction = 0;
};

/// Attributes the error of method a. Two runs of a for each step that rounds, and two more; inputs and golden values are
/// found once, or not at all where `options.memory` has them. Throws as `compute` does.
Attribution attribute(const Experiment& experiment, const Options& options = {});

}  // namespace attoscope
