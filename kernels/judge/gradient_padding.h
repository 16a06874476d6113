/// Padded keys and queries, which tiles hold beyond the last one: their rows are 0, so are their scores, and P is exp(0 - L).
#pragma once

#include <optional>

#include "kernels/judge/gradient_group.h"

namespace attoscope {

/// The name of a wrong dQ whose wrong rows are those where a padded key's P or dS is infinite, times K = 0, and of a dK or dV
/// that is NaN for every key where the last query's L makes a padded query's P infinite. Finite ones times 0 leave no trace.
std::optional<GradientSlip> padding_slip(const GradientGroup& group, const TensorJudgement& wrong);

}  // namespace attoscope
