/// What the figures made of sweeps are put together from: experiments, panels, series, captions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/papers/named.h"
#include "app/papers/sweep_figure.h"
#include "app/sweep/axis.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::papers {

/// The colour of the i-th series.
Ink series_ink(std::size_t i);

/// The default experiment with the settings' size, and a under their policy.
Experiment base_of(const FigureSettings& x);

/// An axis of numbers, logarithmic where `log_base` is not 0.
FigureAxis numbers(const char* label, int log_base = 0);
/// An axis of names.
FigureAxis names(const char* label, const std::vector<std::string>& values);
/// An empty panel whose y is a measure.
FigurePanel panel_of(FigureAxis x, const std::string& y, bool log = true);
/// A figure without panels: two columns wide where several stand side by side.
Figure figure_of(const char* name, int panels_across = 1);

/// The policies that are drawn: the one chosen, or all of the flash kind.
std::vector<std::string> policies_of(const FigureSettings& x);
/// `from`, twice that, ... up to `to`.
std::vector<std::string> powers(int from, int to);
/// The formats that figures over number formats have.
Axis formats();

/// "N = 1024, d = 64, tile 64 x 64, seeds 1 to 5, attoscope 0.1.0": the rest of every caption.
std::string conditions(const FigureSettings& x, const Experiment& e, const char* varied = "",
                       const char* inputs = "N(0,1) inputs");

/// A sweep of two parameters over the settings' seeds.
Sweep two_axes(const FigureSettings& x, const Experiment& base, Axis first, Axis second);

/// An experiment that is a bar.
struct NamedExperiment {
  std::string name;
  Experiment experiment;
};
/// Bars of one measure, a named experiment each.
Figure bars(const char* name, const FigureSettings& x, const AnswerSweep& answer,
            const std::vector<NamedExperiment>& experiments, const Measure& measure, bool log);

}  // namespace attoscope::papers
