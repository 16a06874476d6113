/// A training plan: two copies of a small transformer, trained on the same batches. One comparable value holds everything that
/// changes a number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/method.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope {

/// layer: (x - mean) / sqrt(variance + eps) * gain + bias. rms: x / sqrt(mean of x^2 + eps) * gain.
enum class Norm : std::uint8_t { layer, rms };
inline constexpr EnumArray<Norm> norm_names{"layer", "rms"};

/// A character-level GPT: learned positions, pre-norm blocks of causal attention and a GELU MLP of 4 x width, no biases in the
/// matrices, an output head that is not tied to the embedding. The vocabulary is the text's.
struct ModelShape {
  int layers = 2;
  int width = 128;  ///< of the residual stream: a multiple of `heads`
  int heads = 4;
  int context = 256;  ///< characters that attention sees at most
  Norm norm = Norm::layer;

  constexpr int head_dimension() const { return width / heads; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};
inline constexpr int max_layers = 12, max_width = 768, max_heads = 16, max_context = 1024, max_batch = 256;
inline constexpr int max_train_steps = 1'000'000;
inline constexpr double max_held_out = 0.5;

/// AdamW (arXiv 1711.05101) with clipping of the gradient's norm. The rate of step t, from 1 on, is rate t / warmup up to
/// `warmup`, then final_rate + (rate - final_rate) (1 + cos(pi (t - warmup) / (steps - warmup))) / 2.
struct Recipe {
  int batch = 8;  ///< sequences a step
  int steps = 400;
  double rate = 1e-3, final_rate = 1e-4;
  int warmup = 20;  ///< steps in which the rate rises linearly
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0.1;    ///< of matrices; not of gains, biases, embedding and positions
  double clip = 1;              ///< largest norm of the gradient; 0: not clipped
  std::uint64_t seed = 1;       ///< of the first weights
  std::uint64_t data_seed = 1;  ///< of the batches
  double loss_scale = 65536;    ///< initial scale, a power of two; formats with 8 exponent bits or more need none
  int scale_growth = 200;       ///< steps without overflow after which the loss scale doubles
  double held_out = 0.1;        ///< share of the text, at its end, that training does not see; the last loss is measured on it

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// Heads whose attention rounds nothing beyond its input.
struct HeadPlace {
  int layer = 0, head = -1;  ///< -1: all heads of the layer

  friend bool operator==(const HeadPlace&, const HeadPlace&) = default;
};

/// The computation of a model: matrix products in `format` with fp32 accumulation, attention by `method`; weights and the
/// moments of the optimiser in fp32, or rounded as they are stored.
struct TrainMethod {
  Format format = bf16;  ///< the main format D
  Method method{};
  GradPrecision gradient{};
  Rounding weights{};    ///< of the weights, when an update stores them
  Rounding optimiser{};  ///< of AdamW's two moments, likewise; the update reads the stored moments
  std::vector<HeadPlace> exact{};

  bool is_exact(int layer, int head) const;
  friend bool operator==(const TrainMethod&, const TrainMethod&) = default;
};

/// methods: a and b (arXiv 2405.02803, figure 7). reference: also b from another initialisation and b in other formats, for
/// comparison (figure 8). bisect: a and b, and a with one piece exact at a time. replay: b is trained; at every measured step a
/// takes the same step from b's state, which shows its direct effect without feedback.
enum class TrainKind : std::uint8_t { methods, reference, bisect, replay };
inline constexpr EnumArray<TrainKind> train_kind_names{"methods", "reference", "bisect", "replay"};

/// Kinds of pieces of a that are made exact one at a time: its rounding steps of the forward pass, of the backward pass, its
/// layers, or its heads.
enum class BisectBy : std::uint8_t { step, gradient, layer, head };
inline constexpr EnumArray<BisectBy> bisect_names{"step", "gradient", "layer", "head"};

/// The text to train on. The file is read outside kernels/; `corpus` then holds its characters.
struct TextSource {
  std::string file;                      ///< empty: the program's own text (`chronicle`)
  std::uint64_t digest = 0;              ///< of its bytes, so that a changed file is another plan
  std::shared_ptr<const Corpus> corpus;  ///< not compared

