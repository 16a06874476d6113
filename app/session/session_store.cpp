#include "app/session/session_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/json/json.h"
#include "app/session/session.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view recent_schema = "attoscope.recent/1";
constexpr std::uint64_t largest_list = 1 << 18;
/// Larger files are not sessions.
constexpr std::uint64_t largest_hashed = 1 << 28;
constexpr std::uint64_t nobodys = 0;

/// Hash of the file's content; none: no readable file.
std::optional<std::uint64_t> hash_of_file(const std::string& path) {
  try {
    const std::uint64_t size = InputFile(path).size();
    return size > largest_hashed ? nobodys : hash_of(read_file(path, size));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Window that wrote the last session, and the hash of its text.
struct Writer {
  std::string window;
  std::uint64_t hash = nobodys;
};

Writer read_writer(const std::string& path) try {
  const std::string text = read_file(path, 100);
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos || !text.ends_with('\n')) return {};
  return {text.substr(0, blank), from_hex16(text.substr(blank + 1, text.size() - blank - 2)).value_or(nobodys)};
} catch (const std::exception&) {
  return {};
}

/// "1234-9f3c...": process id, by which others test if it runs, and a random number of the window.
std::string window_name() {
  std::random_device dice;
  return std::to_string(::getpid()) + "-" + hex16(std::uint64_t{dice()} << 32 | dice());
}

/// True if the file is a session that is read without remarks.
bool is_understood(const std::string& path) try {
  std::vector<std::string> remarks;
  read_session(path, remarks);
  return remarks.empty();
} catch (const std::exception&) {
  return false;
}

/// Absolute path of "~/x" or "x".
std::string absolute(const std::string& path) {
  const char* const home = std::getenv("HOME");
  const fs::path typed = path.starts_with("~/") && home != nullptr ? fs::path(home) / path.substr(2) : fs::path(path);
  std::error_code error;
  const fs::path full = fs::absolute(typed, error).lexically_normal();
  return error ? path : full.string();
}

std::vector<std::string> read_names(const std::string& path) {
  std::vector<std::string> names;
  try {
    const nlohmann::json list = parse_json(read_file(path, largest_list), 3);
    check_schema(list, recent_schema);
    for (const nlohmann::json& name : list.at("files"))
      if (name.is_string()) names.push_back(bytes_of_json(name.get<std::string>()));
  } catch (const std::exception&) {  // an unreadable list is started anew
  }
  return names;
}

/// Reason why a session cannot be opened; empty: none known.
std::string reason_against(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return "It is no longer there.";
  if (error) return "It cannot be looked at: " + error.message() + ".";
  return status.type() == fs::file_type::regular ? "" : "It is not a file.";
}

}  // namespace

SessionStore::SessionStore(Places places, const Session& session, const std::string& document,
                           std::optional<std::string> own_device, std::optional<std::uint64_t> last_read)
    : places_(std::move(places)), writer_(window_name()), own_device_(std::move(own_device)), device_(session.device) {
  Document& first = documents_[session.origin];
  if (document.empty()) {
    first.settling = true;
  } else {
    first.path = absolute(document);
    try {
      std::vector<std::string> remarks;
      first.saved = read_session(first.path, remarks);
      if (remarks.empty()) known_[first.path] = hash_of_file(first.path).value_or(nobodys);
      first.settling = *first.saved == session;
    } catch (const std::exception&) {
      first.saved.reset();  // missing or damaged: the session counts as unsaved
    }
  }
  if (!places_.last.empty()) {
    remove_leftovers(places_.last);
    const auto there = hash_of_file(places_.last);  // another window may have changed it since
    if (takes_over_last()) known_[places_.last] = last_read ? *last_read : there.value_or(nobodys);
  }
  if (!document.empty() && first.saved) remember(first.path);
  look_for_recent();
}

SessionStore::~SessionStore() {
  if (places_.last.empty() || !kept_) return;
  const FolderLock lock(places_.last);
  std::error_code ignored;
  if (read_writer(writer_file()).window == writer_) fs::remove(writer_file(), ignored);
}

SessionStore::Read SessionStore::read(const std::string& path) {
  Read read{absolute(path), {}, {}, {}};
  read.hash = hash_of_file(read.path);
  read.session = read_session(read.path, read.remarks);
  return read;
}

Session SessionStore::open(Read read) {
  read.session.origin = documents_.rbegin()->first + 1;
  documents_[read.session.origin] = {.path = read.path, .saved = std::nullopt, .settling = true};
  known_[read.path] =
      read.remarks.empty() ? read.hash.value_or(nobodys) : nobodys;  // would lose content: treat as changed by others
  return std::move(read.session);
}

Session SessionStore::open(const std::string& path, std::vector<std::string>& remarks) {
  Read opened = read(path);
  remarks.insert(remarks.end(), opened.remarks.begin(), opened.remarks.end());
  return open(std::move(opened));
}

Session SessionStore::fresh(const Session& like) {
  Session session = first_session();
  session.view.theme = like.view.theme;
  session.view.ui_scale = like.view.ui_scale;
  session.view.panels = like.view.panels;
  session.view.welcome = like.view.welcome;
  session.device = like.device;
  session.origin = documents_.rbegin()->first + 1;
  documents_[session.origin] = {.path = {}, .saved = std::nullopt, .settling = true};
  return session;
}

void SessionStore::observe(const Session& session) {
  Document& d = documents_[session.origin];
  if (!std::exchange(d.settling, false)) return;
  d.saved = session;
  if (!d.path.empty()) remember(d.path);
}

