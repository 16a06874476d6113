#include <algorithm>
#include <utility>

#include "kernels/train/plan/plan.h"
#include "kernels/train/plan/plan_settings.h"

namespace attoscope {
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

/// The path of the policy that contains step `path`; empty: it is no step.
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

/// Changes under one heading: "recipe: rate 0.001 -> 0.002"; without heading a change of the whole plan.
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
