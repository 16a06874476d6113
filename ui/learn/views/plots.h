/// The kinds of plot that a lesson may show. Each fills the scene's width and `height`, and returns one sentence about what is
/// wrong with its parameters, or "".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/learn/views/view_parts.h"
#include "ui/recurrence/recurrence.h"

namespace attoscope {

/// The recurrence of the traced row in a lesson: the strip's plots, and the step of the scrubbed tile.
struct RowPlots {
  StripState strip;
  Playback playback;
};

/// Fills `size`. The scrubbed tile and the hidden curves are the scene's `tile` and `hidden`; returns a sentence where these
/// are impossible. Where there is no recurrence, a sentence in its place says why.
std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const StripPlot> plots, ImVec2 size);

/// A measure of a sweep: curves over numbers, or a bar for each name.
std::string draw_sweep_plot(LessonScene& scene, float height);
/// The losses of the plan `spike`, step by step.
std::string draw_losses_plot(LessonScene& scene, float height);
/// The traffic of the three algorithms over N or M.
std::string draw_bytes_plot(LessonScene& scene, float height);
/// Blocks of queries times tiles of keys between HBM and the chip, moved by a slider.
std::string draw_loop_plot(LessonScene& scene, float height);
/// The rounding of each x to a format, and its error.
std::string draw_staircase(LessonScene& scene, float height);
/// exp(x), and where formats overflow and underflow.
std::string draw_exp_plot(LessonScene& scene, float height);
/// The first weights of two models that differ in their seed, as two heaps whose sorted values are joined; N is how many.
std::string draw_heaps_plot(LessonScene& scene, float height);

/// The line above a plot: its title, and at the right what it counts, or "over x", what it is over.
void draw_plot_head(const LessonScene& scene, std::string_view title, std::string_view unit);

}  // namespace attoscope
