/// The panels of the Explore workspace. Each is a function of its data; an editor returns true when it changed it.
#pragma once

#include <cstddef>
#include <limits>

#include "imgui.h"
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
bool edit_shape(Session& session, const Frame& frame, const Palette& colours);
/// A button, with a popup, of FlashAttention's rule for tiles that fit into on-chip memory M.
bool edit_tiles_for_memory(Experiment& experiment, View& view, const Palette& colours, float width);
/// What computes; devices that cannot be had are greyed, with their reason.
bool edit_device(std::string& device, const Frame& frame, const Palette& colours, float width);
/// Algorithms, presets and the matrix of steps: where each method rounds.
bool edit_precision(Experiment& experiment, const Frame& frame, const Palette& colours, std::string& typed_format);
/// What computes a method: the emulated algorithms, a GPU's own kernel, somebody's output.
bool edit_algorithm(Method& method, const Experiment& experiment, const Frame& frame, const Palette& colours, Colour colour,
                    float width);
/// The named policy of where a method rounds.
bool edit_policy(Method& method, Colour colour, float width);

/// A button, with a popup, of the options that a method's algorithm has beyond where it rounds.
bool edit_method_options(Method& method, const Palette& colours, float width, float height);
/// How many of these differ from the default.
int options_changed(const Method& method);
/// A button, with a popup, of sink, soft-capping and ALiBi.
bool edit_problem_options(Problem& problem, const Palette& colours, float width);

/// Somebody's own output in the place of a or b: its file, its type, which method it stands for.
bool edit_kernel(Experiment& experiment, const Frame& frame, const Palette& colours, std::string& typed, Wishes& wishes);
/// "Rounded or wrong?" of a loaded output, in three lines; asks for the verdict where it is not known. Nothing where none is
/// loaded.
void draw_kernel_verdict(const Frame& frame, const Palette& colours, float width, Wishes& wishes);

/// The left panel.
void draw_controls(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The middle: toolbar, picture, curves, colour bar, read-out.
void draw_heatmap(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The right panel.
void draw_statistics(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
/// The bottom panel.
void draw_recurrence(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// The bar above and the bar below.
void draw_top_bar(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);
void draw_status_bar(const Frame& frame, const Palette& colours, Wishes& wishes);

/// The list of what can be done, found by typing, while it is open.
void draw_palette(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// A shipped experiment instead of the session's, seen whole, and its sentence.
void ask_probe(Session& session, UiMemory& memory, const ProbeEntry& probe);
/// A button with a list of the shipped experiments, what each shows, and what to look for.
void presets_button(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours);
/// The sentence of the shipped experiment that the session asks for, until it is dismissed or another is asked.
void draw_probe_sentence(const Session& session, const Frame& frame, UiMemory& memory, const Palette& colours);

/// The four panels docked between the bars.
void draw_explore(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// What each step of a costs, as bars; asks for it where it is not known. A click on a bar makes the step exact.
void draw_why(Session& session, const Frame& frame, const Palette& colours, Wishes& wishes);

/// Bytes between HBM and the chip of the three algorithms, what lies on chip, and a roofline; fills the rest of the panel.
void draw_traffic(Session& session, const Frame& frame, const Palette& colours);

/// True if what was found for the question `known` holds for `asked` too: they differ in the traced row alone.
bool answers(const Experiment& known, const Experiment& asked);
/// Whether the bits are the same however they were computed, in two words; a click shows the runs.
void draw_bits_badge(View& view, const Frame& frame, const Experiment& asked, ImVec2 at, const Palette& colours);
/// The runs that must give the same bits, and a button that asks for them.
void draw_same_bits(const Session& session, const Frame& frame, const Palette& colours, Wishes& wishes);

/// Brings the points up to date, looking at no more than so many elements at once; true while there are more to look at: the
/// points of the earlier answer stay until then. The first answer's points are found at once.
bool refresh_scatter(ScatterMemory& memory, const std::shared_ptr<const Result>& result,
                     std::size_t elements = std::numeric_limits<std::size_t>::max());
/// |error| of a and b over |golden|, both logarithmic, filling the rest of the panel.
void draw_scatter(ScatterMemory& memory, const std::shared_ptr<const Result>& result, const Palette& colours, Wishes& wishes);

/// Signed-ulp histogram of a and b, filling the rest of the panel.
void draw_histogram(const Result& result, const Palette& colours);

/// True if what is shown answers an older question, and has for more than 0.1 s.
bool is_stale(const Frame& frame);
/// Dims what the current window has drawn while its answer is out of date by more than 0.1 s.
void dim_if_stale(const Frame& frame, const Palette& colours);

}  // namespace attoscope
