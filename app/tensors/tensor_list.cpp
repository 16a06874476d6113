#include "app/tensors/tensor_list.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/files/files.h"
#include "app/json/json.h"
#include "app/tensors/call_files.h"
#include "app/tensors/name_words.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

/// Entries in the order of the files.
std::vector<ui::TensorEntry> entries_of(const TensorSpec& spec, bool one_by_one) {
  const std::vector<std::string> paths = single_files_of(TensorSpec(spec.files(), std::nullopt));
  std::vector<ui::TensorEntry> entries;
  for (const std::string& path : paths)
    for (const NamedTensor& t : list_file(path).tensors) {
      const bool alone = holds(FileKind::one, path);
      const std::string file = without_ending(path.substr(path.find_last_of('/') + 1));
      const std::string name = alone ? file : paths.size() > 1 ? file + "." + t.name : t.name;
      entries.push_back({name, alone ? path : path + ":" + t.name, shape_text(t.tensor.shape), t.dtype, t.refusal});
    }
  if (one_by_one) return entries;
  const TensorSet set = open_tensor_set(spec.files());  // it has the files' tensors in the same order
  for (std::size_t i = 0; i < std::min(entries.size(), set.tensors.size()); ++i) entries[i].name = set.tensors[i].name;
  return entries;
}

/// "8 heads of 1024 x 64, by its shape" for each tensor of the layers, by name; empty if the call cannot be opened.
std::map<std::string, std::string> shapes_of(const TensorSpec& spec) try {
  const CallFiles call(spec);
  std::map<std::string, std::string> texts;
  for (const CallFiles::Layer& layer : call.layers())
    for (int part = 0; part < (layer.has_output ? 4 : 3); ++part) {
      const HeadShape& s = part == 0 ? layer.q : part == 1 ? layer.k : part == 2 ? layer.v : layer.o;
      texts[call.tensor(layer, part).name] = counted(s.count(), "head") + " of " + std::to_string(s.n) + " x " +
                                             std::to_string(s.d) + (spec.layout() ? ", as given" : ", by its shape");
    }
  return texts;
} catch (const std::exception&) {  // the list reports it
  return {};
}

/// The reason why the tensor is a part of a call whose names share `shared`.
std::string reason(const std::string& name, const std::string& shared) {
  const bool named = std::ranges::any_of(words_of(name), [](const Word& w) { return part_of(w).has_value(); });
  if (!named) return "by its place among the arguments";
  return shared == "*" ? "by its name" : "by its name, " + shared;
}

void take(ui::TensorEntry& entry, ui::CallPartName part, std::string why) {
  entry.taken = part;
  entry.why = std::move(why);
}

/// Takes the tensors by their names.
void take_by_names(ui::TensorList& list, const TensorSpec& spec) {
  std::vector<TensorName> names;
  for (const ui::TensorEntry& e : list.tensors) names.push_back({e.name, e.refusal.empty()});
  const CallNames found = calls_in(names);
  const std::map<std::string, std::string> shapes = shapes_of(spec);
  const auto take_one = [&](int i, ui::CallPartName part, const std::string& why) {
    if (i < 0) return;
    ui::TensorEntry& e = list.tensors[static_cast<std::size_t>(i)];
    const auto shape = shapes.find(e.name);
    take(e, part, why + (shape == shapes.end() ? "" : "; " + shape->second));
  };
  for (const NamedCall& c : found.calls) {
    const auto why = [&](int i) { return reason(names[static_cast<std::size_t>(i)].name, c.shared); };
    take_one(c.q, ui::CallPartName::q, why(c.q));
    take_one(c.k, ui::CallPartName::k, why(c.k));
    take_one(c.v, ui::CallPartName::v, why(c.v));
    take_one(c.o, ui::CallPartName::o, "by its name");
  }
  for (ui::TensorEntry& e : list.tensors)
    if (!e.taken && std::ranges::find(usual_output_gradient_names, e.name) != usual_output_gradient_names.end())
      take(e, ui::CallPartName::d_o, "by its name");
  if (!found.calls.empty() && shapes.empty()) list.problem = "These Q, K and V do not fit each other: choose others.";
  if (!found.calls.empty()) return;
  list.problem = "No three tensors have names of Q, K and V";
  if (!found.incomplete.empty()) list.problem += ": " + found.incomplete.front();
  list.problem += ". Choose them here.";
}

constexpr std::string_view choices_schema = "attoscope.tensors/1";
constexpr std::uint64_t largest_list = 1 << 20;
constexpr std::size_t most_choices = 200;

struct TensorChoice {
  std::string files, tensors;
};

