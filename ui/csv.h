/// The numbers behind the pictures of the window, as CSV: what a save button keeps beside the PNG.
#pragma once

#include <string>

#include "ui/memory.h"
#include "ui/ui.h"

namespace attoscope {

/// The heat map's values: the rows and columns that are seen of the field, the rescale map or the scores.
std::string picture_csv(const View& view, const Frame& frame, const HeatMemory& heat);

/// The traced row, tile by tile, and over all rows how often m moved there.
std::string recurrence_csv(const Result& result);

/// What stands at the lower right: histogram, errors over |O|, attribution, digests or traffic. Empty where it is not known.
std::string detail_csv(Detail detail, const Frame& frame);

}  // namespace attoscope
