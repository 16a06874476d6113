// Places of files.
#include "app/files/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::app {
namespace {

using testing::Environment;
using testing::TemporaryDirectory;

TEST(Pictures, GoWhereTheUserHasThem) {
  const TemporaryDirectory scratch;
  const std::string home = scratch / "home";
  std::filesystem::create_directories(home + "/.config");
  const Environment at_home("HOME", home), no_config("XDG_CONFIG_HOME", ""), no_pictures("XDG_PICTURES_DIR", "");
  EXPECT_EQ(pictures_directory(), "");
  std::filesystem::create_directory(home + "/Pictures");
  EXPECT_EQ(pictures_directory(), home + "/Pictures");
  scratch.write("home/.config/user-dirs.dirs", "# folders\nXDG_MUSIC_DIR=\"$HOME/Music\"\nXDG_PICTURES_DIR=\"$HOME/Bilder\"\n");
  EXPECT_EQ(pictures_directory(), home + "/Pictures") << "the folder in user-dirs.dirs does not exist";
  std::filesystem::create_directory(home + "/Bilder");
  EXPECT_EQ(pictures_directory(), home + "/Bilder");
  scratch.write("home/.config/user-dirs.dirs", "XDG_PICTURES_DIR=\"" + scratch / "." + "\"\n");
  EXPECT_TRUE(std::filesystem::equivalent(pictures_directory(), scratch / "."));
  for (const char* broken : {"XDG_PICTURES_DIR=\"", "XDG_PICTURES_DIR=", "XDG_PICTURES_DIR=\"Bilder\"", "\0"}) {
    scratch.write("home/.config/user-dirs.dirs", broken);
    EXPECT_EQ(pictures_directory(), home + "/Pictures") << broken;
  }
  const Environment named("XDG_PICTURES_DIR", scratch / ".");
  EXPECT_TRUE(std::filesystem::equivalent(pictures_directory(), scratch / "."));
}

using Paths = std::vector<std::string>;

TEST(TemporaryDirectories, AreInTmpIfNoneIsNamed) {
  const TemporaryDirectory scratch;
  const Environment empty("TMPDIR", "");
  EXPECT_EQ(temporary_directory(), "/tmp");
  const Environment named("TMPDIR", scratch / "");
  EXPECT_EQ(temporary_directory(), scratch / "");
}

TEST(PathCompletion, ListsFoldersAndFilesThatBeginSo) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directories(scratch / "queries/deep");
  for (const char* const name : {"q.npy", "q.txt", "k.npy", ".q.npy", "queries/q.pt"}) scratch.write(name, "");
  const Paths endings{".npy", ".pt"};
  EXPECT_EQ(completions(scratch / "q", endings), (Paths{scratch / "q.npy", scratch / "queries/"}));
  EXPECT_EQ(completions(scratch / "", endings), (Paths{scratch / "k.npy", scratch / "q.npy", scratch / "queries/"}));
  EXPECT_EQ(completions(scratch / ".", endings), Paths{scratch / ".q.npy"}) << "hidden files if a dot is typed";
  EXPECT_EQ(completions(scratch / "queries/", endings), (Paths{scratch / "queries/deep/", scratch / "queries/q.pt"}));
  const std::string before = (scratch / "q.npy") + ",";
  EXPECT_EQ(completions(before + (scratch / "k"), endings), Paths{before + (scratch / "k.npy")}) << "the last path of a list";
  EXPECT_EQ(completions(before + "k_scale=" + (scratch / "k"), endings), Paths{before + "k_scale=" + (scratch / "k.npy")});
  EXPECT_EQ(completions(scratch / "absent/x", endings), Paths{});
  EXPECT_EQ(completions(scratch / "q.npy/x", endings), Paths{}) << "a file has no entries";
}

TEST(PathCompletion, HomeIsATilde) {
  const TemporaryDirectory scratch;
  const Environment at_home("HOME", scratch / "home");
  std::filesystem::create_directories(scratch / "home/data");
  EXPECT_EQ(with_home("~/data"), scratch / "home/data");
  EXPECT_EQ(with_home("a/~/b"), "a/~/b");
  EXPECT_EQ(completions("~/d", {}), Paths{scratch / "home/data/"});
}

}  // namespace
}  // namespace attoscope::app
