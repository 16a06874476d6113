/// Named policies: where the kernels of the field round.
#pragma once

#include <span>
#include <string_view>

#include "kernels/experiment.h"

namespace attoscope {

struct Policy {
  std::string_view name;
  Algorithm algorithm;    ///< the kind of kernel it describes: flash2 stands for all online ones
  std::string_view what;  ///< one sentence
  Precision precision;
};

/// All named policies, flash first. D = the main format; what is not named is exact.
std::span<const Policy> policies();

/// The policy called `name`. Throws std::invalid_argument naming it and the known ones.
const Policy& policy(std::string_view name);

/// The name of the policy that equals `precision` and fits `algorithm`, or "" if it is nobody's.
std::string_view policy_name(const Precision& precision, Algorithm algorithm);

/// bf16, flash2 `hw` against `base_eager`, N(0,1), N=1024, d=64.
Experiment default_experiment();

}  // namespace attoscope
