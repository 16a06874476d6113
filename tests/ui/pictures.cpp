#include "tests/ui/pictures.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attoscope::testing {
namespace {

constexpr int status_bar = 30;
constexpr int block = 8;  ///< pixels of a shrunken picture

}  // namespace

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

PictureDifference difference_of(const Picture& p, const Picture& q) {
  if (p.width != q.width || p.height != q.height) return {255, 255};
  PictureDifference d;
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

std::string text(const PictureDifference& d) {
  return "mean " + std::to_string(d.mean) + ", worst " + std::to_string(d.worst) + " at " + std::to_string(d.x) + ", " +
         std::to_string(d.y);
}

}  // namespace attoscope::testing
