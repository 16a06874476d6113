#include "app/link/link_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/json/json.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

constexpr std::string_view schema = "attoscope.link/1";
constexpr std::size_t most_files = 4, most_values = 64;

[[noreturn]] void refuse(const std::string& half_sentence) { throw std::runtime_error(half_sentence); }

std::string text_of(const nlohmann::json& value, const std::string& what) {
  if (!value.is_string()) refuse("has a " + what + " that is no text");
  std::string text = bytes_of_json(value.get_ref<const std::string&>());
  if (text.find('\0') != std::string::npos) refuse("has a " + what + " with a zero byte");
  return text;
}

std::vector<std::string> files_of(const nlohmann::json& message) {
  const auto list = message.find("open");
  if (list == message.end() || !list->is_array()) refuse("has no list 'open'");
  if (list->empty() || list->size() > most_files)
    refuse("names " + std::to_string(list->size()) + " files, expected 1 to " + std::to_string(most_files));
  std::vector<std::string> files;
  for (const nlohmann::json& file : *list) {
    files.push_back(text_of(file, "file"));
    if (!files.back().starts_with('/')) refuse("names the file " + in_quotes(files.back()) + ", expected a path from / on");
  }
  return files;
}

/// The session of a message; throws if it comes with anything else.
std::string session_of(const nlohmann::json& message) {
  const auto is_given = [&](const char* key) { return message.contains(key) && !message[key].empty(); };
  if (is_given("open") || is_given("settings")) refuse("has a session beside files or settings, expected a session alone");
  std::string session = text_of(message["session"], "session");
  if (session.empty() || session.size() > longest_session)
    refuse("has a session of " + std::to_string(session.size()) + " bytes, expected 1 to " + std::to_string(longest_session));
  return session;
}

}  // namespace

std::string message_text(const LinkMessage& message) {
  Json files = Json::array(), settings = Json::object();
  for (const std::string& file : message.files) files.push_back(json_string(file));
  for (const auto& [key, value] : message.settings) settings[key] = json_string(value);
  Json json{{"schema", schema}, {"open", std::move(files)}, {"settings", std::move(settings)}};
  if (!message.session.empty()) json["session"] = json_string(message.session);
  return json_text(json, -1);
}

LinkMessage parse_message(std::string_view bytes) {
  if (bytes.size() > longest_message) refuse("is longer than " + std::to_string(longest_message) + " bytes");
  const nlohmann::json message = parse_json(bytes, 3, most_values);
  check_schema(message, schema);
  if (message.contains("session")) return {.files = {}, .settings = {}, .session = session_of(message)};
  LinkMessage parsed{.files = files_of(message)};
  const auto settings = message.find("settings");
  if (settings == message.end()) return parsed;
  if (!settings->is_object()) refuse("has 'settings' that are no object");
  for (const auto& [key, value] : settings->items()) {
    if (std::ranges::find(link_settings, key) == std::end(link_settings)) refuse("has the unknown setting " + in_quotes(key));
    parsed.settings[key] = text_of(value, "setting");
  }
  return parsed;
}

std::string answer_text(const std::string& sentence) {
  return json_text({{"schema", schema}, {"error", json_string(sentence)}}, -1);
}

std::string parse_answer(std::string_view bytes) {
  const nlohmann::json answer = parse_json(bytes, 2, most_values);
  check_schema(answer, schema);
  const auto error = answer.find("error");
  if (error == answer.end()) refuse("has no 'error'");
  return text_of(*error, "sentence");
}

}  // namespace attoscope
