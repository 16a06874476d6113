// Numbers of a small random model's next tokens.
#include <array>
#include <stdexcept>

#include "app/plots/own_numbers.h"
#include "app/words/numbers.h"
#include "kernels/model/architecture.h"
#include "kernels/model/model_answer.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {
namespace {

constexpr std::string_view model_prefix = "model.";
constexpr int most_tokens = 1024;

/// A run whose logits are measured, and against which.
struct MeasuredRun {
  std::string_view name, title;
  RunMeasures ModelAnswer::* run;
};
constexpr std::array<MeasuredRun, 4> measured_runs{{{"a", "a", &ModelAnswer::a},
                                                    {"b", "b", &ModelAnswer::b},
                                                    {"bf16", "bf16 everywhere", &ModelAnswer::bf16},
                                                    {"order", "another order of sums", &ModelAnswer::order}}};
struct LogitMeasure {
  std::string_view name, title;
  double RunMeasures::* value;
};
constexpr std::array<LogitMeasure, 4> logit_measures{
    {{"dlogp_median_abs", "median |d log p|, nats", &RunMeasures::dlogp_median_abs},
     {"dlogp_mean_abs", "mean |d log p|, nats", &RunMeasures::dlogp_mean_abs},
     {"dlogp_max_abs", "max |d log p|, nats", &RunMeasures::dlogp_max_abs},
     {"kl_mean", "mean KL, nats", &RunMeasures::kl_mean}}};

/// "a.kl_mean"; or "hidden.2" and "share.2", of a layer.
struct ModelNumber {
  const MeasuredRun* run = nullptr;
  const LogitMeasure* measure = nullptr;
  int layer = -1;
  bool shares = false;
};

ModelNumber model_number_of(std::string_view measure) {
  const std::vector<std::string> words = ui::split(measure.substr(model_prefix.size()), '.');
  ModelNumber found;
  if (words.size() == 2) {
    for (const MeasuredRun& r : measured_runs)
      if (words[0] == r.name) found.run = &r;
    for (const LogitMeasure& m : logit_measures)
      if (words[1] == m.name) found.measure = &m;
    const auto layer = to_number<int>(std::string_view(words[1]));
    found.shares = words[0] == "share";
    if ((found.shares || words[0] == "hidden") && layer && *layer >= 0 && *layer < 4) found.layer = *layer;
  }
  if (found.layer < 0 && (found.run == nullptr || found.measure == nullptr))
    throw std::invalid_argument(
        "measure is " + in_quotes(measure) +
        ", expected model. and a.kl_mean, bf16.dlogp_median_abs or the like, or hidden. or share. and a layer");
  return found;
}

void check_model_number(std::string_view measure) { model_number_of(measure); }

std::string model_number_title(std::string_view measure) {
  const ModelNumber x = model_number_of(measure);
  if (x.layer >= 0)
    return (x.shares ? "part of mean |d log p| that layer " : "relative RMS error of the residual stream after layer ") +
           std::to_string(x.layer) + (x.shares ? " contributes" : "");
  return std::string(x.measure->title) + ", " + std::string(x.run->title);
}

double model_number(std::string_view measure, const Experiment& e, const Cancelled& cancelled) {
  const ModelNumber x = model_number_of(measure);
  if (e.problem.n > most_tokens)
    throw std::invalid_argument("n is " + std::to_string(e.problem.n) + ", expected at most " + std::to_string(most_tokens) +
                                " for a number of a model");
  const LanguageModel model = random_model(e.problem.seed);
  ModelQuestion q;
  q.model = &model;
  q.tokens = random_tokens(e.problem.seed, e.problem.n, model.architecture.vocabulary);
  q.a = e.a, q.b = e.b, q.format = e.format, q.seed = e.problem.seed;
  if (x.shares) q.attribute = ModelPart::layer;
  const ModelAnswer answer = answer_model(q, {.cancelled = cancelled});
  if (x.layer < 0) return (answer.*(x.run->run)).*(x.measure->value);
  if (!x.shares) return answer.layers[static_cast<std::size_t>(x.layer)].a;
  for (const ModelShare& s : answer.attribution)
    if (s.layer == x.layer) return s.share;
  return 0;
}

}  // namespace

const OwnNumbers model_numbers{model_prefix, check_model_number, model_number_title, model_number};

}  // namespace attoscope::app
