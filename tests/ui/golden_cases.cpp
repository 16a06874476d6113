// The main views against pictures kept in tests/ui/golden, so that a panel that goes missing or a colour map that changes is
// seen. ATTOSCOPE_GOLDEN=write makes them anew; look at them then.
#include <png.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "app/paths.h"
#include "app/png.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

constexpr int width = 1600, height = 1000, status_bar = 30;  ///< which tells times and the machine's name: not compared
constexpr int shrink = 5, block = 8;                         ///< pixels of the screen, pixels of a shrunken picture
/// How far colours may be apart, of 255, in the mean of a block and over all: fonts of another version move the edges of
/// letters.
constexpr double block_tolerance = 14, mean_tolerance = 1;

std::string golden_file(const std::string& name) { return "tests/ui/golden/" + name + ".png"; }

/// Each pixel the mean of shrink x shrink; without the status bar.
Picture shrunken(const Picture& p) {
  Picture small{p.width / shrink, (p.height - status_bar) / shrink, {}};
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x)
      for (int c = 0; c < 3; ++c) {
        int sum = 0;
        for (int dy = 0; dy < shrink; ++dy)
          for (int dx = 0; dx < shrink; ++dx)
            sum += p.rgb[static_cast<std::size_t>(((y * shrink + dy) * p.width + x * shrink + dx) * 3 + c)];
        small.rgb.push_back(static_cast<std::uint8_t>(sum / (shrink * shrink)));
      }
  return small;
}

Picture read_picture(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, file.c_str()) == 0) return {};
  image.format = PNG_FORMAT_RGB;
  Picture p{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  p.rgb.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, p.rgb.data(), 0, nullptr) == 0) return {};
  return p;
}

/// How two pictures of one size differ: over all, and in the worst block, whose place is told.
struct Difference {
  double mean = 0, worst = 0;
  int x = 0, y = 0;
  bool within() const { return mean <= mean_tolerance && worst <= block_tolerance; }
};

Difference difference_of(const Picture& p, const Picture& q) {
  if (p.width != q.width || p.height != q.height) return {255, 255};
  Difference d;
  for (int y = 0; y < p.height; y += block)
    for (int x = 0; x < p.width; x += block) {
      std::array<double, 3> sum{};
      int count = 0;
      for (int v = y; v < std::min(p.height, y + block); ++v)
        for (int u = x; u < std::min(p.width, x + block); ++u, ++count)
          for (std::size_t c = 0; c < 3; ++c) {
            const auto at = static_cast<std::size_t>((v * p.width + u) * 3) + c;
            sum[c] += double(p.rgb[at]) - double(q.rgb[at]);
          }
      for (const double s : sum) {
        const double mean = std::abs(s) / count;
        d.mean += mean * count;
        if (mean > d.worst) d.worst = mean, d.x = x * shrink, d.y = y * shrink;
      }
    }
  d.mean /= 3.0 * p.width * p.height;
  return d;
}

/// The shipped example, as a first visitor sees it.
Session example_session() {
  Session s;
  s.experiment.problem.input.kind = InputKind::tensors;
  s.experiment.problem.input.file = example_file();
  s.experiment.problem.input.index = 1;
  s.experiment.problem.mask.kind = Mask::Kind::causal;
  return s;
}

/// What is looked at, and what must have been answered for it.
struct MainView {
  const char* name;
  void (*edit)(View&);
  bool (*ready)(const Frame&);
};
bool answered(const Frame& f) { return f.result != nullptr && !f.computing; }
const std::array<MainView, 8> views{{
    {"explore", [](View&) {}, answered},
    {"light", [](View& v) { v.theme = Theme::light, v.field = Field::golden; }, answered},
    {"contrast", [](View& v) { v.theme = Theme::high_contrast, v.detail = Detail::scatter; }, answered},
    {"side_by_side", [](View& v) { v.comparison = Comparison::side_by_side, v.detail = Detail::traffic; }, answered},
    {"swipe", [](View& v) { v.comparison = Comparison::swipe, v.show_tiles = true; }, answered},
    {"curves", [](View& v) { v.profiles = true, v.cell_row = 600, v.cell_col = 20, v.scrubbed_tile = 4; }, answered},
    {"rescales", [](View& v) { v.picture = PictureKind::rescales, v.detail = Detail::why; },
     [](const Frame& f) { return answered(f) && f.why != nullptr; }},
    {"scores", [](View& v) { v.picture = PictureKind::scores; },
     [](const Frame& f) { return answered(f) && f.scores != nullptr; }},
}};

