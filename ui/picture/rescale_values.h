/// What the rescale map shows, made from a result's map and the counts of P. No drawing.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

/// Whether the map shows counts, which are made on demand.
constexpr bool shows_counts(RescaleShow show) { return show == RescaleShow::saturated || show == RescaleShow::underflowed; }

/// m of a held row before and after a tile; NaN where there is none: no key is seen, or a run begins.
struct RunningMax {
  double before, after;
  bool moved() const;
};
RunningMax running_max(const Result& result, int tile, int held_row);

/// Whether the counts of one experiment are those of another: the traced row matters only where it decides which rows there
/// are.
bool same_counts(const Experiment& x, const Experiment& y);

/// The counts of P in a tile; -1 where its row was not looked at or the counts are of another experiment.
struct ClippedHere {
  int saturated = -1, underflowed = -1;
};
ClippedHere clipped_here(const Clipping* clipping, const Experiment& experiment, int tile, int row);

/// The row of Q that stands in a row of the map's matrix.
int map_row(const RescaleState& state, int matrix_row);

/// Brings the values up to date; they stay as they are where what `show` needs is not there yet.
void refresh_map(RescaleState& state, const std::shared_ptr<const Result>& result,
                 const std::shared_ptr<const Clipping>& clipping, RescaleShow show);
/// Takes the pixels in which m moved out of the image, as rectangles of equal columns.
void take_marks(RescaleState& state);
/// Brings up to date where there is something to see, once what is masked was hidden.
void take_visible(RescaleState& state);

}  // namespace attoscope
