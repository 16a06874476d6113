/// A text and a training plan that runs in a moment.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/train/plan/plan.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {

/// A random text of 16 words of a few letters: predictable enough to learn from.
inline std::string made_text(std::size_t characters, std::uint64_t seed = 1) {
  std::string text;
  std::uint64_t x = seed;
  while (text.size() < characters) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const int word = static_cast<int>(x >> 60);
    for (int i = 0; i <= word % 5; ++i) text += static_cast<char>('a' + (word * 7 + i * i) % 19);
    text += word == 3 ? ".\n" : " ";
  }
  return text;
}

/// A plan for two layers of two heads of 8 channels; does not read the text.
inline TrainPlan tiny_training(const std::string& text_file, int steps = 12) {
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;  // two models are enough for most tests
  plan.text.file = text_file;
  plan.model = {.layers = 2, .width = 16, .heads = 2, .context = 16};
  plan.recipe.batch = 2;
  plan.recipe.steps = steps;
  plan.recipe.warmup = 2;
  plan.measure_every = 3;
  plan.checkpoint_every = 4;
  return plan;
}

}  // namespace attoscope::testing
