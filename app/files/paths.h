/// Where Attoscope's own files are.
#pragma once

#include <string>

namespace attoscope {

/// The directory of the shipped assets: $ATTOSCOPE_ASSETS, else beside the program (../share/attoscope/assets as installed,
/// ../assets, assets), else that of the source tree. Empty where there is none.
std::string assets_directory();

/// Path of the shipped tensors; empty where there are none.
std::string example_file();

/// Where pictures go: $XDG_PICTURES_DIR, else the folder that ~/.config/user-dirs.dirs names, else ~/Pictures; empty where none
/// of them is there.
std::string pictures_directory();

/// The first of the windows' autosaves: $XDG_STATE_HOME/attoscope/session.json, else ~/.local/state/attoscope/session.json;
/// empty where there is no home.
std::string default_session_file();

/// Where what is made and may be wanted again goes: $XDG_DATA_HOME/attoscope, else ~/.local/share/attoscope; empty where there
/// is no home.
std::string data_directory();

/// Where finished points and heads are kept: $XDG_CACHE_HOME/attoscope/points, else ~/.cache/attoscope/points; empty where
/// there is no home.
std::string default_point_cache();

/// Where the names of the sessions that were open are kept: recent.json beside the last session; empty where that is.
std::string recent_sessions_file();

}  // namespace attoscope
