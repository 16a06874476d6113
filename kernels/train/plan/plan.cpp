#include "kernels/train/plan/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/train/plan/plan_settings.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& expected) {
  throw std::invalid_argument(key + " is " + value + ", expected " + expected);
}

void check_sizes(const ModelShape& shape, const Recipe& recipe) {
  if (shape.width % shape.heads != 0)
    refuse("model.width", std::to_string(shape.width), "a multiple of model.heads, which is " + std::to_string(shape.heads));
  if (std::exp2(std::round(std::log2(recipe.loss_scale))) != recipe.loss_scale)
    refuse("recipe.loss_scale", shortest(recipe.loss_scale), "a power of two");
  if (recipe.final_rate > recipe.rate)
    refuse("recipe.final_rate", shortest(recipe.final_rate), "at most recipe.rate, which is " + shortest(recipe.rate));
}

/// Checks the method as in an experiment with the shape of a head.
void check_method(const TrainPlan& plan, const TrainMethod& x, const std::string& key) {
  if (!is_emulated(x.method.algorithm))
    refuse(key + ".method.algorithm", std::string(name(x.method.algorithm)), "one that is emulated: " + listed(emulated_names));
  if (x.method.scaling.any())
    refuse(key + ".method.scaling", "on", "off for Q, K, V and P: the backward passes of their kernels are not known");
  Experiment e;
  e.problem.n = plan.model.context;
  e.problem.d = plan.model.head_dimension();
  e.problem.mask.kind = Mask::Kind::causal;
  e.format = x.format;
  e.a = e.b = x.method;
  validate(e);
  const std::string narrow = "formats of at most 24 significant bits: weights are fp32";
  const auto check_width = [&](const std::string& part, const Rounding& r) {
    if (r.kind == Rounding::Kind::format && r.format.mantissa_bits > 23) refuse(key + part, name(r.format), narrow);
  };
  check_width(".weights", x.weights);
  check_width(".optimiser", x.optimiser);
  for (const GradStepInfo& step : grad_step_infos) {
    const std::string part = ".gradient." + std::string(step.name);
    const Rounding& r = x.gradient[step.step];
    if (r != exact && !is_of_training(step.step))
      refuse(key + part, rounding_text(r), "exact: the backward pass of training does not round it");
    check_width(part, r);
  }
  if (works_in_double(e)) refuse(key + ".format", name(x.format), narrow);
  for (const HeadPlace& place : x.exact)
    if (place.layer >= plan.model.layers || place.head >= plan.model.heads)
      refuse(key + ".exact", std::to_string(place.layer) + ":" + std::to_string(place.head), "a layer and a head of the model");
}

/// b with everything in `format`.
RunPlan in_format(const TrainPlan& plan, const Format& format) {
  RunPlan run{"b in " + name(format), plan.b, plan.recipe.seed};
  run.method.format = format;
  return run;
}

/// The index of a run that equals `run` except for its name; adds `run` if there is none.
int place_of(std::vector<RunPlan>& runs, const RunPlan& run) {
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].method == run.method && runs[i].seed == run.seed) return static_cast<int>(i);
  runs.push_back(run);
  return static_cast<int>(runs.size()) - 1;
}

void add_reference(const TrainPlan& plan, TrainRuns& all) {
  const std::uint64_t seed = plan.recipe.seed + 1;
  const RunPlan other{"b, seed " + std::to_string(seed), plan.b, seed};
  all.pairs.push_back({"another initialisation", Role::initialisation, place_of(all.runs, other), 1});
  const int single = place_of(all.runs, in_format(plan, fp32)), half = place_of(all.runs, in_format(plan, fp16)),
            brain = place_of(all.runs, in_format(plan, bf16));
  all.pairs.push_back({"fp16 - fp32", Role::format, half, single});
  all.pairs.push_back({"bf16 - fp32", Role::format, brain, single});
  all.pairs.push_back({"fp16 - bf16", Role::format, half, brain});
}

/// Adds b with exact attention, and the pairs of a and b with it.
void add_exact(const TrainPlan& plan, TrainRuns& all) {
  const int exact_run = static_cast<int>(all.runs.size());
  all.runs.push_back({"exact", with_exact_heads(plan.b, plan.model), plan.recipe.seed});
  all.pairs.push_back({"a - exact", Role::from_exact, 0, exact_run});
  all.pairs.push_back({"b - exact", Role::from_exact, 1, exact_run});
}

