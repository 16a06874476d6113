/// Contribution of each step's rounding to the error: method a is run with one step exact, and with one step alone rounded.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/method.h"
#include "kernels/experiment/table.h"

namespace attoscope {

/// The parts of a Deviation that an attribution compares.
struct StepError {
  double mean_abs = 0, rms = 0;  ///< NaN where no element is finite
  std::int64_t nonfinite = 0;
};

/// A part of the arithmetic that can be made exact by itself: the rounding of a step, the sums of a product, or the storage of
/// a tensor.
struct ErrorSource {
  Step step = Step::input;                 ///< where neither of the others is given
  std::optional<AttentionProduct> sums{};  ///< by tensor cores; exact: in fp64, rounded to fp32 (Accumulator::f64)
  std::optional<ScaledTensor> stored{};    ///< with scales; exact: as it is given, P in the working type

  friend constexpr bool operator==(const ErrorSource&, const ErrorSource&) = default;
};
/// "P"; "q.k sums"; "K stored".
std::string_view name(const ErrorSource& source);
/// Description of what it rounds, for a tooltip.
std::string_view what(const ErrorSource& source);
/// The method with this source exact, and with every source exact.
Method made_exact(Method m, const ErrorSource& source);
Method without_rounding(Method m);

/// The share of one source in method a.
struct StepShare {
  ErrorSource source;
  StepError without;  ///< a's error with this one alone made exact
  StepError alone;    ///< a's error with this one alone rounding
  double relief = 0;  ///< total.mean_abs - without.mean_abs; below 0 if the rounding made up for another step's
};

/// Costs of the rounding steps of method a, and of sums by tensor cores, one by one. The `input` step is not among them: the
/// golden value has the same rounded inputs, so it is never part of the error. Flags, algorithm and everything else stay the
/// same throughout. A method that is not emulated has no steps.
struct Attribution {
  Experiment experiment;
  StepError total;                 ///< as the experiment has it
  StepError floor;                 ///< with every step exact: the cost of the working type alone
  std::vector<StepShare> steps{};  ///< those that avoid most NaN and infinities first, then by relief, largest first
  /// sqrt(floor^2 + sum over steps of (alone^2 - floor^2)) of the rms: the total error if the errors of the steps, each as it
  /// is alone, were independent.
  double combined_rms = 0;
  /// total.rms - combined_rms: above 0 where the steps make each other worse, below where they cancel.
  double interaction = 0;
};

/// Attributes the error of method a. Two runs of a for each step that rounds, and two more; inputs and golden values are
/// computed once, or taken from `options.cache`. Throws as `compute` does.
Attribution attribute(const Experiment& experiment, const Options& options = {});

/// A source by its name, and its share: of a forward pass, or of one tensor of a backward pass.
struct NamedShare {
  std::string_view name;
  StepError without, alone;  ///< as of a StepShare
  double relief = 0;
};
std::vector<NamedShare> named_shares(const Attribution& attribution);

/// A row for each source; `total`: the error as it is.
Table shares_table(const StepError& total, std::span<const NamedShare> shares);
Table attribution_table(const Attribution& attribution);

}  // namespace attoscope