  friend bool operator==(const TextSource& x, const TextSource& y) { return x.file == y.file && x.digest == y.digest; }
};

/// The whole plan.
struct TrainPlan {
  TextSource text{};
  ModelShape model{};
  Recipe recipe{};
  TrainKind kind = TrainKind::methods;
  BisectBy bisect = BisectBy::step;
  TrainMethod a{}, b{};
  int measure_every = 10;
  int checkpoint_every = 100;
  bool with_exact = false;  ///< kinds methods and reference: also trains b with attention that rounds nothing beyond its input

  friend bool operator==(const TrainPlan&, const TrainPlan&) = default;
};

/// The part of the plan's text that training sees, and the held-out end. Requires the plan's corpus.
std::span<const std::uint16_t> training_text(const TrainPlan& plan);
std::span<const std::uint16_t> held_out_text(const TrainPlan& plan);

/// bf16, flash2 `eager` against `base_eager`, also exact attention, the program's text, 2 layers x 128, and eight tiles of keys
/// in a context.
TrainPlan default_train_plan();

/// Throws std::invalid_argument in one sentence with the key ("model.width"), the value and the expected one.
void validate(const TrainPlan& plan);

/// Throws likewise if the plan's corpus is missing, or a part of it is too short for the model's context.
void check_text(const TrainPlan& plan);

/// One of the models that a plan trains.
struct RunPlan {
  std::string name;  ///< "a", "b", "b, seed 2", "b in fp16", "a, O exact", "exact": unique in its plan
  TrainMethod method;
  std::uint64_t seed = 1;  ///< of its first weights

  friend bool operator==(const RunPlan&, const RunPlan&) = default;
};

/// The difference that a pair of runs shows.
enum class Role : std::uint8_t { method, initialisation, format, suspect, direct, from_exact };
inline constexpr EnumArray<Role> role_names{"method", "initialisation", "format", "suspect", "direct", "exact"};

/// Two runs whose weights are compared: x - y.
struct PairPlan {
  std::string name;  ///< "a - b", "another initialisation", "fp16 - fp32", "O exact", "a - exact"
  Role role = Role::method;
  int x = 0, y = 1;  ///< indices of the runs; for `direct` x starts every step from y's state

  friend bool operator==(const PairPlan&, const PairPlan&) = default;
};

/// True if plans of this kind may also train a model with exact attention.
constexpr bool may_add_exact(TrainKind kind) { return kind == TrainKind::methods || kind == TrainKind::reference; }
/// The method of a head that is exact: nothing is rounded beyond the input, and sums are chains of fma.
TrainMethod exact_beyond_input(TrainMethod method);
/// `method` with attention that rounds nothing beyond its input, in every layer.
TrainMethod with_exact_heads(TrainMethod method, const ModelShape& model);

/// The runs and pairs of a plan; runs 0 and 1 are a and b, pair 0 is a and b. A suspect that is exact already has none.
struct TrainRuns {
  std::vector<RunPlan> runs;
  std::vector<PairPlan> pairs;
};
TrainRuns runs_of(const TrainPlan& plan);

/// "a: policy eager -> hw, block_k 64 -> 32; recipe: rate 0.001 -> 0.002; kind methods -> replay"; empty if they are equal. A
/// change between named policies replaces the changes of their steps.
std::string plan_changes(const TrainPlan& from, const TrainPlan& to);

/// The changes among settings that must stay during training: text, model, batch, data seed and held-out part.
std::string question_changes(const TrainPlan& from, const TrainPlan& to);

/// Half a sentence that says why states of plan `from` cannot go on under plan `to` of the same question; empty: they can.
/// Another initialisation is trained from step 0, and a new seed must change a number of the later steps.
std::string untrained_start(const TrainPlan& from, const TrainPlan& to);

struct NamedPlan {
  std::string_view name, what;
  TrainPlan (*plan)();
};
std::span<const NamedPlan> named_plans();
/// The plan called `name`. Throws std::invalid_argument that lists the known ones.
TrainPlan named_plan(std::string_view name);

}  // namespace attoscope
