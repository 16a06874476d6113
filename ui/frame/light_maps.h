/// The colour maps of the light theme and of print: 0xRRGGBB from the low end to the high end.
#pragma once

#include <array>
#include <cstdint>

namespace attoscope {

/// Negative mint, zero white, positive pink: no method's colour.
inline constexpr std::array<std::uint32_t, 7> light_diverging{0x063f37, 0x129078, 0x8fdccb, 0xffffff,
                                                              0xf7b3d6, 0xc23a84, 0x561038};
/// Magnitudes.
inline constexpr std::array<std::uint32_t, 6> light_ramp{0xffffff, 0xbfe3ae, 0x55b08f, 0x2a7a8c, 0x33487f, 0x1f1440};

}  // namespace attoscope
