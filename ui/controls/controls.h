/// The left panel and its editors. Each editor is a function that draws its data and changes it.
#pragma once

#include <string>

#include "kernels/experiment/table.h"
#include "ui/frame/frame.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// The left panel.
void draw_controls(const Frame& frame);

/// Input, mask, seed, head.
void edit_input(Experiment& experiment, const PanelInput& input, Popups& popups, Requests& requests);

/// The main format: preset buttons, bit layout, bit sliders, limits.
void edit_format(const char* label, Experiment& experiment);

/// N, d, tiles, rows, device.
void edit_shape(Session& session, const PanelInput& input);

/// The switch forward | backward; greyed, with the reason as tooltip, if a method has no backward pass.
void edit_pass(Experiment& experiment, float width, float height);
/// Turns the backward pass on or off. Returns one sentence, and changes nothing, if a method has no backward pass.
std::string turn_backward(Experiment& experiment);

/// Files of dQ, dK and dV computed by a user's kernel, which replace a's.
void edit_kernel_gradients(const Frame& frame);
/// dO and dL; for both methods the named backward pass, options, sums, scales and the matrix of rounding steps.
void edit_gradients(Experiment& experiment, const PanelInput& input, Popups& popups, Requests& requests,
                    std::string& typed_format);

/// Algorithms, presets and the matrix of rounding steps of both methods.
void edit_precision(Experiment& experiment, const PanelInput& input, std::string& typed_format);

/// Algorithm of a method: emulated ones, a GPU's own kernel, or a loaded output.
void edit_algorithm(Method& method, const Experiment& experiment, const PanelInput& input, Colour colour, float width);

/// The named rounding policy of a method.
void edit_policy(Method& method, Colour colour, float width);

/// The named rounding policies of a, or b, and whole kernels, which also set tiles, options and sums.
void edit_preset(Experiment& experiment, bool of_b, Colour colour, float width);

/// Accumulators of the two products of `method` (any method, not only a or b of the experiment), and the flush of P.V.
void edit_sums(const Experiment& experiment, Method& method, Colour colour, float width);

/// Storage and scales of Q, K, V and P in a method, and their transforms. `typed`: text of a format in the popups of roundings.
void edit_scales(const Experiment& experiment, Method& method, Colour colour, float width, std::string& typed);

/// A button with a popup: options of a method other than its rounding steps.
void edit_method_options(Method& method, const Format& main, float width, float height);

/// Number of the method's options that differ from the default.
int options_changed(const Method& method, const Format& main);

/// Number of the options of scores that are on.
int options_changed(const Problem& problem);

/// A button with a popup: sink, soft-capping and ALiBi.
void edit_problem_options(Problem& problem, float width);

/// A loaded output that replaces a or b: its file, its type, its method.
void edit_kernel(Experiment& experiment, const PanelInput& input, PathPrompt& prompt, Requests& requests);

/// Verdict on the loaded output, "Rounded or wrong?"; scrolls if it does not fit. Draws nothing without a loaded output.
void draw_kernel_verdict(const PanelInput& input, float width, float height);
/// The first sentence of the verdict on the head on screen; it names a rounded head of several.
std::string conclusion_of(const CallJudgement& call);
/// Colour of the verdict on the head on screen: green only if all other heads of the call are judged and rounded.
Colour kernel_tone(const CallJudgement& call, const PanelInput& input);

/// Replaces the session's experiment by a shipped one, shows all of it, and opens its sentence.
void ask_probe(Session& session, UiState& state, const ProbeEntry& probe);

/// A button with a list of the shipped experiments and their sentences.
void presets_button(Session& session, const PanelInput& input, UiState& state);

/// Sentence of the shipped experiment, until it is dismissed or the experiment changes.
void draw_probe_sentence(const Session& session, const PanelInput& input, UiState& state);

/// Opens the first lesson.
void open_first_lesson(Session& session);

/// A line above the picture until it is dismissed.
void draw_welcome(Session& session, UiState& state);

/// A button that shows the first wrong row of a loaded output: its tile in the picture, its worst cell pinned. If a slip is
/// named, a second button swipes between the output and the slip's. Draws nothing without an output, a verdict or a wrong row.
/// Returns the width taken.
float first_wrong_button(Session& session, const PanelInput& input);

/// Pin of a result: experiment, errors, digests, and a small picture of a - golden.
Pin make_pin(const Result& result);

/// Appends a pin of the answer on screen, or sets `state.complaint` to the reason why it cannot.
void keep_pin(Session& session, const PanelInput& input, PinState& state);

/// Restores the pin's experiment, and shows all of the picture.
void restore_pin(Session& session, int index);

/// Makes method a of the pin method b of the session. Returns one sentence if their questions differ.
std::string compare_with_pin(Session& session, int index);

/// The pins as a table: errors against golden, and a column for every setting in which they differ.
Table pins_table(const std::vector<Pin>& pins);

/// The list of pins.
void draw_pins(const Frame& frame);

/// The numbers of a tensor in words.
std::string statistics_text(const TensorStatistics& statistics);

/// All tensors of a file as a tree, with their parts of the call and buttons to choose other tensors.
void draw_tensors(const Frame& frame);

}  // namespace attoscope::ui
