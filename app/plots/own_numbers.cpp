// Own numbers: of a small training, of tensor cores' sums, and of a small random model's next tokens.
#include "app/plots/own_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "kernels/model/architecture.h"
#include "kernels/model/model_answer.h"
#include "kernels/questions/sum_drift.h"
#include "kernels/train/plan/plan.h"

namespace attoscope::app {
namespace {

// --- a small training ----------------------------------------------------------------------------------------------------

constexpr std::string_view train_prefix = "train.";

/// Pair of models whose weights are compared.
struct PairText {
  std::string_view name, title;
};
constexpr std::array<PairText, 5> pairs{{{"", "Flash Attention - baseline"},
                                         {"a_exact.", "Flash Attention - exact attention"},
                                         {"b_exact.", "baseline - exact attention"},
                                         {"format.", "baseline - baseline in fp32"},
                                         {"seed.", "baseline from another seed - baseline"}}};
/// Distance between their weights.
struct DistanceText {
  std::string_view name, title;
  double WeightDeviation::* value;
};
constexpr std::array<DistanceText, 3> distances{{{"rel_l2", "relative L2", &WeightDeviation::rel_l2},
                                                 {"wasserstein", "Wasserstein-1", &WeightDeviation::wasserstein},
                                                 {"max_abs", "max |dW|", &WeightDeviation::max_abs}}};
/// Measure: direct effect of a's arithmetic on one step, as a share of that step.
constexpr std::string_view direct = "direct";

/// Measure of the plan `spike`: largest rise of a model's loss above its minimum before; infinite after a divergence.
constexpr std::array<std::string_view, 2> rises{"train.spike.rise.a", "train.spike.rise.b"};

struct Asked {
  const PairText* pair = nullptr;
  const DistanceText* distance = nullptr;
};
Asked asked_of(std::string_view measure) {
  measure.remove_prefix(train_prefix.size());
  for (const PairText& p : pairs)
    for (const DistanceText& d : distances)
      if (measure == std::string(p.name) + std::string(d.name)) return {&p, &d};
  return {};
}

/// True if attention rounds only its inputs, forward and backward.
bool rounds_nothing(const Method& m) { return m.precision == policy("exact").precision; }
GradPrecision exact_gradient(const Method& m) {
  return {.steps = {}, .delta_from = normalises_P(m.algorithm) ? DeltaFrom::probabilities : DeltaFrom::output};
}

/// Plan of a model that trains in less than a second.
TrainPlan small_plan(const Experiment& e) {
  constexpr TrainedModel m = trained_model;
  TrainPlan plan;
  plan.model = {.layers = m.layers, .width = m.width, .heads = m.heads, .context = m.context};
  plan.recipe.batch = m.batch;
  plan.recipe.steps = plan.measure_every = m.steps;
  plan.recipe.warmup = m.warmup;
  plan.recipe.seed = plan.recipe.data_seed = e.problem.seed;
  for (const auto& [method, to] : {std::pair{&e.a, &plan.a}, std::pair{&e.b, &plan.b}}) {
    to->format = e.format;
    to->method = *method;
    to->method.block_k = std::min(method->block_k, m.context / m.key_tiles);
    to->gradient = rounds_nothing(to->method) ? exact_gradient(to->method) : usual_grad_policy(to->method).precision;
  }
  return plan;
}

/// Replaces the attention by one that rounds only its inputs.
TrainMethod with_exact_attention(TrainMethod m) {
  m.method.precision = policy("exact").precision;
  m.gradient = exact_gradient(m.method);
  return m;
}

/// Plan of a measure: its first pair, its direct effect, or its other initialisation is measured.
TrainPlan plan_of(const Asked& asked, const Experiment& e) {
  TrainPlan plan = small_plan(e);
  if (asked.pair == nullptr) {
    plan.kind = TrainKind::replay;
    return plan;
  }
  if (asked.pair->name == "a_exact.") plan.b = with_exact_attention(plan.b);
  if (asked.pair->name == "b_exact.") {
    plan.a = plan.b;
    plan.b = with_exact_attention(plan.b);
  }
  if (asked.pair->name == "format.") {
    plan.a = plan.b;
    plan.b.format = fp32;
  }
  if (asked.pair->name == "seed.") {
    plan.a = plan.b;
    plan.kind = TrainKind::reference;
  }
  return plan;
}

const PairPoint& last_point(const TrainRecord& record, Role role) {
  const auto pair = std::ranges::find(record.pairs, role, [](const PairRecord& p) { return p.pair.role; });
  if (pair == record.pairs.end() || pair->points.empty()) throw std::runtime_error("the training ended before it was measured");
  return pair->points.back();
}

TrainPlan spike_plan(std::uint64_t seed) {
  TrainPlan plan = named_plan("spike");
  plan.recipe.seed = plan.recipe.data_seed = seed;
  return plan;
}

bool is_of_spike(std::string_view measure) {
  return measure == train_losses || std::ranges::find(rises, measure) != rises.end();
}

double rise(const RunRecord& run) {
  if (!run.stopped.empty()) return INFINITY;
  double least = INFINITY, most = 0;
  for (const StepReport& s : run.steps) {
    least = std::fmin(least, s.loss);
    most = std::fmax(most, s.loss - least);
  }
  return most;
}

void check_train_number(std::string_view measure) {
  if (measure == std::string(train_prefix) + std::string(direct) || is_of_spike(measure) || asked_of(measure).pair != nullptr)
    return;
  std::string known = std::string(train_prefix) + std::string(direct);
  for (const PairText& p : pairs)
    for (const DistanceText& d : distances) known.append(", ").append(train_prefix).append(p.name).append(d.name);
  throw std::invalid_argument("measure is " + in_quotes(measure) + ", expected one of a training such as " + known);
}

std::string train_number_title(std::string_view measure) {
  if (measure == train_losses) return "loss";
  if (is_of_spike(measure)) return std::string("largest rise of the loss of ") + measure.back();
  const Asked asked = asked_of(measure);
  if (asked.pair == nullptr) return "a's step off by, as a share of the step";
  return "weights of " + std::string(asked.pair->title) + ", " + std::string(asked.distance->title) + ", after " +
         std::to_string(trained_model.steps) + " steps";
}

double train_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled) {
  TrainPlan plan = train_number_plan(measure, experiment);
  if (measure == rises[1]) plan.a = plan.b;  // a training ends where one of its models diverges, and a may
  const TrainRecord record = trained(plan, {.cancelled = cancelled}).record;
  if (is_of_spike(measure)) return rise(record.runs[measure == rises[0] ? 0 : 1]);
  const Role role = plan.kind == TrainKind::reference ? Role::initialisation
                    : plan.kind == TrainKind::replay  ? Role::direct
                                                      : Role::method;
  const WeightDeviation d = last_point(record, role).deviations.at(0);
  const Asked asked = asked_of(measure);
  return asked.pair == nullptr ? d.rel_l2 / d.step_size : d.*(asked.distance->value);
}

// --- tensor cores' sums --------------------------------------------------------------------------------------------------

constexpr std::string_view sum_prefix = "sum.", flush = "flush", centred = "centred";
constexpr int largest_flush = 1 << 20;

[[noreturn]] void refuse_measure(std::string_view measure) {
  throw std::invalid_argument("measure is " + in_quotes(measure) +
                              ", expected sum. and a GPU, then perhaps .flush with a number of tiles, and .centred");
}

SumDrift question_of(std::string_view measure) {
  const std::vector<std::string_view> words = attoscope::split(measure.substr(sum_prefix.size()), ".");
  SumDrift q{.gpu = parse_tensor_core(words[0])};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool flushes = words[i].starts_with(flush);
    const auto tiles = flushes ? to_number<int>(words[i].substr(flush.size())) : std::nullopt;
    if (flushes ? !tiles || *tiles < 1 || *tiles > largest_flush : words[i] != centred) refuse_measure(measure);
    if (flushes) q.flush = *tiles;
    if (!flushes) q.mean = 0;
  }
  return q;
}

