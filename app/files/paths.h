/// Paths of Attoscope's own files.
#pragma once

#include <string>

namespace attoscope {

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

}  // namespace attoscope
