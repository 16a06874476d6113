/// Progress of the running computation.
#pragma once

#include <string>

#include "imgui.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Work shorter than this shows no progress, in seconds.
inline constexpr double shown_after = 0.5;

/// Width of `draw_progress` at UI scale 1.
inline constexpr float progress_width = 312;

/// "  3.4 s left", of constant width; blank if negative (unknown).
std::string time_left(double seconds);

/// A bar filled up to `share`.
void draw_bar(ImVec2 at, float width, float thick, double share);

/// A bar, the time left and a button that stops the work, in a line of `height`; nothing until `shown_after`. Its width is
/// `progress_width`.
void draw_progress(const PanelInput& input, float height, Requests& requests);

struct PanelInput;
struct Result;

/// True if the result is a first answer, with fewer rows than its question asks for.
bool is_first_answer(const Result& result);

/// True if the answer on screen has been outdated for more than 0.1 s.
bool is_stale(const PanelInput& input);

/// Dims the current window's drawing if `is_stale`.
void dim_if_stale(const PanelInput& input);

}  // namespace attoscope
