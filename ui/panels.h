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

/// A button, with a popup, of the options that a method's algorithm has beyond where it rounds.
bool edit_method_options(Method& method, const Palette& colours, float width, float height);
/// How many of these differ from the default.
int options_changed(const Method& method);
/// A button, with a popup, of sink, soft-capping and ALiBi.
bool edit_problem_options(Problem& problem, const Palette& colours, float width);

/// The left panel.
void draw_controls(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The middle: toolbar, picture, row profile, colour bar, read-out.
void draw_heatmap(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours);
/// The right panel.
void draw_statistics(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The bottom panel.
void draw_recurrence(Session& session, const Frame& frame, StripMemory& memory, const Palette& colours);

/// The bar above and the bar below.
void draw_top_bar(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
void draw_status_bar(const Frame& frame, const Palette& colours);

/// A button with a list of the shipped experiments, what each shows, and what to look for.
void presets_button(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours);
/// The sentence of the shipped experiment that the session asks for, until it is dismissed or another is asked.
void draw_probe_sentence(const Session& session, const Frame& frame, UiMemory& memory, const Palette& colours);

/// The four panels docked between the bars.
void draw_explore(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// What each step of a costs, as bars; asks for it where it is not known. A click on a bar makes the step exact.
void draw_why(Session& session, const Frame& frame, const Palette& colours, Wishes& wishes);

/// Signed-ulp histogram of a and b, filling the rest of the panel.
void draw_histogram(const Result& result, const Palette& colours);

/// True if what is shown answers an older question, and has for more than 0.1 s.
bool is_stale(const Frame& frame);
/// Dims what the current window has drawn while its answer is out of date by more than 0.1 s.
void dim_if_stale(const Frame& frame, const Palette& colours);

}  // namespace attoscope
