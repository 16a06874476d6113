/// The panels of the Explore workspace. Each is a function of its data; an editor returns true when it changed it.
#pragma once

#include "kernels/result.h"
#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Input, mask, seed, head.
bool edit_input(Problem& problem, const Frame& frame, const Palette& colours, std::string& typed_file, Wishes& wishes);
/// Preset buttons, bit layout, bit sliders, limits.
bool edit_format(const char* label, Format& format, const Palette& colours);
/// N, d, tiles, rows, device.
bool edit_shape(Experiment& experiment, bool& square, const std::string& device, const Palette& colours);
/// Algorithms, presets and the matrix of steps: where each method rounds.
bool edit_precision(Experiment& experiment, const Palette& colours, std::string& typed_format);

/// The left panel.
void draw_controls(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The middle: toolbar, picture, row profile, colour bar, read-out.
void draw_heatmap(Session& session, const Frame& frame, HeatMemory& memory, const Palette& colours);
/// The right panel; `result` may be null.
void draw_statistics(const Result* result, const Frame& frame, const Palette& colours);
/// The bottom panel.
void draw_recurrence(Session& session, const Frame& frame, StripMemory& memory, const Palette& colours);

/// The bar above and the bar below.
void draw_top_bar(Session& session, UiMemory& memory, const Palette& colours);
void draw_status_bar(const Frame& frame, const Palette& colours);

/// The four panels docked between the bars.
void draw_explore(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// Signed-ulp histogram of a and b, filling the rest of the panel.
void draw_histogram(const Result& result, const Palette& colours);

/// Dims what the current window has drawn while its answer is out of date by more than 0.1 s.
void dim_if_stale(const Frame& frame, const Palette& colours);

}  // namespace attoscope