void add_suspect(const TrainPlan& plan, TrainRuns& all, const std::string& what, const TrainMethod& method) {
  all.runs.push_back({"a, " + what, method, plan.recipe.seed});
  all.pairs.push_back({what, Role::suspect, static_cast<int>(all.runs.size()) - 1, 1});
}

void add_exact_steps(const TrainPlan& plan, TrainRuns& all) {
  for (int i = 0; i < step_count; ++i) {
    TrainMethod method = plan.a;
    Rounding& rounding = method.method.precision[static_cast<Step>(i)];
    if (rounding == exact) continue;
    rounding = exact;
    add_suspect(plan, all, std::string(name(static_cast<Step>(i))) + " exact", method);
  }
}

void add_exact_gradients(const TrainPlan& plan, TrainRuns& all) {
  for (int i = 0; i < grad_step_count; ++i) {
    TrainMethod method = plan.a;
    Rounding& rounding = method.gradient[static_cast<GradStep>(i)];
    if (rounding == exact || !is_of_training(static_cast<GradStep>(i))) continue;
    rounding = exact;
    add_suspect(plan, all, std::string(name(static_cast<GradStep>(i))) + " exact", method);
  }
}

void add_exact_places(const TrainPlan& plan, TrainRuns& all, bool heads) {
  for (int layer = 0; layer < plan.model.layers; ++layer)
    for (int head = heads ? 0 : -1; head < (heads ? plan.model.heads : 0); ++head) {
      if (plan.a.is_exact(layer, head)) continue;
      TrainMethod method = plan.a;
      method.exact.push_back({layer, head});
      add_suspect(plan, all, "layer " + std::to_string(layer) + (heads ? " head " + std::to_string(head) : "") + " exact",
                  method);
    }
}

void add_suspects(const TrainPlan& plan, TrainRuns& all) {
  switch (plan.bisect) {
    case BisectBy::step:
      return add_exact_steps(plan, all);
    case BisectBy::gradient:
      return add_exact_gradients(plan, all);
    case BisectBy::layer:
      return add_exact_places(plan, all, false);
    case BisectBy::head:
      return add_exact_places(plan, all, true);
  }
}

/// Two models that differ only in the storage of AdamW's moments.
TrainPlan spike() {
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;
  plan.model = {.layers = 2, .width = 32, .heads = 2, .context = 64};
  plan.a.method = plan.b.method;
  plan.a.gradient = plan.b.gradient;
  plan.a.method.block_k = plan.b.method.block_k = 8;
  plan.a.optimiser = {Rounding::Kind::format, fp16, true};
  plan.b.optimiser = {Rounding::Kind::format, bf16, true};
  plan.recipe.batch = 4;
  plan.recipe.steps = 100;
  plan.recipe.epsilon = 2e-8;
  return plan;
}

constexpr std::array<NamedPlan, 1> plans{{
    {"spike", "a loss spike: a stores the moments of AdamW in fp16, b in bf16, both stochastically rounded", spike},
}};

/// Number of characters of the plan's text in the training part.
std::size_t trained_characters(const TrainPlan& plan) {
  const std::size_t all = plan.text.corpus->text.size();
  return all - static_cast<std::size_t>(static_cast<double>(all) * plan.recipe.held_out);
}

}  // namespace

bool TrainMethod::is_exact(int layer, int head) const {
  return std::any_of(exact.begin(), exact.end(),
                     [&](const HeadPlace& p) { return p.layer == layer && (p.head < 0 || p.head == head); });
}

TrainMethod exact_beyond_input(TrainMethod method) {
  const Rounding input = method.method.precision[Step::input];
  method.method.precision.steps = {};
  method.method.precision[Step::input] = input;
  method.gradient.steps = {};
  method.method.accumulator = {};
  method.method.partial = exact;
  return method;
}

TrainMethod with_exact_heads(TrainMethod method, const ModelShape& model) {
  method.exact.clear();
  for (int layer = 0; layer < model.layers; ++layer) method.exact.push_back({layer, -1});
  return method;
}

