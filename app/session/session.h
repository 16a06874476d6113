/// Sessions as `attoscope.session/1` JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "ui/session/session.h"

namespace attoscope {

/// Text of a session that is read within a frame, in bytes.
inline constexpr std::size_t quick_text = 1 << 18;

/// The session that `text` describes. What is missing keeps its default; every unknown key and every value out of its range is
/// named with its path in `remarks` and left at its default. Throws std::runtime_error where `text` is no session at all.
/// Tensors are not read (`load_tensors`).
Session parse_session(std::string_view text, std::vector<std::string>& remarks);
/// `document`: the file that a window's last session belongs to; empty: none, and not written.
std::string session_text(const Session& session, const std::string& document = {});
/// The same in few bytes, for a link: only fields that differ from a new session's, and shipped files by their names among the
/// assets, "shipped:examples/NAME", which `parse_session` finds wherever the program is installed.
std::string short_session_text(const Session& session);

/// The same for files; sentences begin with the file's name.
Session read_session(const std::string& path, std::vector<std::string>& remarks);

/// A window's session, and the file that it belongs to.
struct LastSession {
  Session session;
  std::string document;  ///< opened from here or saved here; empty: nowhere yet
  bool first = false;    ///< there is no last session: this window is the first one here
  bool stays = false;    ///< its file holds what could not be kept aside, and must not be written over
};
/// The session of a window's autosave `file`, else, or where it is empty, `first_session`. A file that cannot be read in full
/// is kept beside itself.
LastSession last_session(const std::string& file, std::vector<std::string>& remarks);

/// What a new user sees: the shipped example under a causal mask, or default inputs where it is missing.
Session first_session();

/// An experiment as sessions and results hold it.
Json experiment_json(const Experiment& experiment);

/// A method as `experiment_json` holds it.
Json method_json(const Method& method);

}  // namespace attoscope
