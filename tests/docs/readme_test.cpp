// The READMEs: size limits, and the files that they name exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> top_folders{"kernels", "ui", "app", "tests", "assets"};

/// Every README of the tree.
std::vector<fs::path> readmes() {
  std::vector<fs::path> files{"README.md"};
  for (const std::string_view top : top_folders)
    for (const auto& entry : fs::recursive_directory_iterator(top))
      if (entry.path().filename() == "README.md") files.push_back(entry.path());
  return files;
}

/// The text without fenced blocks.
std::string prose_of(const fs::path& file) {
  std::istringstream text(bytes_of_file(file.string()));
  std::string prose;
  bool fenced = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced) prose += line + '\n';
  }
  return prose;
}

/// The text without code between backticks.
std::string without_code(const std::string& text) { return std::regex_replace(text, std::regex("`[^`\n]*`"), ""); }

/// Group 1 of every match of the expression.
std::vector<std::string> matches(const std::string& text, const char* expression) {
  const std::regex regex(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

/// True if a file matches the pattern, whose name has at most one `*`.
bool any_fits(const fs::path& pattern) {
  const std::string name = pattern.filename().string();
  const std::size_t star = name.find('*');
  if (star == std::string::npos) return fs::exists(pattern);
  const std::string before = name.substr(0, star), after = name.substr(star + 1);
  if (!fs::is_directory(pattern.parent_path())) return false;
  return std::ranges::any_of(fs::directory_iterator(pattern.parent_path()), [&](const auto& entry) {
    const std::string found = entry.path().filename().string();
    return found.starts_with(before) && found.ends_with(after);
  });
}

/// True if the path has a placeholder: "NAME", "NN", "ROOM".
bool stands_for_any_file(std::string_view path) {
  return path.find("NAME") != path.npos || path.find("NN") != path.npos || path.find("ROOM") != path.npos;
}

/// True if `path` looks like a file of the tree: it begins with a top folder or ends like a source file.
bool names_a_file(const std::string& path) {
  const std::string first = path.substr(0, path.find('/'));
  if (path.find('/') != path.npos && std::ranges::find(top_folders, first) != top_folders.end()) return true;
  return std::ranges::any_of(std::array{".cpp", ".h", ".cu", ".cmake"}, [&](const char* end) { return path.ends_with(end); });
}

/// True if the path exists relative to the root or to the README's folder.
bool exists_beside(const fs::path& readme, const std::string& path) {
  return any_fits(path) || any_fits(readme.parent_path() / path);
}

TEST(Readme, IsShort) { EXPECT_LE(fs::file_size("README.md"), 10'000U); }

TEST(Readme, MovingPictureIsSmall) { EXPECT_LE(fs::file_size("assets/screenshots/moving.gif"), 3'000'000U); }

TEST(Readme, EveryTopFolderHasOne) {
  for (const std::string_view top : top_folders) EXPECT_TRUE(fs::exists(fs::path(top) / "README.md")) << top;
}

TEST(Readme, LinksLeadSomewhere) {
  for (const fs::path& readme : readmes())
    for (const std::string& link : matches(without_code(prose_of(readme)), R"(\]\(([^)#]+)\))")) {
      if (link.find("://") != link.npos) continue;
      EXPECT_TRUE(fs::exists(readme.parent_path() / link)) << readme.string() << " links to " << link << ", which is missing";
    }
}

TEST(Readme, FilesThatAreNamedExist) {
  for (const fs::path& readme : readmes())
    for (const std::string& path : matches(prose_of(readme), "`([A-Za-z0-9_./*-]+)`"))
      if (names_a_file(path) && !stands_for_any_file(path)) {
        EXPECT_TRUE(exists_beside(readme, path)) << readme.string() << " names " << path << ", which is missing";
      }
}

/// Every folder with files below the top folder, relative to the top folder.
std::set<std::string> rooms_of(std::string_view top) {
  std::set<std::string> rooms;
  for (const auto& entry : fs::recursive_directory_iterator(top))
    if (entry.is_regular_file() && entry.path().parent_path() != top)
      rooms.insert(fs::relative(entry.path().parent_path(), top).generic_string());
  return rooms;
}

TEST(Readme, OfATopFolderListsItsRooms) {
  for (const std::string_view top : top_folders) {
    const std::string prose = prose_of(fs::path(top) / "README.md");
    const std::vector<std::string> listed = matches(prose, R"(\n\| `([a-z_/]+)` \|)");
    for (const std::string& room : rooms_of(top))
      EXPECT_TRUE(std::ranges::any_of(listed, [&](const std::string& l) { return room == l || room.starts_with(l + "/"); }))
          << top << "/README.md lists no room " << room;
    for (const std::string& room : listed) EXPECT_TRUE(fs::is_directory(fs::path(top) / room)) << top << "/README.md: " << room;
  }
}

/// Checks the helpers of these tests: they find missing files.
TEST(Readme, ComparisonSeesWhatIsMissing) {
  EXPECT_EQ(matches("see [a](b/c.md) and [d](e)", R"(\]\(([^)#]+)\))"), (std::vector<std::string>{"b/c.md", "e"}));
  EXPECT_TRUE(names_a_file("kernels/no/such.h"));
  EXPECT_FALSE(exists_beside("ui/README.md", "kernels/no/such.h"));
  EXPECT_TRUE(exists_beside("ui/README.md", "session/session.h"));
  EXPECT_FALSE(any_fits("app/plots/nothing_*.cpp"));
  EXPECT_TRUE(any_fits("app/plots/window_*.cpp"));
}

}  // namespace
}  // namespace attoscope::testing
