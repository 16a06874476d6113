/// Compares pictures of the window with kept ones; tolerates differences of other fonts or another driver.
#pragma once

#include <string>

#include "app/files/png.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {

/// Side, in pixels of the screen, of one pixel of a shrunken picture.
inline constexpr int shrink = 5;

/// The picture with means of shrink x shrink pixels, without the status bar, which shows times and the machine's name.
Picture shrunken(const Picture& picture);

/// The PNG; an empty picture if it cannot be read.
Picture read_picture(const std::string& file);

/// Largest tolerated colour differences, of 255: mean over the picture, and mean of a block of 40 x 40 screen pixels. Fonts of
/// another version move the edges of letters.
struct PictureTolerance {
  double mean = 1, block = 14;
};

/// Differences of two shrunken pictures, in colours of 0 to 255: over all, and in the worst block, whose place on the screen is
/// x, y.
struct PictureDifference {
  double mean = 0, worst = 0;
  int x = 0, y = 0;

  bool within(const PictureTolerance& tolerance = {}) const { return mean <= tolerance.mean && worst <= tolerance.block; }
};

/// Pictures of different sizes differ by 255.
PictureDifference difference_of(const Picture& p, const Picture& q);

/// "mean 0.1, worst 3.2 at 640, 200"
std::string text(const PictureDifference& difference);

}  // namespace attoscope::testing
