/// a - golden as a small picture: computed, kept as bytes, drawn.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct Result;

/// pin_width x pin_height pixels from the top, in the format of `Pin::thumbnail`: each the colour-map position of the largest
/// |value| below it, with the heat map's default colours.
std::vector<std::int8_t> thumbnail_of(const Result& result);

/// Colours of the pixel values -128 .. 127.
using ThumbnailShades = std::array<Colour, 256>;
ThumbnailShades thumbnail_shades();

/// Draws the picture, each pixel `side` at UI scale 1; an empty field without pixels.
void draw_thumbnail(ImVec2 at, float side, std::span<const std::int8_t> pixels, const ThumbnailShades& shades);

}  // namespace attoscope
