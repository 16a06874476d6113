/// Named backward passes of attention: choices of roundings alone, which training has, too, and whole kernels as libraries
/// compute them, each with its source.
#pragma once

#include <span>
#include <string_view>

#include "kernels/experiment/gradient.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/rules.h"

namespace attoscope {

/// A named backward pass; `what` names what is not emulated, or what the source does not state.
struct GradKernel {
  std::string_view name, what, source;
  GradMethod method{};
  std::span<const TilesUpTo> tiles{};  ///< by d and mask; empty: the method's own
  bool trains = false;                 ///< training has it, too
};

/// All of them, training's first.
std::span<const GradKernel> grad_kernels();
/// The backward pass called `name`. Throws std::invalid_argument naming it and the known ones.
const GradKernel& grad_kernel(std::string_view name);

/// The backward pass called `name`, with its tiles for this head dimension and mask. Throws as grad_kernel.
GradMethod grad_method(std::string_view name, int d, const Mask& mask);
/// The name of the backward pass that equals `m`, or "".
std::string_view grad_kernel_name(const GradMethod& m, int d, const Mask& mask);
/// The name of the usual backward pass for the forward roundings of a method.
std::string_view usual_grad_kernel(const Method& method);

// --- training ---------------------------------------------------------------------------------------------------------

/// True if training's backward pass has the step. Training does not round L, nor scale K, and its only tile is all keys.
constexpr bool is_of_training(GradStep s) {
  return s != GradStep::lse && s != GradStep::scaled_K && s != GradStep::dq_tile && s != GradStep::dq_sum;
}

/// A backward pass of training: roundings alone.
struct GradPolicy {
  std::string_view name, what;
  GradPrecision precision;
};
std::span<const GradPolicy> grad_policies();
/// The policy called `name`. Throws std::invalid_argument naming it and the known ones.
const GradPolicy& grad_policy(std::string_view name);
/// The name of the policy that equals `precision`, or "".
std::string_view grad_policy_name(const GradPrecision& precision);
/// The usual backward policy for the forward policy of a method.
const GradPolicy& usual_grad_policy(const Method& method);

}  // namespace attoscope
