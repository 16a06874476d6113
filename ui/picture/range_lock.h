/// Lock of a colour bar's range.
#pragma once

#include "ui/picture/picture_frame.h"

namespace attoscope {

/// A lock under the first colour bar: closed, the range is pinned. If the range is not the automatic one, a mark beside the bar
/// points at the largest |value|.
void draw_range_lock(View& view, const UiState& state, const Places& places, const Colouring& colouring);

}  // namespace attoscope
