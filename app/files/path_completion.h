/// Paths as they are typed.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// The path with the home directory in the place of "~/".
std::string with_home(const std::string& path);

/// The paths, in order, that the last one of a list with commas (or behind '=') may become: folders, with '/' at their ends,
/// and files with one of these endings. Hidden ones where a dot is typed. At most 200; none where the folder cannot be listed.
std::vector<std::string> completions(const std::string& typed, const std::vector<std::string>& endings);

}  // namespace attoscope
