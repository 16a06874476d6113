#include "app/session/session_store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/json/json.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view recent_schema = "attoscope.recent/1";
constexpr std::uint64_t largest_list = 1 << 18;
/// Larger files are not sessions.
constexpr std::uint64_t largest_hashed = 1 << 28;
constexpr std::uint64_t nobodys = 0;

/// Hash of the file's content; none if it cannot be read.
std::optional<std::uint64_t> hash_of_file(const std::string& path) {
  try {
    const std::uint64_t size = InputFile(path).size();
    return size > largest_hashed ? nobodys : hash_of(read_file(path, size));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Absolute path of "~/x" or "x".
std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(with_home(path), error).lexically_normal();
  return error ? path : full.string();
}

std::vector<std::string> read_names(const std::string& path) {
  std::vector<std::string> names;
  try {
    const nlohmann::json list = parse_json(read_file(path, largest_list), 3);
    check_schema(list, recent_schema);
    for (const nlohmann::json& name : list.at("files"))
      if (name.is_string()) names.push_back(bytes_of_json(name.get<std::string>()));
  } catch (const std::exception&) {  // an unreadable list counts as empty
  }
  return names;
}

/// List of opened files of tensors, beside the list of sessions; "": no list is kept.
std::string tensors_beside(const std::string& recent) {
  return recent.empty() ? "" : (fs::path(recent).parent_path() / "recent_tensors.json").string();
}

/// "untitled.attoscope.json" in the folder of the last session, else in the working directory, or at home if that is "/".
std::string proposed_file(const std::vector<ui::RecentSession>& recent) {
  std::error_code error;
  fs::path folder = recent.empty() ? fs::current_path(error) : fs::path(recent.front().file).parent_path();
  if (folder.empty() || folder == "/") folder = with_home("~/");
  for (int i = 1;; ++i) {
    const fs::path file = folder / ((i == 1 ? "untitled" : "untitled-" + std::to_string(i)) + ".attoscope.json");
    if (i == 100 || !fs::exists(file, error)) return file.string();
  }
}

/// Reason why a session cannot be opened; "" if none is known.
std::string reason_against(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return "It is no longer there.";
  if (error) return "It cannot be looked at: " + error.message() + ".";
  return status.type() == fs::file_type::regular ? "" : "It is not a file.";
}

/// "session.json", "session-2.json", ...
std::string numbered(const std::string& path, int number) {
  const fs::path file(path);
  if (number == 1) return path;
  return file.parent_path() / (file.stem().string() + "-" + std::to_string(number) + file.extension().string());
}

}  // namespace

SessionStore::SessionStore(Places places, const ui::Session& session, const std::string& document,
                           std::optional<std::string> own_device)
    : places_(std::move(places)), own_device_(std::move(own_device)), device_(session.device) {
  Document& first = documents_[session.origin];
  if (document.empty()) {
    first.settling = true;
  } else {
    first.path = absolute(document);
    try {
      std::vector<std::string> remarks;
      first.saved = placed_session(first.path, remarks);
      take_places(*first.saved, session);  // whose files were searched when it was read
      if (remarks.empty()) known_[first.path] = hash_of_file(first.path).value_or(nobodys);
      first.settling = *first.saved == session;
    } catch (const std::exception&) {
      first.saved.reset();  // missing or damaged: the session counts as unsaved
    }
  }
  if (places_.autosave) remove_leftovers(places_.autosave->file());
  if (!document.empty() && first.saved) remember(places_.recent, first.path);
  look_for_recent();
}

SessionStore::Read SessionStore::read(const std::string& path, const ReadWatch& watch) {
  Read read{absolute(path), {}, {}, {}};
  read.hash = hash_of_file(read.path);
  read.session = read_session(read.path, read.remarks, watch);
  return read;
}

ui::Session SessionStore::open(Read read) {
  read.session.origin = documents_.rbegin()->first + 1;
  documents_[read.session.origin] = {.path = read.path, .saved = std::nullopt, .settling = true};
  known_[read.path] =
      read.remarks.empty() ? read.hash.value_or(nobodys) : nobodys;  // would lose content: counts as changed by others
  return std::move(read.session);
}

ui::Session SessionStore::fresh(const ui::Session& like) {
  ui::Session session = first_session();
  take_look(session.view, like.view);
  session.view.welcome = like.view.welcome;
  session.device = like.device;
  session.origin = documents_.rbegin()->first + 1;
  documents_[session.origin] = {.path = {}, .saved = std::nullopt, .settling = true};
  return session;
}

/// Adds the shown files of tensors and of an output to the list of recent ones.
void SessionStore::remember_tensors(const Experiment& e) {
  const bool has_tensors = e.problem.input.kind == InputKind::tensors && e.problem.input.tensors != nullptr;
  for (const auto& [file, is_shown] : {std::pair<const std::string&, bool>{e.problem.input.file, has_tensors},
                                       {e.loaded.file, !e.loaded.file.empty() && e.loaded.values != nullptr}})
    if (is_shown && shown_tensors_.insert(file).second && file != example_file())
      remember(tensors_beside(places_.recent), file);
}

void SessionStore::observe(const ui::Session& session) {
  remember_tensors(session.experiment);
  Document& d = documents_[session.origin];
  if (!std::exchange(d.settling, false)) return;
  d.saved = session;
  if (!d.path.empty()) remember(places_.recent, d.path);
}

void SessionStore::settle(const ui::Session& before, const ui::Session& after) {
  Document& d = documents_[after.origin];
  if (d.saved && *d.saved == before) d.saved = after;
}

bool SessionStore::has_file(const ui::Session& session) const {
  const auto found = documents_.find(session.origin);
  return found != documents_.end() && !found->second.path.empty() && !found->second.path.ends_with(pack_ending);
}

