/// The fields of a training plan with their ranges, listed once: `validate`, session files and checkpoints read this.
#pragma once

#include "kernels/experiment/experiment_fields.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

template <class V, class M>
void visit_model_shape(V& v, M& model) {
  v.integer("layers", model.layers, 1, max_layers);
  v.integer("width", model.width, 8, max_width);
  v.integer("heads", model.heads, 1, max_heads);
  v.integer("context", model.context, 8, max_context);
  v.choice("norm", model.norm, norm_names);
}

template <class V, class R>
void visit_recipe(V& v, R& recipe) {
  constexpr RealRange share{.min = 0, .max = 1}, below_one{.min = 0, .max = 0.9999999};  // also in single precision
  v.integer("batch", recipe.batch, 1, max_batch);
  v.integer("steps", recipe.steps, 1, max_train_steps);
  v.real("rate", recipe.rate, RealRange{.min = 0, .max = 10});
  v.real("final_rate", recipe.final_rate, RealRange{.min = 0, .max = 10});
  v.integer("warmup", recipe.warmup, 0, max_train_steps);
  v.real("beta1", recipe.beta1, below_one);
  v.real("beta2", recipe.beta2, below_one);
  v.real("epsilon", recipe.epsilon, RealRange{.min = 1e-30, .max = 1e6});
  v.real("weight_decay", recipe.weight_decay, share);
  v.real("clip", recipe.clip, RealRange{.min = 0, .max = 1e6, .above_min = true, .zero = "off"});
  v.integer("seed", recipe.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.integer("data_seed", recipe.data_seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.real("loss_scale", recipe.loss_scale, RealRange{.min = 1, .max = 0x1p40});
  v.integer("scale_growth", recipe.scale_growth, 1, max_train_steps);
  v.real("held_out", recipe.held_out, RealRange{.min = 0, .max = max_held_out});
}

template <class V, class G>
void visit_gradient(V& v, G& gradient) {
  for (int i = 0; i < grad_step_count; ++i) v.rounding(name(static_cast<GradStep>(i)), gradient[static_cast<GradStep>(i)]);
  v.choice("delta_from", gradient.delta_from, delta_from_names);
}

template <class V, class M>
void visit_train_method(V& v, M& x) {
  v.format("format", x.format);
  v.object("method", [&](auto& inner) { visit_method(inner, x.method); });
  v.object("gradient", [&](auto& inner) { visit_gradient(inner, x.gradient); });
  v.rounding("weights", x.weights);
  v.rounding("optimiser", x.optimiser);
  v.list("exact", x.exact, max_layers * (max_heads + 1), [](auto& inner, auto& place) {
    inner.integer("layer", place.layer, 0, max_layers - 1);
    inner.integer("head", place.head, -1, max_heads - 1);
  });
}

template <class V, class P>
void visit_train_plan(V& v, P& plan) {
  v.object("text", [&](auto& inner) {
    inner.text("file", plan.text.file);
    inner.hex("digest", plan.text.digest);
  });
  v.object("model", [&](auto& inner) { visit_model_shape(inner, plan.model); });
  v.object("recipe", [&](auto& inner) { visit_recipe(inner, plan.recipe); });
  v.choice("kind", plan.kind, train_kind_names);
  v.choice("bisect", plan.bisect, bisect_names);
  v.object("a", [&](auto& inner) { visit_train_method(inner, plan.a); });
  v.object("b", [&](auto& inner) { visit_train_method(inner, plan.b); });
  v.integer("measure_every", plan.measure_every, 1, max_train_steps);
  v.integer("checkpoint_every", plan.checkpoint_every, 1, max_train_steps);
  v.flag("with_exact", plan.with_exact);
}

}  // namespace attoscope
