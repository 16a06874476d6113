/// Values on screen before they are coloured, and how they are coloured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/deviation/fields.h"
#include "ui/session/session.h"

namespace attoscope {

class DeviceMatrices;

/// Cells of a matrix that become pixels only where they are painted: by the GPU on which they lie, if that draws the window
/// too.
struct CellSource {
  const std::vector<float>* values =
      nullptr;  ///< rows x cols: `field_values` of `field`, at their place while the image is painted
  int rows = 0, cols = 0;
  CellRect cells{};
  Field field = Field::golden;
  std::shared_ptr<const DeviceMatrices> on_device{};  ///< where the values come from
};

/// Values on screen, one float a pixel, to be coloured where they are drawn. NaN and infinity get marker colours;
/// `nothing` is drawn as the panel's background.
struct PixelImage {
  static constexpr float nothing = -3.0e38f;
  int width = 0, height = 0;
  std::vector<float> pixels{};  ///< empty where `source` has a GPU to make them
  CellSource source{};
  std::uint64_t version = 0;  ///< changes whenever the pixels do
};

/// How values become colours; input of the shader and of the colour bar alike.
struct Colouring {
  bool diverging = true;  ///< signed map around 0; else a ramp of |value| from 0
  bool log = true;        ///< asinh(value / knee) instead of value
  float range = 1;        ///< |value| at the ends of the map
  float knee = 1e-3f;     ///< where log turns linear: below it colours are proportional to the value
  Theme theme = Theme::dark;

  friend bool operator==(const Colouring&, const Colouring&) = default;
};

}  // namespace attoscope