void SessionStore::settle(const Session& before, const Session& after) {
  Document& d = documents_[after.origin];
  if (d.saved && *d.saved == before) d.saved = after;
}

bool SessionStore::has_file(const Session& session) const {
  const auto found = documents_.find(session.origin);
  return found != documents_.end() && !found->second.path.empty();
}

std::string SessionStore::save(const Session& session, const std::string& path) {
  Document& d = documents_[session.origin];
  std::string to = path.empty() ? d.path : absolute(path);
  if (to.empty()) throw std::runtime_error("The session has no file yet, expected a name to save it under.");
  if (!path.empty() && !to.ends_with(".json")) to += ".json";
  const std::string aside = write(to, text_of(session));
  d = {.path = to, .saved = session, .settling = false};
  remember(to);
  return "Saved " + to + "." + (aside.empty() ? "" : " What was there, and not opened here, is kept as " + aside + ".");
}

bool SessionStore::is_kept(const Session& session) const {
  const auto found = documents_.find(session.origin);
  return places_.last.empty() || (kept_ == session && found != documents_.end() && kept_document_ == found->second.path);
}

std::string SessionStore::autosave(const Session& session, double now, bool at_once) {
  if (is_kept(session)) {
    changed_at_.reset();
    failed_at_.reset();
    return "";
  }
  if (!changed_at_) changed_at_ = now;
  const bool due = failed_at_ ? now - *failed_at_ >= retried_after : at_once || now - *changed_at_ >= longest_unkept;
  if (!due) return "";
  failed_at_ = now;  // reset after success
  return close(session);
}

std::string SessionStore::close(const Session& session) {
  if (is_kept(session)) return "";
  const std::string& path = documents_[session.origin].path;
  std::string said = write_last(text_of(session, path));
  kept_ = session;
  kept_document_ = path;
  changed_at_.reset();
  failed_at_.reset();
  return said;
}

/// The session's text with its own device instead of `own_device_`.
std::string SessionStore::text_of(const Session& session, const std::string& document) const {
  if (session.device != own_device_) return session_text(session, document);
  Session own = session;
  own.device = device_;
  return session_text(own, document);
}

bool SessionStore::is_known(const std::string& path, std::uint64_t hash) const {
  const auto known = known_.find(path);
  return known != known_.end() && hash != nobodys && known->second == hash;
}

/// Writes a file; backs up content that is not known first, and returns the backup's name.
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

/// File beside the last session that names its writer.
std::string SessionStore::writer_file() const { return places_.last + ".writer"; }

/// True if the last session may be overwritten: its writer no longer runs, and it was fully understood or backed up.
bool SessionStore::takes_over_last() const {
  if (is_running(process_in(read_writer(writer_file()).window, ""))) return false;
  std::error_code error;
  return !fs::exists(places_.last, error) || is_understood(places_.last) || !keep_aside(places_.last).empty();
}

/// Writes the last session; backs up first what another window wrote or what was not fully understood. Returns a sentence on
/// the first backup.
std::string SessionStore::write_last(const std::string& text) {
  std::error_code ignored;
  fs::create_directories(fs::path(places_.last).parent_path(), ignored);
  const FolderLock lock(places_.last);
  const auto there = hash_of_file(places_.last);
  std::string said;
  if (there && *there != hash_of(text) && !is_known(places_.last, *there)) {
    const Writer writer = read_writer(writer_file());
    said = copied_last(writer.hash == *there ? writer.window : "");
  }
  write_safely(places_.last, text);
  known_[places_.last] = hash_of(text);
  try {
    write_file(writer_file(), writer_ + " " + hex16(hash_of(text)) + "\n");
  } catch (const std::exception&) {  // others then back up each state of this session
  }
  return said;
}

/// Backs up the last session of `writer` (empty: unknown), always to the same file for one writer. Returns a sentence the first
/// time.
std::string SessionStore::copied_last(const std::string& writer) {
  const auto earlier = writer.empty() ? copies_.end() : copies_.find(writer);
  if (earlier != copies_.end() && hash_of_file(earlier->second.file) == earlier->second.hash) {
    const std::string bytes = read_file(places_.last, largest_hashed);
    write_safely(earlier->second.file, bytes);
    earlier->second.hash = hash_of(bytes);
    return "";
  }
  const std::string file = keep_aside(places_.last);
  if (file.empty())
    throw std::runtime_error(places_.last +
                             ": holds what this window did not write and cannot be kept aside, so the session was not saved");
  if (writer.empty()) return "The last session that was there, and not opened here, is kept as " + file + ".";
  copies_[writer] = {file, hash_of_file(file).value_or(nobodys)};
  return "Another window is open: its last session is kept as " + file + ".";
}

/// Puts a file at the top of the recent list, which other windows may have changed.
void SessionStore::remember(const std::string& path) {
  if (places_.recent.empty()) return;
  try {
    const FolderLock lock(places_.recent);
    std::vector<std::string> names{json_string(path)};
    for (const std::string& name : read_names(places_.recent))
      if (name != path && names.size() < most_recent) names.push_back(json_string(name));
    write_safely(places_.recent, json_text(Json{{"schema", recent_schema}, {"files", names}}));
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
}

SessionFiles SessionStore::files(const Session& session) const {
  SessionFiles files;
  files.recent = recent_;
  const auto found = documents_.find(session.origin);
  if (found == documents_.end()) return files;
  const Document& d = found->second;
  files.file = d.path;
  files.unsaved = !d.settling && !(d.saved && *d.saved == session);
  return files;
}

}  // namespace attoscope
