#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/train/plan/plan.h"

namespace attoscope {
namespace {

/// Two models that differ only in the storage of AdamW's moments.
TrainPlan spike() {
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;
  plan.model = {.layers = 2, .width = 32, .heads = 2, .context = 64};
  plan.a.method = plan.b.method;
  plan.a.gradient = plan.b.gradient;
  plan.a.method.block_k = plan.b.method.block_k = 8;
  plan.a.optimiser = {Rounding::Kind::format, fp16, true};
  plan.b.optimiser = {Rounding::Kind::format, bf16, true};
  plan.recipe.batch = 4;
  plan.recipe.steps = 100;
  plan.recipe.epsilon = 2e-8;
  return plan;
}

constexpr std::array<NamedPlan, 1> plans{{
    {"spike", "a loss spike: a stores the moments of AdamW in fp16, b in bf16, both stochastically rounded", spike},
}};

}  // namespace

std::span<const NamedPlan> named_plans() { return plans; }

TrainPlan named_plan(std::string_view name) {
  const auto* const found = std::ranges::find(plans, name, &NamedPlan::name);
  if (found != plans.end()) return found->plan();
  std::string known;
  for (const NamedPlan& p : plans) known.append(known.empty() ? "" : ", ").append(p.name);
  throw std::invalid_argument("'" + std::string(name) + "' is no plan, expected " + known);
}

}  // namespace attoscope
