/// A plot of the window as a bundle that can be made again, and its answer's digests to tell whether it was.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "app/figures/bundle.h"
#include "app/plots/plot_bundle.h"
#include "app/plots/window_figures.h"

namespace attoscope::app {

/// `attoscope.figure/1`; pins and lessons of the session are left out.
Json plot_json(ui::Plot plot, const ui::Session& session, const PlotData& data, const std::string& caption);

/// `attoscope figure BUNDLE.json|BUNDLE.zip` and `attoscope figure SESSION.json --plot NAME`: computes the answer again,
/// tensors and loaded outputs included, and writes the same picture. Throws std::runtime_error in a sentence, once the files
/// are there, where an answer of the same tensors has other bits than it had. `tell` hears of tensors that are not those of the
/// session before anything is computed, and may throw.
using TellChanged = std::function<void(const std::vector<std::string>& changed)>;
void draw_plot(const FigureArguments& arguments, std::ostream& out, const TellChanged& tell);

}  // namespace attoscope::app
