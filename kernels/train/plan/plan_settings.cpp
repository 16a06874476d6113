#include "kernels/train/plan/plan_settings.h"

namespace attoscope {

static Settings settings(HeadPlace& place) {
  return {{"layer", &place.layer, {0, max_layers - 1}}, {"head", &place.head, {-1, max_heads - 1}}};
}

static Settings settings(TrainMethod& x) {
  return {{"format", &x.format},   {"method", settings(x.method)}, {"gradient", settings(x.gradient)},
          {"weights", &x.weights}, {"optimiser", &x.optimiser},    {"exact", list_of(x.exact, max_layers * (max_heads + 1))}};
}

Settings settings(ModelShape& model) {
  return {{"layers", &model.layers, {1, max_layers}},
          {"width", &model.width, {8, max_width}},
          {"heads", &model.heads, {1, max_heads}},
          {"context", &model.context, {8, max_context}},
          {"norm", named(model.norm, norm_names)}};
}

Settings settings(Recipe& recipe) {
  constexpr RealRange below_one{.min = 0, .max = 0.9999999};  // also in single precision
  return {
      {"batch", &recipe.batch, {1, max_batch}},
      {"steps", &recipe.steps, {1, max_train_steps}},
      {"rate", &recipe.rate, {0, 10}},
      Setting{"final_rate", &recipe.final_rate, {0, 10}}.explained("final rate", "",
                                                                   "The learning rate at the last step, where the cosine ends.",
                                                                   "rate_t = final + (rate - final) (1 + cos(pi t)) / 2"),
      {"warmup", &recipe.warmup, {0, max_train_steps}},
      Setting{"beta1", &recipe.beta1, below_one}.explained("beta 1", "", "AdamW: the decay of the mean of gradients.",
                                                           "m = beta1 m + (1 - beta1) g"),
      Setting{"beta2", &recipe.beta2, below_one}.explained("beta 2", "", "AdamW: the decay of the mean of squares.",
                                                           "v = beta2 v + (1 - beta2) g^2"),
      Setting{"epsilon", &recipe.epsilon, {1e-30, 1e6}}.explained("epsilon", "", "AdamW: keeps the divisor above 0.",
                                                                  "W -= rate m / (sqrt(v) + epsilon)"),
      Setting{"weight_decay", &recipe.weight_decay, {0, 1}}.explained(
          "weight decay", "", "The share of its matrices that decays in a step; gains, biases and embedding do not decay.",
          "W -= rate decay W"),
      Setting{"clip", &recipe.clip, {.min = 0, .max = 1e6, .above_min = true, .zero = "off"}}.explained(
          "clip", "", "The largest norm of the gradient; a larger one is scaled down. 0: off.", "g *= min(1, clip / ||g||)"),
      Setting{"seed", &recipe.seed}.explained("seed", "", "The seed of the first weights, which both models share."),
      Setting{"data_seed", &recipe.data_seed}.explained(
          "data seed", "", "The seed of the positions in the text that the batches are taken from."),
      Setting{"loss_scale", &recipe.loss_scale, {1, 0x1p40}}.explained(
          "loss scale", "",
          "The initial factor of the loss, a power of two, in formats with fewer than 8 exponent bits; halved when a gradient "
          "overflows."),
      Setting{"scale_growth", &recipe.scale_growth, {1, max_train_steps}}.explained(
          "scale growth", "", "Steps without overflow after which the loss scale doubles."),
      Setting{"held_out", &recipe.held_out, {0, max_held_out}}.explained(
          "held out", "",
          "The share of the text, its end, that training does not see. The loss on it is measured after the last step."),
  };
}

Settings settings(TrainPlan& plan) {
  return {{"text", Settings{{"file", &plan.text.file}, {"digest", HexValue{&plan.text.digest}}}},
          {"model", settings(plan.model)},
          {"recipe", settings(plan.recipe)},
          {"kind", named(plan.kind, train_kind_names)},
          {"bisect", named(plan.bisect, bisect_names)},
          {"a", settings(plan.a)},
          {"b", settings(plan.b)},
          Setting{"measure_every", &plan.measure_every, {1, max_train_steps}}.explained(
              "measure every", "", "Steps between two measurements of the weights and heads."),
          Setting{"checkpoint_every", &plan.checkpoint_every, {1, max_train_steps}}.explained(
              "keep every", "", "Steps between two kept states, which you can go back to, fork from or inspect."),
          {"with_exact", &plan.with_exact}};
}

}  // namespace attoscope
