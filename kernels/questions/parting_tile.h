/// The tile of keys after which two runs of a row have other bits.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/experiment/mask.h"

namespace attoscope {

/// The first tile of keys after which a row has other bits.
struct PartingTile {
  int tile = 0, tiles = 0;      ///< its place among all tiles of keys, from 0
  int first_key = 0, keys = 0;  ///< keys of it that the row sees, as they are stored
  std::string_view quantity;    ///< the first that differs, in the order of the recurrence: "S", "m", "P", "l" or "O"
};

/// Comparison of the states (m, l and O) of two runs of a row after the same keys.
struct RowParting {
  int common = 0;                        ///< states that were compared, up to and with the first that differs
  std::optional<PartingTile> parting{};  ///< of the second run; none: all of them have the same bits
  Keys seen{};                           ///< the keys of this state, in the problem's order
};

}  // namespace attoscope
