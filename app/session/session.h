/// Sessions as `attoscope.session/1` JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Largest session text, in bytes, that can be parsed within a frame.
inline constexpr std::size_t quick_text = 1 << 18;

/// Parses a session. Missing fields keep their defaults. `remarks` lists unknown keys and invalid values, which keep their
/// defaults, by path. Throws std::runtime_error if `text` is no session. Tensors are not read (`load_tensors`).
ui::Session parse_session(std::string_view text, std::vector<std::string>& remarks);
/// The session as text. `document`: file of a window's last session; not written if empty.
std::string session_text(const ui::Session& session, const std::string& document = {});
/// Short text for links: only fields that differ from a new session's, and shipped files as "shipped:examples/NAME", which
/// `parse_session` finds in any installation.
std::string short_session_text(const ui::Session& session);

/// Parses a file, or an archive of `pack_session`; sentences begin with its name. Resolves relative paths against its folder,
/// and searches that folder for files that have moved (`find_files`). Throws if `watch` requests a stop.
ui::Session read_session(const std::string& path, std::vector<std::string>& remarks, const ReadWatch& watch = {});
/// The same without a search.
ui::Session placed_session(const std::string& path, std::vector<std::string>& remarks);
/// True if `read_session` takes less than a frame, or fails.
bool is_quick_session(const std::string& path);

/// Name of the session's text inside of an archive.
inline constexpr const char* packed_session = "session.json";

/// A window's session, and its file.
struct LastSession {
  ui::Session session;
  std::string document;  ///< file it was opened from or saved to; empty: none yet
  bool first = false;    ///< there is no last session: first start of the program
  bool stays = false;    ///< its file was not read in full and could not be copied: do not overwrite it
};
/// The session of a window's autosave `file`; `first_session` if `file` is empty or unreadable. A file that cannot be read in
/// full is copied beside itself.
LastSession last_session(const std::string& file, std::vector<std::string>& remarks);

/// Session of a new user: the shipped example with a causal mask, or default inputs without the example.
ui::Session first_session();

/// An experiment in the format of sessions and results.
Json experiment_json(const Experiment& experiment);

/// A method in the format of `experiment_json`.
Json method_json(const Method& method);

}  // namespace attoscope::app
