// The pictures of the documentation show the current window: each session of assets/screenshots/sessions is drawn again and
// compared with the committed picture.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "app/explore/render.h"
#include "app/files/paths.h"
#include "app/session/session.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/pictures.h"

namespace attoscope::testing {
namespace {

const std::string folder = "assets/screenshots/";

/// Tolerance that finds a missing tab or word and ignores differences by the picture's reduced colours.
constexpr PictureTolerance with_same_fonts{.mean = 1, .block = 4};
/// Size of the program's name in the upper left corner, in pixels: equal pixels mean the same version of the fonts.
constexpr int title_width = 80, title_height = 24, title_tolerance = 48;

/// The session of the moving picture's first frame; it has a GIF instead of a PNG.
const std::string moving = "moving";

std::vector<std::string> session_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(assets_directory() + "/screenshots/sessions"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  return names;
}

/// The committed picture; empty if it is missing, or if it is a GIF and ImageMagick is missing.
Picture kept_picture(const std::string& name, const TemporaryDirectory& directory) {
  if (name != moving) return read_picture(folder + name + ".png");
  const std::string frame = directory / "frame.png";
  if (std::system(("convert '" + folder + name + ".gif[0]' 'PNG24:" + frame + "'").c_str()) != 0) return {};
  return read_picture(frame);
}

/// True if both pictures have the same pixels of the program's name, within the tolerance of colours.
bool have_same_fonts(const Picture& p, const Picture& q) {
  for (int y = 0; y < title_height; ++y)
    for (int x = 0; x < 3 * title_width; ++x) {
      const auto at = [&](const Picture& r) { return int(r.rgb[static_cast<std::size_t>(y * r.width * 3 + x)]); };
      if (std::abs(at(p) - at(q)) > title_tolerance) return false;
    }
  return true;
}

class Screenshots : public ::testing::TestWithParam<std::string> {};

TEST_P(Screenshots, ShowTheWindowAsItIs) {
  const std::string& name = GetParam();
  std::vector<std::string> remarks;
  const Session session = read_session(folder + "sessions/" + name + ".json", remarks);
  for (const std::string& remark : remarks) ADD_FAILURE() << remark;
  if (name == moving && std::system("command -v convert >/dev/null") != 0) GTEST_SKIP() << "convert of ImageMagick is missing";

  const TemporaryDirectory directory;
  const Picture kept = kept_picture(name, directory);
  ASSERT_FALSE(kept.rgb.empty()) << folder << name << " is missing or cannot be read: run app/screenshots";
  const std::string file = directory / "now.png";
  render(session, {.file = file, .width = kept.width, .height = kept.height, .example_file = example_file()});
  const Picture now = read_picture(file);
  const PictureDifference d = difference_of(shrunken(kept), shrunken(now));
  EXPECT_TRUE(d.within(have_same_fonts(kept, now) ? with_same_fonts : PictureTolerance{}))
      << folder << name << " differs from the window that it shows (" << text(d)
      << "): run app/screenshots and look at the new picture";
}

INSTANTIATE_TEST_SUITE_P(Of, Screenshots, ::testing::ValuesIn(session_names()), [](const auto& of) { return of.param; });

TEST(ScreenshotFolder, HasASessionForEveryPicture) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) {
      const std::string session = folder + "sessions/" + entry.path().stem().string() + ".json";
      EXPECT_TRUE(std::filesystem::exists(session)) << entry.path() << " is made from no session, expected " << session;
    }
}

/// The picture with a rectangle painted over in the window's dark grey.
Picture without(Picture p, int x0, int y0, int x1, int y1) {
  for (int y = y0; y < y1; ++y)
    for (int x = 3 * x0; x < 3 * x1; ++x) p.rgb[static_cast<std::size_t>(y * p.width * 3 + x)] = 28;
  return p;
}

TEST(ScreenshotComparison, SeesATabThatIsMissing) {
  const Picture right = read_picture(folder + "explore.png");
  ASSERT_FALSE(right.rgb.empty());
  const Picture planted = without(right, 260, 4, 325, 32);  // the tab Train
  EXPECT_TRUE(have_same_fonts(right, planted));
  EXPECT_FALSE(difference_of(shrunken(right), shrunken(planted)).within(with_same_fonts));
  EXPECT_FALSE(have_same_fonts(right, without(right, 0, 0, 40, 24)));
}

}  // namespace
}  // namespace attoscope::testing
