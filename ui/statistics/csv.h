/// Data of the window's pictures as CSV, saved beside the PNG.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/ui_state.h"

namespace attoscope {

/// Values on screen: visible rows and columns of the field, the rescale map or the scores.
std::string picture_csv(const View& view, const PanelInput& input, const HeatState& heat);

/// The traced row, tile by tile, and the number of moves of m over all rows.
std::string recurrence_csv(const Result& result);

/// Data of the panel at the lower right: histogram, errors over |O|, attribution, digests, schedules or traffic. Empty if not
/// computed.
std::string detail_csv(const NumbersView& view, const PanelInput& input);

}  // namespace attoscope
