/// The three kinds of picture in the middle panel; each fills `room`.
#pragma once

#include "ui/colour_bar.h"
#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// A field of the output by rows and head dimension, alone or against a second one.
void draw_output(Session& session, const Frame& frame, UiMemory& all, const Palette& colours, Wishes& wishes, const Box& room);
/// Where m of a moved, or its P left their format, by rows and tiles.
void draw_rescale_map(Session& session, const Frame& frame, UiMemory& all, const Palette& colours, Wishes& wishes,
                      const Box& room);
/// S, P or the error of P of a window of rows and keys.
void draw_scores(Session& session, const Frame& frame, UiMemory& all, const Palette& colours, Wishes& wishes, const Box& room);

}  // namespace attoscope
