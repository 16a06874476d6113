/// Curves over steps as panels, which the window and figures both draw from. No drawing.
#pragma once

#include "ui/frame/figure_panel.h"
#include "ui/train/series.h"

namespace attoscope {

/// Steps that are shown, and how finely: about two points of a curve on each of `pixels`.
struct StepView {
  double from, to, pixels;
};

/// The comparisons that `look` does not hide, in order; it may differ from the drawing's own in what is hidden and in its axes.
FigurePanel deviation_panel(TrainDrawing& drawing, const TrainLook& look, const StepView& view);
/// A number of each run that `look` does not hide, in order.
FigurePanel run_panel(TrainDrawing& drawing, const TrainLook& look, const StepView& view);

}  // namespace attoscope
