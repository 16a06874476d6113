/// Values to colours, shared by the heat map's shader, the colour bar and exports.
#pragma once

#include <array>

#include "ui/frame/pixel_image.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Entries of a colour table: the map from its low to its high end, then marker colours outside the map.
namespace entry {
inline constexpr int map_size = 1023;  ///< odd: 0 has its own entry
inline constexpr int nan = map_size, plus_infinity = nan + 1, minus_infinity = nan + 2, nothing = nan + 3, hatch = nan + 4,
                     count = nan + 5;
}  // namespace entry

using ColourTable = std::array<Colour, entry::count>;

/// Colours of a map with its markers; depends only on `diverging` and `theme`.
ColourTable colour_table(bool diverging, Theme theme);

/// Inputs of the shader. Entry of a value: round(centre + reach * clamp(s(value) * factor, -1, 1)), s(v) = asinh(v / knee) or
/// v.
struct Mapping {
  float range, inverse_knee, factor, centre, reach;
  bool log, diverging;
};
Mapping mapping(const Colouring& colouring);

/// Table entry of `value`.
int colour_entry(float value, const Mapping& mapping);

/// Colour of `value`. For many values use a `colour_table` and a `mapping`.
Colour colour(float value, const Colouring& colouring);

/// Position of `value` on the colour bar, 0 at its low end, 1 at its high end; and the inverse.
float bar_position(float value, const Mapping& mapping);
float bar_position(float value, const Colouring& colouring);
float bar_value(float position, const Colouring& colouring);

}  // namespace attoscope::ui
