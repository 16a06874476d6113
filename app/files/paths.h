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

/// Directory for pictures: $XDG_PICTURES_DIR, else the one in ~/.config/user-dirs.dirs, else ~/Pictures; empty if none exists.
std::string pictures_directory();

/// The first of the windows' autosaves: $XDG_STATE_HOME/attoscope/session.json, else ~/.local/state/attoscope/session.json;
/// empty where there is no home.
std::string default_session_file();

/// Directory for lasting results: $XDG_DATA_HOME/attoscope, else ~/.local/share/attoscope; empty without a home.
std::string data_directory();

/// Directory of cached points and heads: $XDG_CACHE_HOME/attoscope/points, else ~/.cache/attoscope/points; empty without a
/// home.
std::string default_point_cache();

/// File of the recent sessions' names: recent.json beside the last session; empty if that is.
std::string recent_sessions_file();

/// The path with the home directory in the place of "~/".
std::string with_home(const std::string& path);

/// The paths, in order, that the last one of a list with commas (or behind '=') may become: folders, with '/' at their ends,
/// and files with one of these endings. Hidden ones where a dot is typed. At most 200; none where the folder cannot be listed.
std::vector<std::string> completions(const std::string& typed, const std::vector<std::string>& endings);

}  // namespace attoscope::app
