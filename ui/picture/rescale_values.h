/// Values of the rescale map, from a result's map and the counts of P. No drawing.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

/// True if the map shows counts, which are computed on demand.
constexpr bool shows_counts(RescaleShow show) { return show == RescaleShow::saturated || show == RescaleShow::underflowed; }

/// m of a held row before and after a tile; NaN if no key is seen yet, or a run begins.
struct RunningMax {
  double before, after;
  bool moved() const;
};
RunningMax running_max(const Result& result, int tile, int held_row);

/// True if two experiments have the same counts. The traced row matters only if it decides which rows are computed.
bool same_counts(const Experiment& x, const Experiment& y);

/// Counts of P in a tile and a row; -1 if the row was not counted or the counts are of another experiment.
struct ClippedHere {
  int saturated = -1, underflowed = -1;
};
ClippedHere clipped_here(const Clipping* clipping, const Experiment& experiment, int tile, int row);

/// Row of Q at a row of the map's matrix.
int map_row(const RescaleState& state, int matrix_row);

/// Updates the values; unchanged while the data for `show` is missing.
void refresh_map(RescaleState& state, const std::shared_ptr<const Result>& result,
                 const std::shared_ptr<const Clipping>& clipping, RescaleShow show);
/// Moves the pixels in which m moved from the image to `marks`.
void take_marks(RescaleState& state);
/// Updates `visible` from the image, after masked pixels were cleared.
void take_visible(RescaleState& state);

}  // namespace attoscope
