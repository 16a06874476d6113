/// A plot of the window as a bundle that reproduces it, with the answer's digests to verify the reproduction.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "app/figures/bundle.h"
#include "app/plots/plot_bundle.h"
#include "app/plots/window_figures.h"

namespace attoscope::app {

/// `attoscope.figure/1`; without pins and lessons of the session.
Json plot_json(ui::Plot plot, const ui::Session& session, const PlotData& data, const std::string& caption);

/// `attoscope figure BUNDLE.json|BUNDLE.zip` and `attoscope figure SESSION.json --plot NAME`: computes the answer again, with
/// tensors and loaded outputs, and writes the picture. Throws std::runtime_error in a sentence, after writing the files, if the
/// same tensors give other bits than the bundle's digests. Calls `tell` before computing with sentences on tensors that differ
/// from the session's; it may throw.
using TellChanged = std::function<void(const std::vector<std::string>& changed)>;
void draw_plot(const FigureArguments& arguments, std::ostream& out, const TellChanged& tell);

}  // namespace attoscope::app
