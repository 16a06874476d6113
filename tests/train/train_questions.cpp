#include "tests/train/train_questions.h"

#include "kernels/experiment/presets.h"
#include "tests/support/support.h"

namespace attoscope::testing {
namespace {

using Array = DeviceArray<float, float>;

Array normals(Primitives<float>& on, std::size_t count, Dice& dice) {
  std::vector<float> x(count);
  for (float& v : x) v = static_cast<float>(dice.normal());
  Array array(on, count);
  array.write(x);
  return array;
}

TrainMethod any_method(Dice& dice) {
  constexpr Format formats[] = {fp32, bf16, fp16, e5m2};
  const Policy& any = policies()[dice.bits() % policies().size()];
  TrainMethod x = small_tiled(dice.any(formats), any.algorithm, any.name);
  if (!normalises_P(any.algorithm) && dice.one_in(2)) {
    constexpr Algorithm flash[] = {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv};
    x.method.algorithm = dice.any(flash);
  }
  x.method.block_k = dice.between(1, 40);
  x.method.reverse_keys = dice.one_in(4);
  const std::span<const GradPolicy> backward = grad_policies();
  x.gradient = backward[dice.bits() % backward.size()].precision;
  if (dice.one_in(3)) x.gradient.delta_from = DeltaFrom::probabilities;
  if (dice.one_in(5)) make_stochastic(x.method, dice, 3);
  return x;
}

std::vector<double> attention(Primitives<float>& on, std::uint64_t seed) {
  Dice dice(seed);
  const int heads = dice.between(1, 3), d = dice.between(1, dice.one_in(6) ? 70 : 20), sequences = dice.between(1, 3);
  const ModelShape shape{1, heads * d, heads, dice.between(1, dice.one_in(3) ? 140 : 30), Norm::layer};
  const TrainMethod method = any_method(dice);
  std::vector<HeadRule<float>> rules;
  for (int h = 0; h < heads; ++h) rules.push_back(head_rule<float>(shape, method, dice.one_in(4)));
  const std::int64_t stride = shape.width + dice.between(0, 3), rows = std::int64_t{sequences} * shape.context;
  const auto size = static_cast<std::size_t>(rows * stride), states = static_cast<std::size_t>(rows * heads);
  const Array q = normals(on, size, dice), k = normals(on, size, dice), v = normals(on, size, dice),
              d_o = normals(on, size, dice);
  const Array o(on, size), d_q(on, size), d_k(on, size), d_v(on, size), m(on, states), l(on, states);
  const HeadBatch<float> batch{.rules = rules.data(),
                               .sequences = sequences,
                               .heads = heads,
                               .context = shape.context,
                               .d = d,
                               .row_stride = stride,
                               .q = q.get(),
                               .k = k.get(),
                               .v = v.get(),
                               .o = o.get(),
                               .m = m.get(),
                               .l = l.get(),
                               .rounding_seed = dice.bits()};
  on.attention(batch);
  on.attention_gradient({.forward = batch, .d_o = d_o.get(), .d_q = d_q.get(), .d_k = d_k.get(), .d_v = d_v.get()});
  std::vector<double> answer;
  for (const Array* written : {&o, &m, &l, &d_q, &d_k, &d_v})
    for (const float x : written->read()) answer.push_back(static_cast<double>(x));
  return answer;
}

}  // namespace

PrimitiveQuestion<float> attention_question() { return {"attention", attention}; }

TrainMethod small_tiled(const Format& format, Algorithm algorithm, std::string_view policy_name) {
  TrainMethod x{.format = format};
  x.method.algorithm = algorithm;
  x.method.block_k = 5;
  x.method.precision = policy(policy_name).precision;
  x.gradient = usual_grad_policy(x.method).precision;
  return x;
}

TrainPlan made_up_plan(const ModelShape& model, int batch, const TrainMethod& method) {
  Dice dice(11);
  std::string text;
  while (text.size() < 4 * min_text) {
    text += static_cast<char>('a' + dice.between(0, 25));
    text += dice.one_in(5) ? ' ' : 'e';
  }
  TrainPlan plan;
  plan.text.corpus = corpus_of(text, "a made-up text");
  plan.model = model;
  plan.recipe.batch = batch;
  plan.recipe.held_out = 0;
  plan.recipe.warmup = 2;
  plan.recipe.rate = 1e-2;
  plan.a = plan.b = method;
  return plan;
}

std::vector<double> trained(const TrainPlan& plan, int steps, std::unique_ptr<Primitives<float>> on) {
  Trainer trainer(plan, runs_of(plan).runs.front(), std::move(on));
  std::vector<double> all;
  for (int step = 0; step < steps; ++step) {
    const StepReport report = trainer.step(false);
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  const TrainState state = trainer.state();
  for (const std::vector<float>* part : {&state.weights, &state.m, &state.v}) all.insert(all.end(), part->begin(), part->end());
  return all;
}

}  // namespace attoscope::testing
