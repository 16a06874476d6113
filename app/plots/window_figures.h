/// The plots of the window as figures: made from the answer and the view, never from pixels.
#pragma once

#include <memory>

#include "app/figures/figure.h"
#include "kernels/compute.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_trace.h"
#include "kernels/questions/scores.h"
#include "ui/frame/lesson.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"

namespace attoscope {
struct GradientWindow;
struct Result;
}  // namespace attoscope

namespace attoscope::ui {
struct FollowedRow;
}  // namespace attoscope::ui

namespace attoscope::app {

/// The answers that plots are made of; null: not known.
struct PlotData {
  std::shared_ptr<const Result> result;
  std::shared_ptr<const ScoreWindow> scores;
  std::shared_ptr<const Clipping> clipping;
  std::shared_ptr<const Attribution> why;
  std::shared_ptr<const ui::SweepTable> sweep;
  ui::TrainView train{};
  std::shared_ptr<const Result> slip_output{};        ///< `result` with the named slip's output in it, where the view wants it
  std::shared_ptr<const GradientWindow> pairs{};      ///< P, dP and dS of the backward pass, where the view shows one
  std::shared_ptr<const ui::FollowedRow> followed{};  ///< the method that is followed beside a loaded output
  std::shared_ptr<const GradientTrace> gradient_trace{};
  std::shared_ptr<const GradAttribution> gradient_why{};
  std::shared_ptr<const ui::HeadVerdict> verdict{};  ///< on the loaded output
  ui::LessonAnswerPtr lesson{};                      ///< to the question of a lesson's plot
  ui::TensorFileInfo file{};                         ///< of the experiment's input, whose head a title names
};

/// True if the plot shows an answer to the session's experiment.
constexpr bool is_of_experiment(ui::Plot plot) {
  return plot != ui::Plot::window && plot != ui::Plot::sweep && plot != ui::Plot::lesson && !is_of_training(plot);
}

/// `known` with whatever the plot needs beside it computed: the answer to the session's experiment, and side answers that
/// `known` has not, or to another question; or the session's plan trained for `steps` steps (0: all). Tensors are not read.
/// Throws as `compute` and `trained` do.
PlotData answered(ui::Plot plot, const ui::Session& session, PlotData known, const Options& options = {}, int steps = 0);

/// The plot as the session's view has it, its numbers those of `data` (as `answered` made it). Throws std::invalid_argument in
/// a sentence where there is nothing to draw.
Figure plot_figure(ui::Plot plot, const ui::Session& session, const PlotData& data);

/// The printed size of a panel.
struct PanelPrint {
  double width_mm, height_mm;
};

/// Output, rescale map or scores, as the view says; two fields beside each other where two are compared.
std::vector<ui::FigurePanel> heat_panels(const ui::Session& session, const PlotData& data, const PanelPrint& print);
/// The tensor, or the pairs of a window, in the heat map of the view.
ui::ShownTensor shown_in(const ui::Session& session, const PlotData& data);
/// The number of panels.
int heat_panel_count(const ui::Session& session);

}  // namespace attoscope::app
