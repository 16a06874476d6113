/// Sessions as `attoscope.session/1` JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Bytes of a session's text that can be parsed within a frame.
inline constexpr std::size_t quick_text = 1 << 18;

/// Parses a session. Missing fields keep their defaults; unknown keys and invalid values are named with their path in `remarks`
/// and left at their defaults. Throws std::runtime_error if `text` is no session. Tensors are not read (`load_tensors`).
ui::Session parse_session(std::string_view text, std::vector<std::string>& remarks);
/// The session as text. `document`: file of a window's last session; empty: none, and not written.
std::string session_text(const ui::Session& session, const std::string& document = {});
/// Short text for links: only fields that differ from a new session's, and shipped files as "shipped:examples/NAME", which
/// `parse_session` finds in any installation.
std::string short_session_text(const ui::Session& session);

/// Parses a file, or an archive of `pack_session`; sentences begin with its name. Relative paths are those of files beside it,
/// and files that are not where the session says are looked for there (`find_files`). Throws if `watch` asks to stop.
ui::Session read_session(const std::string& path, std::vector<std::string>& remarks, const ReadWatch& watch = {});
/// True if that takes less than a frame, or fails.
bool is_quick_session(const std::string& path);

/// Name of the session's text inside of an archive.
inline constexpr const char* packed_session = "session.json";

/// A window's session, and its file.
struct LastSession {
  ui::Session session;
  std::string document;  ///< opened from here or saved here; empty: nowhere yet
  bool first = false;    ///< there is no last session: this window is the first one here
  bool stays = false;    ///< its file holds what could not be kept aside, and must not be written over
};
/// The session of a window's autosave `file`, else, or where it is empty, `first_session`. A file that cannot be read in full
/// is kept beside itself.
LastSession last_session(const std::string& file, std::vector<std::string>& remarks);

/// Session of a new user: the shipped example with a causal mask, or default inputs without the example.
ui::Session first_session();

/// An experiment in the format of sessions and results.
Json experiment_json(const Experiment& experiment);

/// A method in the format of `experiment_json`.
Json method_json(const Method& method);

}  // namespace attoscope::app
