/// The data of the window's pictures as CSV, which a save button writes beside the PNG.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/ui_state.h"

namespace attoscope {

/// The heat map's values: the rows and columns that are seen of the field, the rescale map or the scores.
std::string picture_csv(const View& view, const PanelInput& input, const HeatState& heat);

/// The traced row, tile by tile, and over all rows how often m moved there.
std::string recurrence_csv(const Result& result);

/// What stands at the lower right: histogram, errors over |O|, attribution, digests, schedules or traffic. Empty where it is
/// not known.
std::string detail_csv(const NumbersView& view, const PanelInput& input);

}  // namespace attoscope
