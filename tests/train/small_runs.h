/// Helpers of the tests of models and runs: small plans, their model, and pairs of runs.
#pragma once

#include <string>

#include "kernels/train/paired_training.h"
#include "kernels/train/trainer.h"
#include "tests/reference/plain_primitives.h"
#include "tests/support/train_support.h"
#include "tests/train/train_questions.h"

namespace attoscope::testing {

inline TrainMethod eager_in(const Format& format) { return small_tiled(format, Algorithm::flash2, "eager"); }
inline TrainMethod baseline_in(const Format& format) { return small_tiled(format, Algorithm::three_pass, "base_eager"); }

/// A plan of 60 steps of 2 layers x 16.
inline TrainPlan small_plan(const TrainMethod& a = eager_in(bf16)) {
  TrainPlan plan = made_up_plan({.layers = 2, .width = 16, .heads = 2, .context = 16}, 2, a);
  plan.recipe.steps = 60;
  plan.recipe.final_rate = 1e-3;
  plan.recipe.warmup = 5;
  return plan;
}

/// A model in float with the weights of its seed.
struct FloatModel {
  explicit FloatModel(const TrainPlan& train_plan, std::unique_ptr<Primitives<float>> device = plain::primitives<float>())
      : plan(train_plan),
        on(std::move(device)),
        model(plan.model, static_cast<int>(plan.text.corpus->characters.size()), plan.recipe.batch, plan.a, *on),
        weights(*on, model.parameters().size),
        gradient(*on, weights.size()) {
    weights.write(first_weights(model.parameters(), plan.model, plan.recipe.seed));
  }
  double forward(int step = 1) {
    const Recipe& recipe = plan.recipe;
    return model.forward(weights.get(), batch_at(training_text(plan), recipe.data_seed, step, recipe.batch, plan.model.context),
                         0);
  }
  std::vector<float> gradient_of(float scale, int step = 1) {
    forward(step);
    model.backward(weights.get(), scale, gradient.get());
    return gradient.read();
  }

  TrainPlan plan;
  std::unique_ptr<Primitives<float>> on;
  Model<float> model;
  DeviceArray<float, float> weights, gradient;
};

/// A pair of tiny models that learn words.
inline TrainPlan tiny_plan(TrainKind kind = TrainKind::methods, int steps = 8) {
  TrainPlan plan = tiny_training("words", steps);
  plan.text = {"words", 1, corpus_of(made_text(4000), "words")};
  plan.kind = kind;
  return plan;
}

/// Takes steps up to `step`, or until no further step is possible.
inline void run_until(PairedTraining& training, int step) {
  while (training.record().step < step && training.step()) {
  }
}

/// The training after `steps` steps on one thread of the CPU.
inline PairedTraining trained_pair(const TrainPlan& plan, int steps) {
  PairedTraining training(plan, primitives_on("cpu", 1));
  run_until(training, steps);
  return training;
}
inline PairedTraining trained_pair(const TrainPlan& plan) { return trained_pair(plan, plan.recipe.steps); }

}  // namespace attoscope::testing
