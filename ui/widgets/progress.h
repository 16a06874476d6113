/// Progress of the running computation.
#pragma once

#include <string>

#include "imgui.h"
#include "ui/frame/frame.h"
#include "ui/frame/heads_answer.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Work shorter than this shows no progress, in seconds.
inline constexpr double shown_after = 0.5;

/// Width of `draw_progress` at UI scale 1.
inline constexpr float progress_width = 312;

/// "  3.4 s left", of constant width; blank if negative (unknown).
std::string time_left(double seconds);

/// A bar filled up to `share`.
void draw_bar(ImVec2 at, float width, float thick, double share, Colour filled = colours().accent);

/// A bar, the time left and a button that stops the work, in a line of `height`; nothing until `shown_after`. Its width is
/// `progress_width`.
void draw_progress(const PanelInput& input, float height, Requests& requests);

/// True if the result is a preview with fewer rows than requested.
bool is_first_answer(const Result& result);

/// True if the answer on screen has been outdated for more than 0.1 s.
bool is_stale(const PanelInput& input);

/// Dims the current window's drawing if `is_stale`.
void dim_if_stale(const PanelInput& input);

/// "4 of 8 heads wrong", "All 8 heads rounded", "12 of 270 heads judged, 2 wrong".
std::string heads_words(const HeadVerdicts& heads);
/// Colour of `heads_words`: `good` if all heads are judged and rounded, `bad` if all are judged and one is wrong, else `text`.
Colour heads_tone(const HeadVerdicts& heads);

/// True if judging of this output was stopped.
bool judging_stopped(const HeadsState& heads, const Experiment& experiment);
/// "stop" or "go on", while verdicts are missing.
void judging_button(const HeadVerdicts& found, const Experiment& experiment, HeadsState& heads, float width,
                    Requests& requests);

}  // namespace attoscope::ui
