/// Named policies: where well-known kernels round.
#pragma once

#include <span>
#include <string_view>

#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;

struct Policy {
  std::string_view name;
  Algorithm algorithm;    ///< the kind of kernel it describes; flash2 stands for all online algorithms
  std::string_view what;  ///< one sentence
  Precision precision;
  std::string_view counterpart{};  ///< the corresponding policy of the other family (`same_family`); "": none

  Method method() const { return {.algorithm = algorithm, .precision = precision}; }
};

/// All named policies, flash first. D is the main format; steps that are not mentioned are exact.
std::span<const Policy> policies();

/// The policy called `name`. Throws std::invalid_argument naming it and the known ones.
const Policy& policy(std::string_view name);

/// The name of the policy that equals `precision` and fits `algorithm`, or "" if there is none.
std::string_view policy_name(const Precision& precision, Algorithm algorithm);

/// bf16, flash2 `hw` against `base_eager`, N(0,1), N=1024, d=64.
Experiment default_experiment();

}  // namespace attoscope