std::string SessionStore::save(const ui::Session& session, const std::string& path) {
  Document& d = documents_[session.origin];
  std::string to = path.empty() ? d.path : absolute(path);
  if (to.empty() || to.ends_with(pack_ending))
    throw std::runtime_error("The session has no file yet, expected a name to save it under.");
  if (!path.empty() && !to.ends_with(".json")) to = to.substr(0, to.find_last_not_of('.') + 1) + ".attoscope.json";
  const std::string aside = write(to, text_of(session));
  d = {.path = to, .saved = session, .settling = false};
  remember(places_.recent, to);
  return "Saved " + to + "." +
         (aside.empty() ? "" : " The file that was there, and not opened here, is kept as " + aside + ".");
}

bool SessionStore::is_kept(const ui::Session& session) const {
  const auto found = documents_.find(session.origin);
  return !places_.autosave || (kept_ == session && found != documents_.end() && kept_document_ == found->second.path);
}

void SessionStore::autosave(const ui::Session& session, double now, bool at_once) {
  if (is_kept(session)) {
    changed_at_.reset();
    failed_at_.reset();
    return;
  }
  if (!changed_at_) changed_at_ = now;
  const bool due = failed_at_ ? now - *failed_at_ >= retried_after : at_once || now - *changed_at_ >= longest_unkept;
  if (!due) return;
  failed_at_ = now;  // until it is written
  close(session);
}

void SessionStore::close(const ui::Session& session) {
  if (is_kept(session)) return;
  const std::string& path = documents_[session.origin].path;
  write_safely(places_.autosave->file(), text_of(session, path));
  kept_ = session;
  kept_document_ = path;
  changed_at_.reset();
  failed_at_.reset();
}

/// The session's text with its own device instead of `own_device_`.
std::string SessionStore::text_of(const ui::Session& session, const std::string& document) const {
  if (session.device != own_device_) return session_text(session, document);
  ui::Session own = session;
  own.device = device_;
  return session_text(own, document);
}

bool SessionStore::is_known(const std::string& path, std::uint64_t hash) const {
  const auto known = known_.find(path);
  return known != known_.end() && hash != nobodys && known->second == hash;
}

/// Writes a file. Backs up its content first if others wrote it; returns the backup's name or "".
std::string SessionStore::write(const std::string& path, const std::string& text) {
  const FolderLock lock(path);
  const auto there = hash_of_file(path);
  std::string aside;
  if (there && *there != hash_of(text) && !is_known(path, *there)) {
    aside = keep_aside(path);
    if (aside.empty())
      throw std::runtime_error(path + ": was changed by somebody else and cannot be kept aside, so the session was not saved");
  }
  write_safely(path, text);
  known_[path] = hash_of(text);
  return aside;
}

/// Puts a file at the top of the list; reads the list again first, which other windows may have changed.
void SessionStore::remember(const std::string& list, const std::string& path) {
  if (list.empty()) return;
  try {
    const FolderLock lock(list);
    std::vector<std::string> names{json_string(path)};
    for (const std::string& name : read_names(list))
      if (name != path && names.size() < most_recent) names.push_back(json_string(name));
    write_safely(list, json_text(Json{{"schema", recent_schema}, {"files", names}}));
  } catch (const std::exception&) {  // optional: the session itself is saved
  }
  look_for_recent();
}

void SessionStore::look_for_recent() {
  recent_.clear();
  for (std::string& name : read_names(places_.recent)) {
    std::string reason = reason_against(name);
    recent_.push_back({std::move(name), std::move(reason)});
  }
  recent_tensors_.clear();
  for (std::string& name : read_names(tensors_beside(places_.recent))) recent_tensors_.push_back({std::move(name), ""});
  proposed_ = proposed_file(recent_);
}

ui::SessionFiles SessionStore::files(const ui::Session& session) const {
  ui::SessionFiles files;
  files.recent = recent_;
  files.tensors = recent_tensors_;
  files.proposed = proposed_;
  const auto found = documents_.find(session.origin);
  if (found == documents_.end()) return files;
  const Document& d = found->second;
  files.file = d.path;
  files.unsaved = !d.settling && !(d.saved && *d.saved == session);
  return files;
}

std::vector<std::string> autosaves(const std::string& path) {
  std::vector<std::pair<fs::file_time_type, std::string>> dated;
  for (int number = 1; number <= Autosave::most; ++number) {
    std::error_code error;
    const std::string file = numbered(path, number);
    const fs::file_time_type written = fs::last_write_time(file, error);
    if (!error) dated.emplace_back(written, file);
  }
  std::ranges::stable_sort(dated, std::ranges::greater{}, &decltype(dated)::value_type::first);
  std::vector<std::string> files;
  for (auto& [written, file] : dated) files.push_back(std::move(file));
  return files;
}

Autosave::Autosave(const std::string& path, bool fresh) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  std::vector<std::string> existing = autosaves(path);
  if (!fresh && std::ranges::any_of(existing, [this](const std::string& file) { return take(file); })) return;
  for (int number = 1; number <= most; ++number) {
    const std::string file = numbered(path, number);
    if (std::ranges::find(existing, file) == existing.end() && take(file)) return;
  }
  std::ranges::reverse(existing);
  if (std::ranges::any_of(existing, [this](const std::string& file) { return take(file); })) return;
  throw std::runtime_error(path + ": " + std::to_string(most) + " windows are open, expected fewer");
}

/// Locks this file; false if another window has it. If the folder cannot be written or its file system has no locks, every
/// window takes the first file.
bool Autosave::take(const std::string& file) {
  Descriptor lock(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  file_ = file;
  lock_ = std::move(lock);
  return true;
}

}  // namespace attoscope::app
