/// `attoscope train`: trains a plan from options or a checkpoint; measures and writes it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/figures/bundle.h"
#include "kernels/train/paired_training.h"
#include "kernels/train/plan/plan.h"

namespace attoscope::app {

inline constexpr std::array<FieldOption, 5> model_options{{
    {"--layers", "layers", "of the model (2)"},
    {"--width", "width", "of the residual stream, a multiple of --heads (128)"},
    {"--heads", "heads", "of attention (4)"},
    {"--context", "context", "characters that attention sees at most (256)"},
    {"--norm", "norm", "layer or rms (layer)"},
}};
inline constexpr std::array<FieldOption, 14> recipe_options{{
    {"--batch", "batch", "sequences a step (8)"},
    {"--steps", "steps", "of the whole training (400)"},
    {"--rate", "rate", "learning rate after the warm-up (0.001)"},
    {"--final-rate", "final_rate", "learning rate at the end of the cosine (a tenth of --rate)"},
    {"--warmup", "warmup", "steps in which the rate rises (20)"},
    {"--clip", "clip", "largest norm of the gradient; 0: not clipped (1)"},
    {"--weight-decay", "weight_decay", "of matrices but embedding and positions (0.1)"},
    {"--seed", "seed", "of the first weights (1)"},
    {"--data-seed", "data_seed", "of the batches (1)"},
    {"--loss-scale", "loss_scale", "to begin with, a power of two, where the format has less than 8 exponent bits (65536)"},
    {"--held-out", "held_out", "share of the text, its end, on which the loss is measured after training (0.1)"},
    {"--beta1", "beta1", "decay of AdamW's first moment (0.9)"},
    {"--beta2", "beta2", "decay of AdamW's second moment (0.95)"},
    {"--epsilon", "epsilon", "what AdamW adds to the root of its second moment (1e-8)"},
}};

/// The options as typed.
struct TrainArguments {
  Typed text, plan;  ///< plan: name of a named plan
  std::array<Typed, model_options.size()> of_model{};
  std::array<Typed, recipe_options.size()> of_recipe{};
  ExperimentOptions methods{};  ///< format, algorithm, policy, tiles, options of a, baseline, set
  Typed gradient, baseline_format, baseline_gradient;
  Typed weights, optimiser, baseline_weights, baseline_optimiser;  ///< roundings of stored weights and moments
  std::vector<std::string> exact{};                                ///< "L" or "L:H"
  Typed kind, bisect, with_exact, measure_every, checkpoint_every, until, seeds;
  std::string resume, checkpoint;       ///< files; "": none
  StyleArguments style{};               ///< of the figure
  std::string json, csv, save, figure;  ///< outputs; "" is none, "-" of json and csv standard output
  std::vector<std::string> save_qkv{};  ///< "RUN:LAYER:HEAD[:SEQUENCE]=FILE.safetensors"
  std::string device = "auto", threads = "0";
};

/// The plan that the options describe, without its text: changes of `resumed`, or of the defaults if it is null. Throws
/// std::invalid_argument in a sentence for a wrong option.
TrainPlan train_plan_of(const TrainArguments& arguments, const TrainPlan* resumed = nullptr);

/// Trains on the device that `make` returns for its name, and writes the outputs. A signal stops it between two steps. If it is
/// stopped, a or b diverges, or the last checkpoint could not be written, it still writes everything computed and then throws
/// std::runtime_error: why, and how to go on.
void train(const TrainArguments& arguments, const Streams& streams, const MakeDevice& make = primitives_on);

/// A training that runs once for each seed.
struct SeedTask {
  TrainPlan plan;  ///< plan of the first seed, with its text
  int seeds = 1, until = 0, threads = 0;
};
/// Trains one seed after the other and writes the outputs. If it is stopped, or a or b of a seed diverges, it still writes
/// everything computed and then throws std::runtime_error.
void train_seeds(const TrainArguments& arguments, const SeedTask& task, const Streams& streams);

}  // namespace attoscope::app
