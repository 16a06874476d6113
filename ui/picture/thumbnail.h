/// a - golden as a small picture: made of an answer, kept as bytes, drawn.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct Result;

/// pin_width x pin_height pixels from the top, as `Pin::thumbnail`: each the place on the map of the largest |value| under it,
/// as the heat map shows it at first.
std::vector<std::int8_t> thumbnail_of(const Result& result);

/// The colours of the pixels -128 .. 127.
using ThumbnailShades = std::array<Colour, 256>;
ThumbnailShades thumbnail_shades(Theme theme);

/// The picture, each of its pixels `side` at UI scale 1; an empty field where there is none.
void draw_thumbnail(ImVec2 at, float side, std::span<const std::int8_t> pixels, const ThumbnailShades& shades,
                    const Palette& colours);

}  // namespace attoscope
