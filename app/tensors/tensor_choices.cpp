#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "app/files/files.h"
#include "app/json/json.h"
#include "app/tensors/call_files.h"
#include "app/tensors/tensor_list.h"
#include "app/tensors/tensor_set.h"

namespace attoscope::app {
namespace {

constexpr std::string_view choices_schema = "attoscope.tensors/1";
constexpr std::uint64_t largest_list = 1 << 20;
constexpr std::size_t most_choices = 200;

struct TensorChoice {
  std::string files, tensors;
};

/// The choices, newest first; none where there is no readable list.
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

std::string chosen_tensors(const std::string& list, const std::string& files) try {
  if (list.empty() || !names_tensor_files(files)) return "";
  for (const TensorChoice& c : read_choices(list))
    if (c.files == absolute_spec(files)) return is_call(c.tensors) ? c.tensors : "";
  return "";
} catch (const std::exception&) {  // no usual name of a file: opening it tells that
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
} catch (const std::exception&) {  // optional: the choice itself is open
}

}  // namespace attoscope::app
