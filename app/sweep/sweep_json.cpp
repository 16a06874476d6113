#include "app/sweep/sweep_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/json/settings_json.h"
#include "app/session/experiment_options.h"
#include "app/session/session.h"
#include "app/tensors/changed_tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {
constexpr std::string_view sweep_schema = "attoscope.sweep/1";

/// The inputs of the sweep's base and of its heads.
template <class SweepOrConst>
auto inputs_of(SweepOrConst& sweep) {
  std::vector inputs{&sweep.base.problem.input};
  for (auto& head : sweep.heads) inputs.push_back(&head.input);
  return inputs;
}

std::uint64_t digest_in(const nlohmann::json& head, const char* key) {
  return head.contains(key) ? from_hex16(head.at(key).get<std::string>()).value_or(0) : 0;
}

/// Reads the heads and their digests into a sweep whose base was read.
void read_heads(const nlohmann::json& json, Sweep& sweep) try {
  sweep.heads.clear();
  for (const nlohmann::json& head : json.value("heads", nlohmann::json::array())) {
    UsedHead& own = sweep.heads.emplace_back(UsedHead{sweep.base.problem.input, sweep.base.loaded});
    own.input.index = head.at("head").get<int>();
    own.input.digest = digest_in(head, "digest");
    own.input.parts = {};
    own.input.tensors.reset();
    own.loaded.values.reset();
    own.loaded.index = own.input.index;
    own.loaded.digest = digest_in(head, "output");
  }
  read_part_digests(json, inputs_of(sweep));
} catch (const nlohmann::json::exception&) {
  throw std::runtime_error("heads is no list of heads with their digests");
}

}  // namespace

Json sweep_json(const Sweep& sweep) {
  Json vary = Json::array();
  for (const Axis& axis : sweep.axes) vary.push_back(axis_text(axis));
  Json json{{"schema", sweep_schema}, {"version", ATTOSCOPE_VERSION},  {"vary", vary},
            {"seeds", sweep.seeds},   {"measure", sweep.measure.name}, {"experiment", experiment_json(sweep.base)}};
  for (const UsedHead& head : sweep.heads) {
    json["heads"].push_back({{"head", head.input.index}, {"digest", hex16(head.input.digest)}});
    if (head.loaded.digest != 0) json["heads"].back()["output"] = hex16(head.loaded.digest);
  }
  if (Json tensors = part_digests_json(inputs_of(sweep)); !tensors.is_null()) json["tensors"] = std::move(tensors);
  if (sweep.over.kind != ui::SweepOver::seed) json["over"] = text(sweep.over);
  if (!sweep.like.empty()) json["like"] = sweep.like;
  if (!sweep.set.empty()) json["set"] = sweep.set;
  return json;
}

std::vector<std::string> changed_heads(const Sweep& kept, const Sweep& read) {
  std::vector<std::string> changed;
  for (const UsedHead& then : kept.heads) {
    const auto now = std::ranges::find(read.heads, then.input.index, [](const UsedHead& x) { return x.input.index; });
    if (now == read.heads.end() || then.input.index == read.base.problem.input.index)
      continue;  // the base's head is reported
                 // with the base
    Experiment before{.problem = {.input = then.input}}, after{.problem = {.input = now->input}};
    before.loaded = then.loaded;
    after.loaded = now->loaded;
    std::ranges::move(changed_tensors(before, after), std::back_inserter(changed));
  }
  return changed;
}

Sweep parse_sweep(std::string_view text, std::vector<std::string>& remarks) {
  const nlohmann::json json = parse_json(text, 8);
  check_schema(json, sweep_schema);
  Sweep sweep;
  std::string over = "seed";
  read_settings(json, "",
                {{"seeds", &sweep.seeds, {1, max_seeds}},
                 {"over", &over},
                 {"like", &sweep.like},
                 {"measure", &sweep.measure.name},
                 {"experiment", settings(sweep.base)}},
                remarks, {"schema", "version", "vary", "set", "style", "print", "caption", "digests", "tensors", "heads"});
  read_heads(json, sweep);
  try {
    sweep.measure = parse_measure(sweep.measure.name);
    sweep.over = parse_repeats(over);
    if (!sweep.like.empty()) kernel_preset(sweep.like);
    for (const nlohmann::json& axis : json.at("vary")) sweep.axes.push_back(parse_axis(axis.get<std::string>()));
    for (const nlohmann::json& setting : json.value("set", nlohmann::json::array()))
      sweep.set.push_back(setting.get<std::string>());
    Experiment with_set = sweep.base;
    for (const std::string& setting : sweep.set) apply_setting(with_set, setting);  // throws for one that cannot be set
    point_count(sweep);
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("vary is missing, or it or set is no list of texts such as \"block_k=16:1024:x2\"");
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  return sweep;
}

}  // namespace attoscope::app
