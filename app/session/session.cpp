#include "app/session/session.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/json/settings_json.h"
#include "app/session/session_places.h"
#include "app/tensors/changed_tensors.h"
#include "app/words/numbers.h"
#include "ui/session/settings.h"

namespace attoscope::app {
namespace {

using Parsed = nlohmann::json;

constexpr std::string_view schema = "attoscope.session/1";
/// Size limit of a session file; a thousand pins need about 6 MB.
constexpr std::uint64_t largest_session = 16 << 20;
constexpr int deepest = 8;

/// Checks the experiment as a whole, beyond its single fields.
void check_whole(Experiment& experiment, const std::string& path, std::vector<std::string>& remarks) {
  Input& input = experiment.problem.input;
  if (input.kind == InputKind::tensors && input.file.empty()) {
    remarks.push_back(path + ".problem.input.file is missing, expected the file of tensors; the default input is kept");
    input = Input{};
  }
}

/// True if this is a session of a later version.
bool is_newer(const Parsed& json) {
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string()) return false;
  const std::string text = json["schema"].get<std::string>();
  const std::string_view family = schema.substr(0, schema.find('/') + 1);
  const auto version =
      text.starts_with(family) ? to_number<unsigned>(std::string_view(text).substr(family.size())) : std::nullopt;
  return version && *version > 1;
}

/// Prefix of shipped files' paths in texts, independent of the installation.
constexpr std::string_view shipped = "shipped:";

/// Inputs of the experiment and the pins.
template <class SessionOrConst>
auto inputs_of(SessionOrConst& session) {
  std::vector inputs{&session.experiment.problem.input};
  for (auto& pin : session.pins) inputs.push_back(&pin.experiment.problem.input);
  return inputs;
}
/// Finds shipped files: named so, or missing with the path that they have in another installation.
void find_shipped(ui::Session& session) {
  namespace fs = std::filesystem;
  const fs::path assets = assets_directory();
  for (Input* const input : inputs_of(session)) {
    std::error_code error;
    const fs::path file = input->file, own = assets / "examples" / file.filename();
    if (input->file.starts_with(shipped))
      input->file = (assets / input->file.substr(shipped.size())).lexically_normal().string();
    else if (file.is_absolute() && file.parent_path().filename() == "examples" && !fs::exists(file, error) &&
             fs::is_regular_file(own, error))
      input->file = own.lexically_normal().string();
  }
}
ui::Session with_shipped_names(ui::Session session) {
  const std::string assets = assets_directory() + "/";
  for (Input* const input : inputs_of(session))
    if (std::string& file = input->file; assets.size() > 1 && file.starts_with(assets))
      file = std::string(shipped) + file.substr(assets.size());
  return session;
}

/// Fields of `json` that differ from `usual`, recursively.
Json difference(const Json& json, const Json& usual) {
  Json found = Json::object();
  for (const auto& [key, value] : json.items()) {
    const auto known = usual.find(key);
    if (known != usual.end() && *known == value) continue;
    const bool inner = known != usual.end() && known->is_object() && value.is_object();
    found[key] = inner ? difference(value, *known) : value;
  }
  return found;
}

/// Copies a session file that could not be read in full, before it is overwritten; returns false if the copy fails.
bool remark_aside(const std::string& path, std::vector<std::string>& remarks) {
  const std::string copy = keep_aside(path);
  remarks.push_back(copy.empty() ? "It cannot be copied now, and stays." : "It is kept as " + copy + ".");
  return !copy.empty();
}

/// Parses a session and the name of its file.
LastSession parse(std::string_view text, std::vector<std::string>& remarks) {
  const Parsed json = parse_json(text, deepest);
  if (is_newer(json))
    remarks.push_back("schema is " + in_quotes(json["schema"].get<std::string>()) + ", newer than " + std::string(schema) +
                      " of this program; what it does not know is left out");
  else
    check_schema(json, schema);
  LastSession read;
  ui::Session& session = read.session;
  Settings all = settings(session);
  all.insert(all.begin(), {"document", &read.document});
  read_settings(json, "", all, remarks, {"schema", "version", "tensors"});
  read_part_digests(json, inputs_of(session));
  find_shipped(session);
  check_whole(session.experiment, "experiment", remarks);
  for (std::size_t i = 0; i < session.pins.size(); ++i)
    check_whole(session.pins[i].experiment, "pins[" + std::to_string(i) + "].experiment", remarks);
  return read;
}

/// Path of a session's text: `path`, or the member of an archive.
std::string text_file(const std::string& path) { return path.ends_with(pack_ending) ? path + "/" + packed_session : path; }

std::string folder_of(const std::string& path) { return std::filesystem::absolute(path).parent_path().string(); }

/// Parses a file; remarks begin with its name.
LastSession read_file_session(const std::string& path, std::vector<std::string>& remarks) {
  const std::string text = read_file(text_file(path), largest_session);
  const std::size_t earlier = remarks.size();
  LastSession read = named_in_errors(path, [&] { return parse(text, remarks); });
  for (std::size_t i = earlier; i < remarks.size(); ++i) remarks[i].insert(0, path + ": ");
  return read;
}

}  // namespace

