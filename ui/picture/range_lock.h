/// What stands at a colour bar whose range can be fixed.
#pragma once

#include "ui/picture/picture_frame.h"

namespace attoscope {

/// A lock under the first colour bar: closed, the range is fixed. Beside the bar a mark at the largest |value| where the range
/// on show is not the one that follows from it.
void draw_range_lock(View& view, const UiState& state, const Places& places, const Colouring& colouring,
                     const Palette& colours);

}  // namespace attoscope
