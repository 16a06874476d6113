/// Contribution of each rounding of the backward pass to the errors of dQ, dK and dV: runs a's backward pass with one rounding
/// exact, and with only one rounding.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradient.h"
#include "kernels/experiment/table.h"
#include "kernels/questions/attribution.h"

namespace attoscope {

/// A part of the backward pass that can be made exact.
struct GradSource {
  bool forward = false;               ///< the whole forward pass: O and the log-sum-exp that the backward pass reads
  GradStep step = GradStep::lse;      ///< used if no other member is set
  std::optional<GradProduct> sums{};  ///< sums by tensor cores; exact: a chain of fma in the working type
  std::optional<GradStored> stored{};

  friend constexpr bool operator==(const GradSource&, const GradSource&) = default;
};
/// "dS"; "forward pass"; "dQ sums"; "dO stored".
std::string_view name(const GradSource& source);
/// Description of the source's rounding, for a tooltip.
std::string_view what(const GradSource& source);

/// Errors of the three gradients: [0] dQ, [1] dK, [2] dV.
using GradErrors = std::array<StepError, 3>;

struct GradShare {
  GradSource source;
  GradErrors without{}, alone{};   ///< a's errors if only this source is exact, and if only this source rounds
  std::array<double, 3> relief{};  ///< total.mean_abs - without.mean_abs
};

struct GradAttribution {
  Experiment experiment;
  GradErrors total{}, floor{};      ///< of the experiment's method, and with everything exact
  std::vector<GradShare> shares{};  ///< in data order; the panel sorts them by the tensor that it shows
};

/// Throws as `compute` does; std::invalid_argument without a backward pass.
GradAttribution attribute_gradients(const Experiment& experiment, const Options& options = {});

/// One row per source, with columns of dQ, dK and dV.
Table gradient_attribution_table(const GradAttribution& attribution);

}  // namespace attoscope
