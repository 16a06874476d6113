#include "ui/picture/thumbnail.h"

#include <algorithm>
#include <cmath>

#include "kernels/experiment/result.h"
#include "ui/frame/pixel_image.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr std::int8_t not_finite = -128;

}  // namespace

std::vector<std::int8_t> thumbnail_of(const Result& result) {
  const std::vector<float> values = field_values(result, Field::a_error);
  float largest = 0;
  for (const float v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  const int rows = result.golden->rows, cols = result.golden->cols;
  const CellRect all{0, 0, static_cast<double>(rows), static_cast<double>(cols)};
  const Colouring rule{.range = largest, .knee = largest * 1e-3f};
  std::vector<std::int8_t> pixels;
  for (const float v : sampled(values, rows, cols, all, pin_width, pin_height, PixelImage::nothing))
    pixels.push_back(std::isfinite(v) ? static_cast<std::int8_t>(std::lround(254 * bar_position(v, rule) - 127)) : not_finite);
  return pixels;
}

ThumbnailShades thumbnail_shades() {
  ThumbnailShades all;
  const Colouring rule{.diverging = true, .log = false, .range = 1, .knee = 1, .theme = colours().theme};
  all[0] = colour(std::nanf(""), rule);
  for (int i = 1; i < 256; ++i) all[static_cast<std::size_t>(i)] = colour(static_cast<float>(i - 128) / 127, rule);
  return all;
}

void draw_thumbnail(ImVec2 at, float length, std::span<const std::int8_t> pixels, const ThumbnailShades& shades) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float side = px(length);
  if (pixels.size() != pin_width * pin_height) {
    list->AddRectFilled(at, {at.x + pin_width * side, at.y + pin_height * side}, colours().raised);
    return;
  }
  for (int y = 0; y < pin_height; ++y)
    for (int x = 0; x < pin_width; ++x) {
      const ImVec2 from{at.x + static_cast<float>(x) * side, at.y + static_cast<float>(y) * side};
      const std::size_t i = static_cast<std::size_t>(y * pin_width + x);
      list->AddRectFilled(from, {from.x + side, from.y + side}, shades[static_cast<std::size_t>(pixels[i] + 128)]);
    }
}

}  // namespace attoscope
