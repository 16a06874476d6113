/// Paths of Attoscope's own files, and paths as they are typed.
#pragma once

#include <string>
#include <vector>

namespace attoscope::app {

/// Directory of the shipped assets: $ATTOSCOPE_ASSETS, else beside the program (../share/attoscope/assets as installed,
/// ../assets, assets), else in the source tree; empty: none.
std::string assets_directory();

/// Path of the shipped tensors; empty: none.
std::string example_file();

/// Directory of temporary files: $TMPDIR, or /tmp if it is not set or empty. Throws std::runtime_error in a sentence if TMPDIR
/// is no directory.
std::string temporary_directory();

/// Directory for pictures: $XDG_PICTURES_DIR, else the one in ~/.config/user-dirs.dirs, else ~/Pictures; empty if none exists.
std::string pictures_directory();

/// The first of the windows' autosaves: $XDG_STATE_HOME/attoscope/session.json, else ~/.local/state/attoscope/session.json;
/// empty without a home.
std::string default_session_file();

/// Directory for lasting results: $XDG_DATA_HOME/attoscope, else ~/.local/share/attoscope; empty without a home.
std::string data_directory();

/// Directory of cached points and heads: $XDG_CACHE_HOME/attoscope/points, else ~/.cache/attoscope/points; empty without a
/// home.
std::string default_point_cache();

/// File of the recent sessions' names: recent.json beside `default_session_file`; empty if that is empty.
std::string recent_sessions_file();

/// Replaces "~/" at the beginning of a path by the home directory.
std::string with_home(const std::string& path);

/// Completions of a typed text, sorted, by its last path (behind commas or '='): folders, with '/' at their ends, and files
/// with one of these endings; hidden ones only if a dot is typed. At most 200; empty if the folder cannot be listed.
std::vector<std::string> completions(const std::string& typed, const std::vector<std::string>& endings);

}  // namespace attoscope::app
