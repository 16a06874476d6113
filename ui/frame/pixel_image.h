/// Values on screen before colouring, and their colour mapping.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/deviation/fields.h"
#include "ui/session/session.h"

namespace attoscope {
class DeviceMatrices;
}  // namespace attoscope

namespace attoscope::ui {

/// Cells of a matrix that become pixels when they are painted; on the GPU that holds them if it also draws the window.
struct CellSource {
  const std::vector<float>* values =
      nullptr;  ///< rows x cols of `field_values(field)`; must stay in place while the image is painted
  int rows = 0, cols = 0;
  CellRect cells{};
  Field field = Field::golden;
  std::shared_ptr<const DeviceMatrices> on_device{};  ///< GPU copy of the values
};

/// Values on screen, one float a pixel, coloured when drawn. NaN and infinity get marker colours, `nothing` the panel's
/// background, `masked` the same hatched.
struct PixelImage {
  static constexpr float nothing = -3.0e38f, masked = -3.1e38f;
  int width = 0, height = 0;
  std::vector<float> pixels{};  ///< empty if a GPU makes them from `source`
  CellSource source{};
  std::uint64_t version = 0;  ///< changes with the pixels, and is of no other image
};

/// Colour mapping of values, for the shader and the colour bar.
struct Colouring {
  bool diverging = true;  ///< signed map around 0; else a ramp of |value| from 0
  bool log = true;        ///< asinh(value / knee) instead of value
  float range = 1;        ///< |value| at the ends of the map
  float knee = 1e-3f;     ///< end of the linear part of log: below it colours are proportional to the value
  Theme theme = Theme::dark;

  friend bool operator==(const Colouring&, const Colouring&) = default;
};

/// Signed values: negative green, zero white, positive violet; no method has these colours.
inline constexpr std::array<std::uint32_t, 7> light_diverging{0x0a4310, 0x2b9a35, 0xa0e2a2, 0xffffff,
                                                              0xefbbfb, 0xae50c6, 0x52125e};
/// Magnitudes.
inline constexpr std::array<std::uint32_t, 6> light_ramp{0xffffff, 0xbfe3ae, 0x55b08f, 0x2a7a8c, 0x33487f, 0x1f1440};

}  // namespace attoscope::ui