/// The choices, newest first; empty if there is no readable list.
std::vector<TensorChoice> read_choices(const std::string& path) try {
  std::vector<TensorChoice> choices;
  const nlohmann::json list = parse_json(read_file(path, largest_list), 4);
  check_schema(list, choices_schema);
  for (const nlohmann::json& c : list.at("choices"))
    choices.push_back({bytes_of_json(c.at("files").get<std::string>()), bytes_of_json(c.at("tensors").get<std::string>())});
  return choices;
} catch (const std::exception&) {  // an unreadable list is started anew
  return {};
}

bool is_call(const std::string& tensors) try {
  return CallFiles(tensors).heads() > 0;
} catch (const std::exception&) {  // gone, or changed
  return false;
}

}  // namespace

ui::TensorList tensors_of(const std::string& files) {
  const TensorSpec spec = files;
  const bool one_by_one = lists_tensors(spec.files());
  ui::TensorList list{files, one_by_one ? "" : files, entries_of(spec, one_by_one)};
  for (const std::string& path : one_by_one ? single_files_of(spec) : std::vector<std::string>())
    list.all += (list.all.empty() ? "" : ",") + path;
  if (!one_by_one) take_by_names(list, spec);
  const std::vector<std::string> chosen = one_by_one ? files_in_list(spec.files()) : std::vector<std::string>();
  for (std::size_t i = 0; i < chosen.size(); ++i)
    for (ui::TensorEntry& e : list.tensors)
      if (e.spec == chosen[i]) take(e, static_cast<ui::CallPartName>(i), "chosen");
  std::ranges::stable_sort(list.tensors, natural_less, &ui::TensorEntry::name);
  return list;
}

bool is_worth_a_look(const ui::TensorList& list) {
  constexpr std::size_t few = 8;
  return list.tensors.size() > few && std::ranges::any_of(list.tensors, [](const ui::TensorEntry& e) { return !e.taken; });
}

ui::TensorStatistics statistics_of(const std::string& spec, const ReadWatch& watch) {
  constexpr std::uint64_t most = 1 << 20;
  const TensorRef ref = holds(FileKind::one, spec) ? TensorRef{spec, ""} : tensor_ref(spec);
  const NamedTensor found = readable(open_tensor(ref));
  const StoredTensor& t = found.tensor;
  const int bytes = bytes_of(t.type);
  ui::TensorStatistics s{.spec = spec, .count = byte_count(t.shape, bytes, t.label) / static_cast<std::uint64_t>(bytes)};
  s.least = std::numeric_limits<double>::infinity();
  s.most = -s.least;
  double sum = 0, squares = 0;
  for (std::uint64_t begin = 0; begin < s.count; begin += most) {
    const int length = static_cast<int>(std::min(most, s.count - begin));
    tell(watch, static_cast<double>(begin) / static_cast<double>(s.count), t.label);
    for (const double x : read_flat(*found.file, t, begin, length)) {
      s.zeros += x == 0;
      if (!std::isfinite(x)) {
        ++s.nonfinite;
        continue;
      }
      s.least = std::min(s.least, x);
      s.most = std::max(s.most, x);
      sum += x;
      squares += x * x;
    }
  }
  const double finite = static_cast<double>(s.count - s.nonfinite);
  s.mean = sum / finite;
  s.rms = std::sqrt(squares / finite);
  return s;
}

std::string chosen_tensors(const std::string& list, const std::string& files) try {
  if (list.empty() || !names_tensor_files(files)) return "";
  for (const TensorChoice& c : read_choices(list))
    if (c.files == absolute_spec(files)) return is_call(c.tensors) ? c.tensors : "";
  return "";
} catch (const std::exception&) {  // no usual name of a file: opening it reports that
  return "";
}

void remember_tensors(const std::string& list, const std::string& files, const std::string& tensors) try {
  if (list.empty() || (files != tensors && !is_call(tensors))) return;
  const FolderLock lock(list);
  const std::string key = absolute_spec(files);
  Json choices = Json::array();
  const auto add = [&](const TensorChoice& c) {
    choices.push_back(Json{{"files", json_string(c.files)}, {"tensors", json_string(c.tensors)}});
  };
  if (files != tensors) add({key, absolute_spec(tensors)});
  for (const TensorChoice& c : read_choices(list))
    if (c.files != key && choices.size() < most_choices) add(c);
  write_safely(list, json_text(Json{{"schema", choices_schema}, {"choices", choices}}));
} catch (const std::exception&) {  // storing is optional: the chosen tensors are already open
}

}  // namespace attoscope::app