ui::Session parse_session(std::string_view text, std::vector<std::string>& remarks) { return parse(text, remarks).session; }

std::string session_text(const ui::Session& session, const std::string& document) {
  Json json{{"schema", schema}, {"version", ATTOSCOPE_VERSION}};
  if (!document.empty()) json["document"] = json_string(document);
  json.update(settings_json(settings_to_read(session)));
  if (Json tensors = part_digests_json(inputs_of(session)); !tensors.is_null()) json["tensors"] = std::move(tensors);
  return json_text(json);
}

std::string short_session_text(const ui::Session& session) {
  const ui::Session named = with_shipped_names(session);
  Json text{{"schema", schema}};
  text.update(difference(settings_json(settings_to_read(named)), settings_json(settings_to_read(ui::Session()))));
  return json_text(text, -1);
}

ui::Session placed_session(const std::string& path, std::vector<std::string>& remarks) {
  ui::Session session = read_file_session(path, remarks).session;
  place_beside(session, path);
  return session;
}

ui::Session read_session(const std::string& path, std::vector<std::string>& remarks, const ReadWatch& watch) {
  ui::Session session = placed_session(path, remarks);
  if (misses_files(session)) find_files(session, folder_of(path), watch);
  return session;
}

bool is_quick_session(const std::string& path) try {
  std::vector<std::string> remarks;
  return text_file(path) == path && std::filesystem::file_size(path) <= quick_text &&
         !misses_files(placed_session(path, remarks));
} catch (const std::exception&) {  // opening it reports the error
  return true;
}

ui::Session first_session() {
  ui::Session session;
  const std::string example = example_file();
  if (example.empty()) return session;
  session.experiment.problem.input.kind = InputKind::tensors;
  session.experiment.problem.input.file = example;
  session.experiment.problem.input.index = 1;
  session.experiment.problem.mask.kind = Mask::Kind::causal;
  return session;
}

LastSession last_session(const std::string& path, std::vector<std::string>& remarks) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return {.session = first_session(), .document = "", .first = true};
  try {
    LastSession last = read_file_session(path, remarks);
    last.stays = !remarks.empty() && !remark_aside(path, remarks);
    if (!last.document.empty() && misses_files(last.session)) find_files(last.session, folder_of(last.document));
    return last;
  } catch (const std::exception& unreadable) {
    remarks.emplace_back(unreadable.what());
    const bool stays = !remark_aside(path, remarks);
    return {.session = first_session(), .document = "", .first = false, .stays = stays};
  }
}

Json experiment_json(const Experiment& experiment) { return settings_json(settings_to_read(experiment)); }

Json method_json(const Method& method) { return settings_json(settings_to_read(method)); }

}  // namespace attoscope::app
