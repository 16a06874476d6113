/// The question of a whole model: by how much does attention's rounding change the next token, and which layer, head or step
/// causes it?
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/method.h"
#include "kernels/model/architecture.h"
#include "kernels/model/model_run.h"
#include "kernels/model/surroundings.h"

namespace attoscope {

/// Parts that are made exact one at a time.
enum class ModelPart : std::uint8_t { none, layer, head, step };
inline constexpr EnumArray<ModelPart> model_part_names{"", "layer", "head", "step"};

struct ModelQuestion {
  const LanguageModel* model = nullptr;
  std::vector<int> tokens;  ///< two or more
  Method a{}, b{};          ///< attention of every layer and head, or of the heads in `only`
  Format format = bf16;
  std::uint64_t seed = 1;
  Surroundings around{};  ///< arithmetic around attention in a and b
  ModelPlace only{};
  ModelPart attribute = ModelPart::none;
  bool keeps_outputs = false;  ///< keeps logits and hidden states, for files
  bool yardsticks = true;      ///< false: `bf16` and `order` of the answer stay 0
};

/// A run x against another; nats. nll: mean over the n - 1 targets; kl: KL(other || x) over n positions; dlogp: difference of
/// the targets' log-probabilities.
struct RunMeasures {
  double nll = 0, kl_mean = 0, kl_max = 0;
  int top1_flips = 0;  ///< positions with another likeliest token
  double dlogp_mean_abs = 0, dlogp_median_abs = 0, dlogp_max_abs = 0, mean_exp_abs_dlogp = 0;
};

/// RMS error of the residual stream after a layer, against the exact run, over the RMS of the exact stream.
struct LayerGrowth {
  double a = 0, b = 0;
};

/// A part of a that was made exact (-1 or "" for kinds that do not apply), and the share of dlogp_mean_abs that disappeared:
/// NaN if the mean is not finite without the part, 1 if it is not finite with it only.
struct ModelShare {
  int layer = -1, head = -1;
  std::string step;
  double share = 0;
};

/// Log-probabilities of the n - 1 targets, and the likeliest tokens after each of n positions, likeliest first, -1: none.
struct RunTokens {
  std::vector<double> logp;
  std::vector<std::array<int, 3>> likeliest;
};

struct ModelAnswer {
  double exact_nll = 0;
  RunMeasures a, b, a_b;    ///< against exact; b against a
  RunMeasures bf16, order;  ///< yardsticks: bf16 everywhere against exact; bf16 with another order of sums against it
  std::vector<LayerGrowth> layers;
  std::vector<ModelShare> attribution;  ///< largest share first, NaN last
  std::vector<double> dlogp_a;          ///< signed difference of a's log-probability from exact, for each target
  std::array<RunTokens, 3> tokens;      ///< of exact, a and b
  std::vector<double> logits_exact;     ///< [n, vocabulary] where outputs are kept
  std::vector<float> logits_a, logits_b;
  std::vector<double> hidden_exact;  ///< [layers + 1, n, width]
  std::array<double, 3> seconds{};   ///< of the runs of exact, a and b, their logits included
};

/// Shares of an attribution that outlive it. `known` returns the share that an earlier run of the same question found, before a
/// part is computed; `found` receives each new share. Either may be empty.
struct ShareMemory {
  std::function<std::optional<double>(const ModelShare& part)> known{};
  std::function<void(const ModelShare&)> found{};
};

/// Throws as `answer_model` does, before anything is computed.
void validate(const ModelQuestion& question);

/// Computes the answer: the same bits for every number of threads and instruction set. Throws std::invalid_argument in a
/// sentence, std::runtime_error if memory cannot suffice or the exact model has a number that is not finite, Stopped. Uses
/// cancelled, progress, threads and isa of `options`.
ModelAnswer answer_model(const ModelQuestion& question, const Options& options = {}, const ShareMemory& memory = {});

/// Expected seconds of the answer for each `ModelPart`, without a memory of shares. Times one layer over some of the tokens; a
/// model without weights is timed by a layer of its shapes. Throws as `answer_model` does.
std::array<double, 4> expected_seconds(ModelQuestion question, const Options& options = {});

/// The parts that will be made exact one at a time, without their shares, and the number of them.
std::vector<ModelShare> parts_of(const ModelQuestion& question);
int part_count(const ModelQuestion& question);

/// Bytes of memory for the answer, without the weights.
double model_bytes(const ModelQuestion& question);

}  // namespace attoscope
