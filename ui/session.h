/// What is saved: the question, how its answer is looked at, and the pinned questions. Plain values.
#pragma once

#include <string>
#include <vector>

#include "kernels/experiment.h"
#include "kernels/fields.h"
#include "kernels/presets.h"

namespace attoscope {

enum class ValueScale : std::uint8_t { linear, log };  ///< log: signed, asinh

/// Changes only the picture.
struct View {
  Field field = Field::a_error;
  ValueScale scale = ValueScale::log;
  bool range_pinned = false;
  double range = 0.01;       ///< the largest |value| of the colour bar while pinned
  bool show_tiles = false;   ///< tile grid over the heat map
  CellRect zoom{};           ///< part that is shown, in rows of Q; all zero: everything
  int cell_row = -1, cell_col = -1;  ///< pinned cell, row of Q; -1: none
  int scrubbed_tile = -1;    ///< tile under the scrubber of the recurrence strip; -1: the last
  bool square_tiles = true;  ///< block_q follows block_k
  bool light = false;        ///< theme
  double ui_scale = 1;

  friend bool operator==(const View&, const View&) = default;
};

struct Session {
  Experiment experiment = default_experiment();
  View view{};

  friend bool operator==(const Session&, const Session&) = default;
};

}  // namespace attoscope
