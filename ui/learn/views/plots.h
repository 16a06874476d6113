/// The kinds of plot that a lesson may show. Each fills the scene's width and `height`, and returns one sentence about what is
/// wrong with its parameters, or "".
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/ui_state.h"
#include "ui/learn/views/view_parts.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/loop_picture.h"
#include "ui/sweep/sweep_state.h"

namespace attoscope {

/// Bytes between HBM and the chip along an axis.
struct BytesState {
  Experiment experiment{};
  std::string_view over;  ///< the quantity on the x axis; empty: none yet
  int M = 0;              ///< that the tiles were made for; 0: they are the experiment's
  std::vector<double> x;
  std::array<std::vector<double>, 3> bytes;  ///< Algorithm 0, FA-1, FA-2
};

/// The double loop, and whether it plays.
struct LoopState {
  LoopPicture picture;
  bool playing = false;
  double next = 0;
};

/// Weights of two models, sorted, and how far apart they are.
struct HeapsState {
  int n = 0;  ///< of each
  std::uint64_t seed = 0;
  std::vector<float> x, y;
  double distance = 0;  ///< Wasserstein-1
};

/// A sweep as the Sweep workspace draws it.
struct SweepPlotState {
  LessonAnswerPtr answer;  ///< that `sweep` was made from
  SweepState sweep;
  Session session;  ///< of which the theme alone is used
};

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
std::string draw_sweep_plot(LessonScene& scene, SweepPlotState& state, float height);
/// The losses of the plan `spike`, step by step.
std::string draw_losses_plot(LessonScene& scene, SweepPlotState& state, float height);
/// The traffic of the three algorithms over N, M, d or a side of the tile.
std::string draw_bytes_plot(LessonScene& scene, BytesState& state, float height);
/// Blocks of queries times tiles of keys between HBM and the chip, moved by a slider.
std::string draw_loop_plot(LessonScene& scene, LoopState& state, float height);
/// The rounding of each x to a format, and its error.
std::string draw_staircase(LessonScene& scene, float height);
/// exp(x), and where formats overflow and underflow.
std::string draw_exp_plot(LessonScene& scene, float height);

/// The first weights of two models that differ in their seed, as two heaps whose sorted values are joined; N is how many.
std::string draw_heaps_plot(LessonScene& scene, HeapsState& state, float height);

/// The line above a plot: its title, and at the right what it counts, or "over x", what it is over.
void draw_plot_head(const LessonScene& scene, std::string_view title, std::string_view unit);

}  // namespace attoscope
