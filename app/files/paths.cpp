#include "app/files/paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "app/words/numbers.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

/// Value of the environment variable, or "".
std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path program_directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return !path.empty() && fs::is_directory(path, error);
}

/// Path of XDG_PICTURES_DIR="$HOME/..." or "/..." in a file of user directories.
fs::path named_pictures(const fs::path& dirs, const fs::path& home) {
  constexpr std::string_view key = "XDG_PICTURES_DIR=\"", at_home = "$HOME/";
  std::ifstream file(dirs);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() < key.size() + 1 || line.back() != '"') continue;
    const std::string value = line.substr(key.size(), line.size() - key.size() - 1);
    return value.starts_with(at_home) ? home / value.substr(at_home.size()) : fs::path(value);
  }
  return {};
}

/// Path of a file of this program: in the directory that `variable` holds, else in `beside_home` of the home directory; empty
/// without a home.
std::string own_place(const char* variable, const char* beside_home, const char* file) {
  const fs::path base = environment(variable), home = environment("HOME");
  const fs::path relative = *file == '\0' ? fs::path("attoscope") : fs::path("attoscope") / file;
  if (base.is_absolute()) return (base / relative).string();  // XDG ignores relative ones
  return home.empty() ? "" : (home / beside_home / relative).string();
}

}  // namespace

std::string assets_directory() {
  if (const std::string given = environment("ATTOSCOPE_ASSETS"); !given.empty()) return directory_exists(given) ? given : "";
  const fs::path program = program_directory();
  for (const char* const relative : {"../share/attoscope/assets", "../assets", "assets"}) {
    const fs::path candidate = (program / relative).lexically_normal();
    if (!program.empty() && directory_exists(candidate / "examples")) return candidate.string();
  }
  const fs::path source = ATTOSCOPE_SOURCE_ASSETS;  // empty in packages
  return directory_exists(source) ? source.string() : "";
}

std::string example_file() {
  const std::string assets = assets_directory();
  if (assets.empty()) return "";
  const fs::path file = fs::path(assets) / "examples" / "smollm2_135m.safetensors";
  std::error_code error;
  return fs::is_regular_file(file, error) ? file.string() : "";
}

std::string temporary_directory() {
  const std::string named = environment("TMPDIR");
  if (named.empty()) return "/tmp";
  if (!directory_exists(named)) throw std::runtime_error("TMPDIR is " + in_quotes(named) + ", expected a directory");
  return named;
}

std::string pictures_directory() {
  const fs::path home = environment("HOME"), config = environment("XDG_CONFIG_HOME");
  const fs::path dirs = (config.is_absolute() ? config : home / ".config") / "user-dirs.dirs";
  for (const fs::path& candidate : {fs::path(environment("XDG_PICTURES_DIR")), named_pictures(dirs, home), home / "Pictures"})
    if (candidate.is_absolute() && directory_exists(candidate)) return candidate.string();
  return "";
}

std::string default_session_file() { return own_place("XDG_STATE_HOME", ".local/state", "session.json"); }

std::string data_directory() { return own_place("XDG_DATA_HOME", ".local/share", ""); }

std::string default_point_cache() { return own_place("XDG_CACHE_HOME", ".cache", "points"); }

std::string recent_sessions_file() {
  const fs::path last = default_session_file();
  return last.empty() ? "" : (last.parent_path() / "recent.json").string();
}

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

}  // namespace attoscope::app
