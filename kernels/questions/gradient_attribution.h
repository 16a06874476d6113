/// Contribution of each rounding of the backward pass to the errors of dQ, dK and dV: a's is run with one exact, and with one
/// alone.
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

/// The tensors of a backward pass that may be stored with scales.
enum class GradStored : std::uint8_t { dO, P, dS, dS_of_dK };

/// A part of the backward pass that can be made exact by itself.
struct GradSource {
  bool forward = false;               ///< the whole forward pass: O and the log-sum-exp that the backward pass takes
  GradStep step = GradStep::lse;      ///< where none of the others is given
  std::optional<GradProduct> sums{};  ///< by tensor cores; exact: a chain of fma in the working type
  std::optional<GradStored> stored{};

  friend constexpr bool operator==(const GradSource&, const GradSource&) = default;
};
/// "dS"; "forward pass"; "dQ sums"; "dO stored".
std::string_view name(const GradSource& source);
/// Description of what it rounds, for a tooltip.
std::string_view what(const GradSource& source);

/// Errors of the three gradients: [0] dQ, [1] dK, [2] dV.
using GradErrors = std::array<StepError, 3>;

struct GradShare {
  GradSource source;
  GradErrors without{}, alone{};   ///< a's errors with this one alone made exact, and with this one alone rounding
  std::array<double, 3> relief{};  ///< total.mean_abs - without.mean_abs
};

struct GradAttribution {
  Experiment experiment;
  GradErrors total{}, floor{};      ///< as the experiment has it, and with everything exact
  std::vector<GradShare> shares{};  ///< in order of the data; the panel sorts them by the tensor that it shows
};

/// Throws as `compute` does, and std::invalid_argument without a backward pass.
GradAttribution attribute_gradients(const Experiment& experiment, const Options& options = {});

/// A row for each source, with the columns of dQ, dK and dV.
Table gradient_attribution_table(const GradAttribution& attribution);

}  // namespace attoscope