void check_sum_number(std::string_view measure) { question_of(measure); }

std::string sum_number_title(std::string_view measure) {
  const SumDrift q = question_of(measure);
  std::string title = "mean |error| of P·V on " + std::string(name(q.gpu)) + ", of mean |P·V|";
  if (q.flush > 0) title += ", flushed every " + std::to_string(q.flush) + " tiles";
  return title + (q.mean == 0 ? ", V of mean 0" : "");
}

double sum_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled) {
  SumDrift q = question_of(measure);
  q.n = experiment.problem.n;
  q.format = experiment.format;
  q.seed = experiment.problem.seed;
  return sum_drift(q, cancelled);
}

// --- a small random model ------------------------------------------------------------------------------------------------

constexpr std::string_view model_prefix = "model.";
constexpr int most_tokens = 1024;

/// A run of the model whose logits are measured.
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

/// Parsed "a.kl_mean"; or "hidden.2" and "share.2" for a layer.
struct ModelNumber {
  const MeasuredRun* run = nullptr;
  const LogitMeasure* measure = nullptr;
  int layer = -1;
  bool shares = false;
};

ModelNumber model_number_of(std::string_view measure) {
  const std::vector<std::string_view> words = attoscope::split(measure.substr(model_prefix.size()), ".");
  ModelNumber found;
  if (words.size() == 2) {
    for (const MeasuredRun& r : measured_runs)
      if (words[0] == r.name) found.run = &r;
    for (const LogitMeasure& m : logit_measures)
      if (words[1] == m.name) found.measure = &m;
    const auto layer = to_number<int>(words[1]);
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
  q.a = e.a;
  q.b = e.b;
  q.format = e.format;
  q.seed = e.problem.seed;
  if (x.shares) q.attribute = ModelPart::layer;
  const ModelAnswer answer = answer_model(q, {.cancelled = cancelled});
  if (x.layer < 0) return (answer.*(x.run->run)).*(x.measure->value);
  if (!x.shares) return answer.layers[static_cast<std::size_t>(x.layer)].a;
  for (const ModelShare& s : answer.attribution)
    if (s.layer == x.layer) return s.share;
  return 0;
}

}  // namespace

const OwnNumbers train_numbers{train_prefix, check_train_number, train_number_title, train_number};
const OwnNumbers sum_numbers{sum_prefix, check_sum_number, sum_number_title, sum_number};
const OwnNumbers model_numbers{model_prefix, check_model_number, model_number_title, model_number};

std::vector<std::pair<double, double>> spike_losses(std::uint64_t seed, const Cancelled& cancelled) {
  const TrainRecord record = trained(spike_plan(seed), {.cancelled = cancelled}).record;
  std::vector<std::pair<double, double>> losses(static_cast<std::size_t>(record.plan.recipe.steps), {NAN, NAN});
  for (const StepReport& s : record.runs[0].steps) losses[static_cast<std::size_t>(s.step - 1)].first = s.loss;
  for (const StepReport& s : record.runs[1].steps) losses[static_cast<std::size_t>(s.step - 1)].second = s.loss;
  return losses;
}

TrainPlan train_number_plan(std::string_view measure, const Experiment& experiment) {
  check_train_number(measure);
  if (is_of_spike(measure)) return spike_plan(experiment.problem.seed);
  return plan_of(asked_of(measure), experiment);
}

}  // namespace attoscope::app
