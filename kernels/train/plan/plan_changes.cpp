#include "kernels/train/plan/plan_changes.h"

#include <algorithm>
#include <utility>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/train/plan/train_fields.h"

namespace attoscope {
namespace {

/// A field's path, "a.method.block_k", and its value.
struct PlanText {
  std::string path, text;
};

/// The visitor that lists every field.
class PlanTexts {
 public:
  explicit PlanTexts(std::vector<PlanText>& fields, std::string path = {}) : fields_(fields), path_(std::move(path)) {}

  template <class T>
  void integer(std::string_view key, T x, T, T) {
    put(key, std::to_string(x));
  }
  void real(std::string_view key, double x, const RealRange&) { put(key, shortest(x)); }
  void flag(std::string_view key, bool x) { put(key, x ? "on" : "off"); }
  void text(std::string_view key, const std::string& x) { put(key, x); }
  void hex(std::string_view key, std::uint64_t x) { put(key, shortest(x, 16)); }
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>& names) {
    if constexpr (std::is_same_v<E, Algorithm>) algorithm_ = x;
    put(key, std::string(names.data()[static_cast<std::size_t>(x)]));
  }
  void format(std::string_view key, const Format& x) { put(key, name(x)); }
  void rounding(std::string_view key, const Rounding& x) { put(key, rounding_text(x)); }
  void scaling(std::string_view key, const Scaling& x) { put(key, scaling_text(x)); }
  void policy(std::string_view key, const Precision& x) { put(key, std::string(policy_name(x, algorithm_))); }
  template <class F>
  void object(std::string_view key, F visit) {
    PlanTexts inner(fields_, path_of(key));
    visit(inner);
  }
  template <class T, class F>
  void list(std::string_view key, const std::vector<T>& items, std::size_t, F visit) {
    std::vector<PlanText> inner;
    PlanTexts inside(inner);
    for (const T& item : items) visit(inside, item);
    std::string all;
    for (const PlanText& field : inner) all += (all.empty() ? "" : " ") + field.path + " " + field.text;
    put(key, all.empty() ? "none" : all);
  }

 private:
  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }
  void put(std::string_view key, std::string text) { fields_.push_back({path_of(key), std::move(text)}); }

  std::vector<PlanText>& fields_;
  std::string path_;
  Algorithm algorithm_{};
};

constexpr std::string_view forward_policy = "method.policy", backward_policy = "gradient policy";

std::vector<PlanText> plan_texts(const TrainPlan& plan) {
  std::vector<PlanText> fields;
  PlanTexts visitor(fields);
  visit_train_plan(visitor, plan);
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