std::span<const std::uint16_t> training_text(const TrainPlan& plan) {
  return std::span(plan.text.corpus->text).first(trained_characters(plan));
}

std::span<const std::uint16_t> held_out_text(const TrainPlan& plan) {
  return std::span(plan.text.corpus->text).subspan(trained_characters(plan));
}

TrainPlan default_train_plan() {
  TrainPlan plan;
  constexpr int key_tiles = 8;
  plan.with_exact = true;
  plan.a.method = policy("eager").method();
  plan.b.method = policy("base_eager").method();
  plan.a.method.block_k = plan.b.method.block_k = plan.model.context / key_tiles;
  plan.a.gradient = usual_grad_policy(plan.a.method).precision;
  plan.b.gradient = usual_grad_policy(plan.b.method).precision;
  return plan;
}

void validate(const TrainPlan& plan) {
  check(settings_to_read(plan));
  check_sizes(plan.model, plan.recipe);
  check_method(plan, plan.a, "a");
  check_method(plan, plan.b, "b");
  if (plan.kind == TrainKind::bisect && runs_of(plan).runs.size() == 2)
    refuse("bisect", std::string(bisect_names[plan.bisect]), "a kind with pieces that a rounds");
}

void check_text(const TrainPlan& plan) {
  const Corpus* const corpus = plan.text.corpus.get();
  if (corpus == nullptr) refuse("text.file", "'" + plan.text.file + "'", "a text that has been read");
  const std::size_t all = corpus->text.size(), context = static_cast<std::size_t>(plan.model.context);
  if (all <= context)
    refuse("model.context", std::to_string(context), "less than the text's " + std::to_string(all) + " characters");
  const std::size_t held_out = held_out_text(plan).size();
  if (held_out == 0 || std::min(held_out, all - held_out) > context) return;
  refuse("recipe.held_out", shortest(plan.recipe.held_out),
         "a share of the text's " + std::to_string(all) + " characters that is more than model.context, which is " +
             std::to_string(context) + ", or 0");
}

TrainRuns runs_of(const TrainPlan& plan) {
  TrainRuns all;
  all.runs = {{"a", plan.a, plan.recipe.seed}, {"b", plan.b, plan.recipe.seed}};
  const bool replays = plan.kind == TrainKind::replay;
  all.pairs = {{replays ? "a from b's state" : "a - b", replays ? Role::direct : Role::method, 0, 1}};
  if (plan.kind == TrainKind::reference) add_reference(plan, all);
  if (plan.kind == TrainKind::bisect) add_suspects(plan, all);
  if (plan.with_exact && may_add_exact(plan.kind)) add_exact(plan, all);
  return all;
}

std::string untrained_start(const TrainPlan& from, const TrainPlan& to) {
  const auto stochastic = [](const TrainMethod& m) {
    const auto draws = [](const Rounding& r) { return r != exact && r.stochastic; };
    return std::ranges::any_of(m.method.precision.steps, draws) || draws(m.method.partial) ||
           std::ranges::any_of(m.gradient.steps, draws) || draws(m.weights) || draws(m.optimiser);
  };
  const TrainRuns trained = runs_of(from), wanted = runs_of(to);
  for (const PairPlan& pair : wanted.pairs)
    if (const std::string& name = wanted.runs[static_cast<std::size_t>(pair.x)].name;
        pair.role == Role::initialisation && std::ranges::find(trained.runs, name, &RunPlan::name) == trained.runs.end())
      return "another initialisation, " + name + ", must be trained from step 0";
  if (to.recipe.seed == from.recipe.seed || stochastic(to.a) || stochastic(to.b)) return "";
  return "recipe.seed is " + std::to_string(to.recipe.seed) + ", expected " + std::to_string(from.recipe.seed) +
         ", the seed of the first weights: nothing is rounded stochastically";
}

std::span<const NamedPlan> named_plans() { return plans; }

TrainPlan named_plan(std::string_view name) {
  const auto* const found = std::ranges::find(plans, name, &NamedPlan::name);
  if (found != plans.end()) return found->plan();
  throw std::invalid_argument("'" + std::string(name) + "' is no plan, expected " + listed(names_in(plans), ", "));
}

}  // namespace attoscope
