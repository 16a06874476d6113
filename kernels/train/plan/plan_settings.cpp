#include "kernels/train/plan/plan_settings.h"

#include <algorithm>
#include <utility>

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

namespace {

/// A setting's path, "a.method.block_k", and its value.
struct PlanText {
  std::string path, text;
};

std::string in_words(const Setting& s);

/// "layer 0 head 1 layer 1 head 2", or "none".
std::string list_text(const ListValue& list) {
  std::string all;
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const Setting& s : list.item(i)) all.append(all.empty() ? "" : " ").append(s.key).append(" ").append(in_words(s));
  return all.empty() ? "none" : all;
}

std::string in_words(const Setting& s) {
  if (const auto* const list = std::get_if<ListValue>(&s.value)) return list_text(*list);
  if (const auto* const flag = std::get_if<bool*>(&s.value)) return **flag ? "on" : "off";
  return text(s);
}

constexpr std::string_view forward_policy = "method.policy", backward_policy = "gradient policy";

std::vector<PlanText> plan_texts(const TrainPlan& plan) {
  std::vector<PlanText> fields;
  for_each(settings_to_read(plan), "",
           [&](const std::string& path, const Setting& s) { fields.push_back({path, in_words(s)}); });
  for (const auto& [group, method] : {std::pair<std::string, const TrainMethod*>{"a.", &plan.a}, {"b.", &plan.b}})
    fields.push_back({group + std::string(backward_policy), std::string(grad_policy_name(method->gradient))});
  return fields;
}

const PlanText& at(const std::vector<PlanText>& fields, const std::string& path) {
  return *std::ranges::find(fields, path, &PlanText::path);
}

/// The path of the policy that contains the step at `path`; empty if it is no step.
std::string policy_of(const std::string& path) {
  if (path.find(".precision.") != path.npos) return path.substr(0, 2).append(forward_policy);
  if (path.find(".gradient.") != path.npos) return path.substr(0, 2).append(backward_policy);
  return {};
}

bool is_policy(const std::string& path) { return path.ends_with(forward_policy) || path.ends_with(backward_policy); }

/// "method.precision.S" -> "S"
std::string short_name(std::string key) {
  for (const std::string_view prefix : {"method.", "precision."})
    if (key.starts_with(prefix)) key.erase(0, prefix.size());
  std::ranges::replace(key, '.', ' ');
  return key;
}

/// Changes under one heading: "recipe: rate 0.001 -> 0.002"; without a heading a change of the plan itself.
struct Group {
  std::string heading, changes;
};

void note(std::vector<Group>& groups, const PlanText& from, const PlanText& to) {
  const std::size_t dot = from.path.find('.');
  const std::string heading = dot == from.path.npos ? "" : from.path.substr(0, dot);
  auto group = std::ranges::find(groups, heading, &Group::heading);
  if (group == groups.end()) group = groups.insert(groups.end(), {heading, {}});
  group->changes += (group->changes.empty() ? "" : ", ") + short_name(from.path.substr(heading.empty() ? 0 : dot + 1)) + " " +
                    from.text + " -> " + to.text;
}

}  // namespace

std::string plan_changes(const TrainPlan& from, const TrainPlan& to) {
  const std::vector<PlanText> old = plan_texts(from), now = plan_texts(to);
  const auto both_named = [&](const std::string& path) { return !at(old, path).text.empty() && !at(now, path).text.empty(); };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].text == now[i].text) continue;
    const std::string policy = policy_of(old[i].path);
    if (is_policy(old[i].path) ? !both_named(old[i].path) : !policy.empty() && both_named(policy)) continue;
    note(groups, old[i], now[i]);
  }
  std::string sentence;
  for (const Group& group : groups)
    sentence += (sentence.empty() ? "" : "; ") + (group.heading.empty() ? "" : group.heading + ": ") + group.changes;
  return sentence;
}

std::string question_changes(const TrainPlan& from, const TrainPlan& to) {
  TrainPlan asked = from;
  asked.text.digest = to.text.digest;
  asked.model = to.model;
  asked.recipe.batch = to.recipe.batch;
  asked.recipe.data_seed = to.recipe.data_seed;
  asked.recipe.held_out = to.recipe.held_out;
  return plan_changes(from, asked);
}

}  // namespace attoscope
