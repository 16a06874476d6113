#include "app/files/path_completion.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace attoscope {
namespace fs = std::filesystem;

std::string with_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

std::vector<std::string> completions(const std::string& typed, const std::vector<std::string>& endings) {
  constexpr std::size_t most = 200, most_entries = 10'000;
  const std::size_t from = typed.find_last_of(",=") + 1;
  const std::string path = with_home(typed.substr(from)), folder = path.substr(0, path.find_last_of('/') + 1),
                    begun = path.substr(folder.size()), before = typed.substr(0, from) + folder;
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? "." : folder, fs::directory_options::skip_permission_denied, error);
  for (std::size_t i = 0; !error && entry != fs::directory_iterator() && i < most_entries; ++i, entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begun) || (begun.empty() && name.starts_with('.'))) continue;
    std::error_code unknown;
    if (entry->is_directory(unknown))
      found.push_back(before + name + "/");
    else if (std::ranges::any_of(endings, [&](const std::string& ending) { return name.ends_with(ending); }))
      found.push_back(before + name);
  }
  std::ranges::sort(found);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace attoscope
