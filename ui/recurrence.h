/// The recurrence of the traced row: series over tiles, and the tile under the scrubber.
#pragma once

#include "imgui.h"
#include "ui/memory.h"
#include "ui/theme.h"

namespace attoscope {

/// Brings the series up to date.
void refresh_strip(StripMemory& memory, const std::shared_ptr<const Result>& result);

/// Which of the traced tiles is under the scrubber: an index into `trace.tiles`, or -1 where there is none.
int scrubbed(const Result& result, const View& view);
/// Moves the scrubber by tiles; the last tile follows the end.
void scrub(View& view, const Result* result, int by);
/// Moves it to a tile, or to the traced one nearest to it.
void scrub_to(View& view, const Result& result, double tile);

/// The four plots in a row; a click or drag in one scrubs.
void draw_recurrence_plots(View& view, const StripMemory& memory, ImVec2 size, const Palette& colours);

}  // namespace attoscope
