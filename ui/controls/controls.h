/// The left panel, and the editors that it is made of. Each is a function of its data; an editor returns true when it changed
/// it.
#pragma once

#include <string>

#include "ui/widgets/theme.h"

namespace attoscope {

struct CallJudgement;
struct PanelInput;
struct PathPrompt;
struct ProbeEntry;
struct Requests;
struct UiState;

/// The left panel.
void draw_controls(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

/// Input, mask, seed, head.
bool edit_input(Problem& problem, const PanelInput& input, const Palette& colours, PathPrompt& prompt, Requests& requests);

/// Preset buttons, bit layout, bit sliders, limits.
bool edit_format(const char* label, Format& format, const Palette& colours);

/// N, d, tiles, rows, device.
bool edit_shape(Session& session, const PanelInput& input, const Palette& colours);

/// A button, with a popup, of FlashAttention's rule for tiles that fit into on-chip memory M.
bool edit_tiles_for_memory(Experiment& experiment, View& view, const Palette& colours, float width);

/// What computes; devices that cannot be had are greyed, with their reason.
bool edit_device(std::string& device, const PanelInput& input, const Palette& colours, float width);

/// Algorithms, presets and the matrix of steps: where each method rounds.
bool edit_precision(Experiment& experiment, const PanelInput& input, const Palette& colours, std::string& typed_format);

/// What computes a method: the emulated algorithms, a GPU's own kernel, somebody's output.
bool edit_algorithm(Method& method, const Experiment& experiment, const PanelInput& input, const Palette& colours,
                    Colour colour, float width);

/// The named policy of where a method rounds.
bool edit_policy(Method& method, Colour colour, float width);

/// The named policies of where a, or b, rounds, and whole kernels that set the rest too.
bool edit_preset(Experiment& experiment, bool of_b, Colour colour, float width);

/// What adds up the two products of a method of the experiment, or of one in the place of its methods, and the flush of P.V.
bool edit_sums(const Experiment& experiment, Method& method, const Palette& colours, Colour colour, float width);

/// What a method stores Q, K, V and P as, and what is done to them before. `typed`: a format, in the popups of roundings.
bool edit_scales(const Experiment& experiment, Method& method, const Palette& colours, Colour colour, float width,
                 std::string& typed);

/// A button, with a popup, of the options that a method's algorithm has beyond where it rounds.
bool edit_method_options(Method& method, const Format& main, const Palette& colours, float width, float height);

/// How many of these differ from the default.
int options_changed(const Method& method, const Format& main);

/// A button, with a popup, of sink, soft-capping and ALiBi.
bool edit_problem_options(Problem& problem, const Palette& colours, float width);

/// Somebody's own output in the place of a or b: its file, its type, which method it stands for.
bool edit_kernel(Experiment& experiment, const PanelInput& input, const Palette& colours, PathPrompt& prompt,
                 Requests& requests);

/// "Rounded or wrong?" of a loaded output, which scrolls where the room is too small for it. Nothing where none is loaded.
void draw_kernel_verdict(const PanelInput& input, const Palette& colours, float width, float height);
/// The colour of the verdict on the head on screen: green only where no other head of the call may be wrong.
Colour kernel_tone(const CallJudgement& call, const PanelInput& input, const Palette& colours);

/// A shipped experiment instead of the session's, seen whole, and its sentence.
void ask_probe(Session& session, UiState& state, const ProbeEntry& probe);

/// A button with a list of the shipped experiments, what each shows, and what to look for.
void presets_button(Session& session, const PanelInput& input, UiState& state, const Palette& colours);

/// The sentence of the shipped experiment that the session asks for, until it is dismissed or another is asked.
void draw_probe_sentence(const Session& session, const PanelInput& input, UiState& state, const Palette& colours);

}  // namespace attoscope
