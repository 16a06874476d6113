/// Plots of the window as figures, made from the answer and the view, not from pixels.
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

namespace attoscope::app {

/// The answers that plots are made of; null: not computed.
struct PlotData {
  std::shared_ptr<const Result> result{};
  ui::SideInput side{};
  std::shared_ptr<const ui::SweepTable> sweep{};
  ui::TrainView train{};
  std::shared_ptr<const Result> slip_output{};  ///< `result` with a slip's output, if the view shows it
  ui::LessonAnswerPtr lesson{};                 ///< answer to the question of a lesson's plot
  ui::TensorFileInfo file{};                    ///< file of the experiment's input: titles name its heads
};

/// True if the plot shows an answer to the session's experiment.
constexpr bool is_of_experiment(ui::Plot plot) {
  return plot != ui::Plot::window && plot != ui::Plot::sweep && plot != ui::Plot::lesson && !is_of_training(plot);
}

/// Adds to `known` the answers that the plot needs: the result of the session's experiment and side answers, unless `known` has
/// them for the same question; or the session's plan trained for `steps` steps (0: all). Does not read tensors. Throws as
/// `compute` and `trained`.
PlotData answered(ui::Plot plot, const ui::Session& session, PlotData known, const Options& options = {}, int steps = 0);

/// Draws the plot with the session's view from `data`, the result of `answered`. Throws std::invalid_argument in a sentence if
/// there is nothing to draw.
Figure plot_figure(ui::Plot plot, const ui::Session& session, const PlotData& data);

/// Printed size of a panel.
struct PanelPrint {
  double width_mm, height_mm;
};

/// Heat map of the view: output, rescale map or scores; two panels if the view compares two fields.
std::vector<ui::FigurePanel> heat_panels(const ui::Session& session, const PlotData& data, const PanelPrint& print);
/// The tensor, or the window of pairs (query, key), shown in the view's heat map.
ui::ShownTensor shown_in(const ui::Session& session, const PlotData& data);
/// Number of panels of the heat map.
int heat_panel_count(const ui::Session& session);

}  // namespace attoscope::app
