/// Each step's contribution to the error: runs method a with one step exact, and with only one step rounded.
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
  double mean_abs = 0, rms = 0;  ///< NaN if no element is finite
  std::int64_t nonfinite = 0;
};

/// A part of the arithmetic that can be made exact: the rounding of a step, the sums of a product, the storage of a tensor,
/// the rounding of what smoothing and rotation make, or that of split_kv's partial outputs.
struct ErrorSource {
  Step step = Step::input;                 ///< used if no other member is set
  std::optional<AttentionProduct> sums{};  ///< sums by tensor cores; exact: in fp64, rounded to fp32 (Accumulator::f64)
  std::optional<ScaledTensor> stored{};    ///< storage with scales; exact: as given, P in the working type
  bool smoothed = false, partial = false;

  friend constexpr bool operator==(const ErrorSource&, const ErrorSource&) = default;
};
/// "P"; "q.k sums"; "K stored"; "smoothed"; "partial O".
std::string_view name(const ErrorSource& source);
/// Description of the source's rounding, for a tooltip.
std::string_view what(const ErrorSource& source);
/// The method with this source exact; `without_rounding`: with every source exact.
Method made_exact(Method m, const ErrorSource& source);
Method without_rounding(Method m);

/// Share of one source in the error of method a.
struct StepShare {
  ErrorSource source;
  StepError without;  ///< a's error if only this source is exact
  StepError alone;    ///< a's error if only this source rounds
  double relief = 0;  ///< total.mean_abs - without.mean_abs; below 0 if the rounding compensates another step's
};

/// Shares of method a's rounding steps and tensor-core sums. The `input` step has none: golden has the same rounded inputs, so
/// it is never part of the error. Flags, algorithm and everything else stay the same. A method that is not emulated has no
/// steps.
struct Attribution {
  Experiment experiment;
  StepError total;                 ///< error of the experiment's method
  StepError floor;                 ///< error with every step exact, caused by the working type alone
  std::vector<StepShare> steps{};  ///< sorted by NaN and infinities left, fewest first, then by relief, largest first
  /// sqrt(floor^2 + sum over steps of (alone^2 - floor^2)) of the rms: the total error if the steps' errors were independent.
  double combined_rms = 0;
  /// total.rms - combined_rms: above 0 if the steps amplify each other, below 0 if they cancel.
  double interaction = 0;
};

/// Attributes the error of method a. Runs a twice per rounding step, and twice more; computes inputs and golden values once, or
/// takes them from `options.cache`. Throws as `compute` does.
Attribution attribute(const Experiment& experiment, const Options& options = {});

/// A source's name and share, of a forward pass or of one tensor of a backward pass.
struct NamedShare {
  std::string_view name;
  StepError without, alone;  ///< as in StepShare
  double relief = 0;
};
std::vector<NamedShare> named_shares(const Attribution& attribution);

/// One row per source; `total` is the error of the method as it is.
Table shares_table(const StepError& total, std::span<const NamedShare> shares);
Table attribution_table(const Attribution& attribution);

}  // namespace attoscope