Picture picture_of(Hand& hand, const MainView& view) {
  Session session = example_session();
  view.edit(session.view);
  hand.open(session);
  hand.move({2, 2});
  for (int i = 0; i < 4000 && !view.ready(hand.stage.frame()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    hand.frames(1);
  }
  hand.check(view.ready(hand.stage.frame()), std::string(view.name) + " is answered");
  hand.frames(20);  // fades
  return shrunken(hand.picture());
}

std::string text(const Difference& d) {
  return "mean " + std::to_string(d.mean) + ", worst " + std::to_string(d.worst) + " at " + std::to_string(d.x) + ", " +
         std::to_string(d.y);
}

void main_views(Hand& hand) {
  const char* asked = std::getenv("ATTOSCOPE_GOLDEN");
  const bool writes = asked != nullptr && std::string(asked) == "write";
  hand.stage.resize(width, height);
  for (const MainView& view : views) {
    const Picture found = picture_of(hand, view);
    if (writes) {
      write_png(golden_file(view.name), found);
      continue;
    }
    const Difference d = difference_of(read_picture(golden_file(view.name)), found);
    if (hand.check(d.within(), std::string(view.name) + " looks otherwise: " + text(d))) continue;
    write_png(std::filesystem::temp_directory_path() / ("attoscope-" + std::string(view.name) + ".png"), found);
  }
}

/// The picture with a rectangle of the screen in one colour.
Picture without(Picture p, int x0, int y0, int x1, int y1) {
  const std::array<std::uint8_t, 3> panel{27, 31, 38};
  for (int y = y0 / shrink; y < y1 / shrink; ++y)
    for (int x = x0 / shrink; x < x1 / shrink; ++x)
      std::copy(panel.begin(), panel.end(), p.rgb.begin() + (y * p.width + x) * 3);
  return p;
}

/// The comparison itself: it sees what it must, and forgives what it should.
void planted(Hand& hand) {
  hand.stage.resize(width, height);
  const Picture right = picture_of(hand, views[0]);
  const auto sees = [&](const Picture& other, const std::string& what) {
    hand.check(!difference_of(right, other).within(), what + " is seen: " + text(difference_of(right, other)));
  };
  hand.check(difference_of(right, right).worst == 0, "nothing differs from itself");
  hand.check(!difference_of(Picture{}, right).within(), "a picture that is not there is no match");
  sees(without(right, 1255, 160, 1590, 420), "a missing table");
  sees(without(right, 1255, 520, 1590, 690), "a missing histogram");
  sees(without(right, 330, 740, 640, 940), "a missing curve");
  sees(without(right, 10, 530, 310, 900), "a missing matrix of steps");
  sees(without(right, 10, 250, 310, 290), "two missing sliders");
  Picture swapped = right;  // pink for mint
  for (std::size_t i = 0; i + 2 < swapped.rgb.size(); i += 3) std::swap(swapped.rgb[i], swapped.rgb[i + 1]);
  sees(swapped, "another colour map");
  Picture dimmer = right;
  for (std::uint8_t& c : dimmer.rgb) c = static_cast<std::uint8_t>(c * 3 / 4);
  sees(dimmer, "a picture that is dimmed");
  Picture moved = right;  // by a pixel of the shrunken picture: five of the screen, more than any font moves
  std::rotate(moved.rgb.begin(), moved.rgb.begin() + 3, moved.rgb.end());
  Picture blurred = right;
  for (std::size_t i = 0; i < blurred.rgb.size(); ++i)
    blurred.rgb[i] = static_cast<std::uint8_t>((4 * right.rgb[i] + moved.rgb[i]) / 5);
  hand.check(difference_of(right, blurred).within(),
             "letters that move by a pixel are forgiven: " + text(difference_of(right, blurred)));
}

constexpr std::array cases{
    Case{"golden", "main views", main_views},
    Case{"golden", "planted differences", planted},
};

}  // namespace

std::span<const Case> golden_cases() { return cases; }

}  // namespace attoscope::testing
