/// The colour maps of the light theme and of print: 0xRRGGBB from the low end to the high end.
#pragma once

#include <array>
#include <cstdint>

namespace attoscope {

/// Signed values: negative green, zero white, positive violet; no method has these colours.
inline constexpr std::array<std::uint32_t, 7> light_diverging{0x0a4310, 0x2b9a35, 0xa0e2a2, 0xffffff,
                                                              0xefbbfb, 0xae50c6, 0x52125e};
/// Magnitudes.
inline constexpr std::array<std::uint32_t, 6> light_ramp{0xffffff, 0xbfe3ae, 0x55b08f, 0x2a7a8c, 0x33487f, 0x1f1440};

}  // namespace attoscope
