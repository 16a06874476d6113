#include "app/session/probes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/settings_json.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;
constexpr std::uint64_t largest_probe = 1 << 16;

/// Item `index` of "checks".
Check check_of(const nlohmann::json& item, std::size_t index, std::vector<std::string>& remarks) {
  const std::string path = "checks." + std::to_string(index);
  if (!item.is_object()) throw std::runtime_error(path + " is no object");
  Check check;
  read_settings(item, path,
                {{"what", &check.what}, {"at_least", &check.at_least}, {"at_most", &check.at_most}, {"says", &check.says}},
                remarks);
  if (check.what.empty() || (!item.contains("at_least") && !item.contains("at_most")))
    throw std::runtime_error(path + " is incomplete, expected 'what' and one of 'at_least' and 'at_most'");
  return check;
}

Probe parse_probe(std::string_view text) {
  const nlohmann::json json = parse_json(text, 8);
  check_schema(json, "attoscope.preset/1");
  Probe probe{.name = {}, .title = {}, .sentence = {}, .experiment = default_experiment(), .checks = {}};
  std::vector<std::string> remarks;
  read_settings(json, "",
                {{"name", &probe.name},
                 {"title", &probe.title},
                 {"sentence", &probe.sentence},
                 {"experiment", settings(probe.experiment)}},
                remarks, {"schema", "checks"});
  const auto checks = json.find("checks");
  if (checks == json.end() || !checks->is_array() || checks->empty()) throw std::runtime_error("has no list of 'checks'");
  for (std::size_t i = 0; i < checks->size(); ++i) probe.checks.push_back(check_of((*checks)[i], i, remarks));
  if (!remarks.empty()) throw std::runtime_error(remarks.front());
  if (probe.title.empty() || probe.sentence.empty()) throw std::runtime_error("lacks a 'title' or a 'sentence'");
  return probe;
}

/// ", expected one of ..."
std::string known_names() {
  std::string names;
  for (const Probe& p : probes()) names += (names.empty() ? "" : ", ") + p.name;
  return names.empty() ? ": the assets are missing" : ", expected one of " + names;
}

}  // namespace

Probe read_probe(const std::string& path) {
  const std::string text = read_file(path, largest_probe);
  return named_in_errors(path, [&] {
    Probe probe = parse_probe(text);
    const std::string stem = fs::path(path).stem().string();
    if (probe.name != stem) throw std::runtime_error("name is " + in_quotes(probe.name) + ", expected " + in_quotes(stem));
    Input& input = probe.experiment.problem.input;
    if (input.kind == InputKind::tensors) input.file = (fs::path(path).parent_path() / input.file).string();
    return probe;
  });
}

std::vector<Probe> probes() {
  const fs::path directory = fs::path(assets_directory()) / "presets";
  std::vector<Probe> list;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().extension() == ".json") list.push_back(read_probe(entry.path().string()));
  std::ranges::sort(list, {}, &Probe::name);
  return list;
}

Probe probe(std::string_view name) {
  for (const Probe& p : probes())
    if (p.name == name) return p;
  throw std::invalid_argument("preset " + in_quotes(name) + " is unknown" + known_names());
}

}  // namespace attoscope::app
