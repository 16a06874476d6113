// What the named figures train.
#include <utility>

#include "app/train/train_figures.h"
#include "app/train/weight_measures.h"
#include "kernels/experiment/presets.h"

namespace attoscope {
namespace {

/// A model that is trained in a second: what it shows of rounding it shows in every step. Its keys are cut into eight tiles.
TrainPlan small_plan(const FigureSettings& settings, int seed) {
  constexpr int key_tiles = 8;
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;  // a training of its own
  plan.model = {.layers = 2, .width = 32, .heads = 2, .context = 64};
  plan.recipe.batch = 2;
  plan.recipe.steps = 120;
  plan.recipe.warmup = 10;
  plan.recipe.seed = plan.recipe.data_seed = static_cast<std::uint64_t>(seed);
  plan.measure_every = 12;
  use_policy(plan, settings.policy);
  plan.a.method.block_k = plan.b.method.block_k = plan.model.context / key_tiles;
  return plan;
}

/// Attention that rounds nothing but its inputs, in a model that rounds as `m` does.
TrainMethod with_exact_attention(TrainMethod m) {
  m.method.precision = policy("exact").precision;
  m.gradient = GradPrecision{.steps = {}, .delta_from = m.gradient.delta_from};
  return m;
}

TrainPlan of(TrainPlan plan, const TrainMethod& x, const TrainMethod& y) {
  plan.a = x;
  plan.b = y;
  return plan;
}

/// Two models with exact attention that differ in their tiles alone.
FigureTraining tiles_apart(const TrainPlan& plan) {
  const TrainMethod whole = with_exact_attention(plan.a);
  TrainMethod cut = whole;
  cut.method.block_k /= 2;
  return {other_tiles, of(plan, whole, cut)};
}

/// b in fp16 and in fp32 with a loss scale under which no gradient of fp16 overflows.
FigureTraining without_skips(TrainPlan plan) {
  plan = of(std::move(plan), plan.b, plan.b);
  plan.a.format = fp16;
  plan.b.format = fp32;
  plan.recipe.loss_scale = low_loss_scale;
  return {unskipped, plan};
}

}  // namespace

void use_policy(TrainPlan& plan, const std::string& policy_of_a) {
  plan.a.method.algorithm = policy(policy_of_a).algorithm;
  plan.a.method.precision = policy(policy_of_a).precision;
  plan.a.gradient = usual_grad_policy(plan.a.method).precision;
}

std::vector<FigureTraining> weights_trainings(const FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    const TrainPlan plan = small_plan(settings, seed);
    all.push_back({"a - b", plan});
    all.push_back({"a - exact", of(plan, plan.a, with_exact_attention(plan.a))});
    all.push_back({"b - exact", of(plan, plan.b, with_exact_attention(plan.b))});
    all.push_back(tiles_apart(plan));
  }
  return all;
}

std::vector<FigureTraining> reference_trainings(const FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    TrainPlan plan = small_plan(settings, seed);
    plan.recipe.steps = 1500;  // long enough for the loss scale of fp16 to skip steps
    plan.measure_every = 50;
    all.push_back({"a - b", plan});
    all.back().plan.kind = TrainKind::reference;
    all.push_back(tiles_apart(plan));
    all.push_back(without_skips(plan));
    plan.a.format = plan.b.format = fp16;
    all.push_back({in_half, plan});
  }
  return all;
}

}  // namespace attoscope
