#include "app/session/probes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/settings_json.h"
#include "app/session/result_json.h"
#include "app/words/numbers.h"
#include "kernels/deviation/fields.h"
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

[[noreturn]] void fail(std::string_view what, const std::string& expected) {
  throw std::runtime_error("a check measures " + in_quotes(what) + ", expected " + expected);
}

/// Appends the numbers at `path` below `json`.
void collect(const Json& json, std::string_view path, std::vector<double>& numbers) {
  if (path.empty()) {
    if (!json.is_number()) fail(path, "the path of a number");
    return numbers.push_back(json.get<double>());
  }
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  if (json.is_array() && key == "*") {
    for (const Json& item : json) collect(item, rest, numbers);
  } else if (const auto index = to_number<std::size_t>(key); json.is_array() && index && *index < json.size()) {
    collect(json[*index], rest, numbers);
  } else if (json.is_object() && json.contains(key)) {
    collect(json[key], rest, numbers);
  } else {
    fail(path, "a key of the result");
  }
}

/// The elements of "golden.dq" .. "b.dv", or the rows' "golden.lse" and "a.delta".
std::vector<double> gradients_at(const Result& result, std::string_view path) {
  constexpr std::string_view expected = "golden., a. or b., then dq, dk, dv, delta or lse, of a result with a backward pass";
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view who = path.substr(0, dot), what = path.substr(std::min(dot + 1, path.size()));
  if (!result.backward || (who != "golden" && who != "a" && who != "b")) fail(path, std::string(expected));
  const BackwardResult& b = *result.backward;
  const Gradients& g = who == "golden" ? *b.golden : who == "a" ? b.a : b.b;
  if (what == "dq") return g.dq.values;
  if (what == "dk") return g.dk.values;
  if (what == "dv") return g.dv.values;
  if (what == "delta") return g.delta;
  if (what == "lse") return g.lse;
  fail(path, std::string(expected));
}

std::vector<double> numbers_at(const Result& result, std::string_view path) {
  constexpr std::string_view fields = "fields.", gradients = "gradients.";
  if (path.starts_with(gradients)) return gradients_at(result, path.substr(gradients.size()));
  std::vector<double> numbers;
  if (!path.starts_with(fields)) {
    collect(result_json(result), path, numbers);
    return numbers;
  }
  for (int i = 0; i < field_count; ++i) {
    const auto field = static_cast<Field>(i);
    if (text(field).name != path.substr(fields.size())) continue;
    for (int row = 0; row < result.a.rows; ++row)
      for (int col = 0; col < result.a.cols; ++col) numbers.push_back(field_value(result, field, row, col));
    return numbers;
  }
  fail(path, "the name of a field");
}

double sum(const std::vector<double>& x) {
  double total = 0;
  for (const double value : x) total += value;
  return total;
}

double median_magnitude(std::vector<double> x) {
  for (double& value : x) value = std::fabs(value);
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

double largest_magnitude(const std::vector<double>& x) {
  double most = 0;
  for (const double value : x) most = std::isnan(value) || std::fabs(value) > most ? std::fabs(value) : most;
  return most;
}

double nonzero_share(const std::vector<double>& x) {
  return 1 - static_cast<double>(std::count(x.begin(), x.end(), 0.0)) / static_cast<double>(x.size());
}

/// "max fields.a_relative", "a.rms"
double term(const Result& result, std::string_view what) {
  const std::size_t space = what.find(' ');
  const std::string_view word = space == std::string_view::npos ? std::string_view() : what.substr(0, space);
  const std::vector<double> x = numbers_at(result, space == std::string_view::npos ? what : what.substr(space + 1));
  if (x.empty()) fail(what, "at least one number");
  if (word == "sum") return sum(x);
  if (word == "mean") return sum(x) / static_cast<double>(x.size());
  if (word == "max") return largest_magnitude(x);
  if (word == "median") return median_magnitude(x);
  if (word == "share") return nonzero_share(x);
  if (!word.empty()) fail(what, "sum, mean, max, median or share in front of a path");
  if (x.size() != 1) fail(what, "one number, or a word such as max in front of the path of several");
  return x.front();
}

}  // namespace

Probe read_probe(const std::string& path) {
  const std::string text = read_file(path, largest_probe);
  try {
    Probe probe = parse_probe(text);
    const std::string stem = fs::path(path).stem().string();
    if (probe.name != stem) throw std::runtime_error("name is " + in_quotes(probe.name) + ", expected " + in_quotes(stem));
    Input& input = probe.experiment.problem.input;
    if (input.kind == InputKind::tensors) input.file = (fs::path(path).parent_path() / input.file).string();
    return probe;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

std::vector<Probe> probes() {
  const fs::path directory = fs::path(assets_directory()) / "presets";
  std::vector<Probe> list;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().extension() == ".json") list.push_back(read_probe(entry.path().string()));
  std::sort(list.begin(), list.end(), [](const Probe& x, const Probe& y) { return x.name < y.name; });
  return list;
}

Probe probe(std::string_view name) {
  for (const Probe& p : probes())
    if (p.name == name) return p;
  throw std::invalid_argument("preset " + in_quotes(name) + " is unknown" + known_names());
}

double measure(const Result& result, std::string_view what) {
  const std::size_t slash = what.find('/');
  const double first = term(result, what.substr(0, slash));
  return slash == std::string_view::npos ? first : first / term(result, what.substr(slash + 1));
}

bool holds(const Check& check, double value) { return value >= check.at_least && value <= check.at_most; }

}  // namespace attoscope::app
