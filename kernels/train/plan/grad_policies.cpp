#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {
namespace {

using enum GradStep;

constexpr GradPrecision rounded_at(std::initializer_list<GradStep> steps, DeltaFrom from) {
  GradPrecision p;
  for (const GradStep s : steps) p[s] = to_main;
  p.delta_from = from;
  return p;
}
constexpr GradPrecision rounded_everywhere(DeltaFrom from) {
  GradPrecision p;
  for (Rounding& r : p.steps) r = to_main;
  p[lse] = p[scaled_K] = exact;  // the forward pass's, and of kernels that scale K alone
  p.delta_from = from;
  return p;
}

constexpr std::array<GradPolicy, 7> known{{
    {"grad_exact", "Nothing is rounded; delta from O.", rounded_at({}, DeltaFrom::output)},
    {"grad_hw", "FlashAttention-2: P and dS enter the tensor cores in D, dQ, dK, dV leave in D.",
     rounded_at({P, dS, dV, dK, dQ}, DeltaFrom::output)},
    {"grad_eager", "Op by op on D tensors, with FlashAttention's delta.",
     rounded_at({delta, probability, P, dP, centred, dS, dV, dK, dQ}, DeltaFrom::output)},
    {"grad_all", "Every operation, with FlashAttention's delta.", rounded_everywhere(DeltaFrom::output)},
    {"grad_base_exact", "Nothing is rounded; delta from P.", rounded_at({}, DeltaFrom::probabilities)},
    {"grad_base_eager", "PyTorch's baseline: products leave in D, the softmax's backward is fused in fp32.",
     rounded_at({dP, dS, dV, dK, dQ}, DeltaFrom::probabilities)},
    {"grad_base_all", "Every operation, delta from P.", rounded_everywhere(DeltaFrom::probabilities)},
}};

}  // namespace

std::span<const GradPolicy> grad_policies() { return known; }

const GradPolicy& grad_policy(std::string_view name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const GradPolicy& p) { return p.name == name; });
  if (found != known.end()) return *found;
  std::string names;
  for (const GradPolicy& p : known) names.append(names.empty() ? "" : ", ").append(p.name);
  throw std::invalid_argument(in_quotes(name) + " is no backward policy, expected one of " + names);
}

std::string_view grad_policy_name(const GradPrecision& precision) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const GradPolicy& p) { return p.precision == precision; });
  return found == known.end() ? std::string_view{} : found->name;
}

const GradPolicy& usual_grad_policy(const Method& method) {
  const bool base = normalises_P(method.algorithm);
  const std::string_view forward = policy_name(method.precision, method.algorithm);
  if (method.precision == Precision{}) return grad_policy(base ? "grad_base_exact" : "grad_exact");
  if (forward == "hw" || forward == "tile") return grad_policy("grad_hw");
  if (forward == "eager") return grad_policy("grad_eager");
  if (forward == "base_all") return grad_policy("grad_base_all");
  if (forward.starts_with("all_")) return grad_policy("grad_all");
  return grad_policy(base ? "grad_base_eager" : "grad_hw");
}

}  // namespace attoscope
