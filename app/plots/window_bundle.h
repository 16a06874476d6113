/// A plot of the window as a bundle that can be made again, and its answer's digests to tell whether it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/figures/bundle.h"
#include "app/figures/figure_arguments.h"
#include "app/plots/window_figures.h"
#include "kernels/experiment/result.h"

namespace attoscope {

/// Which plot of which session, and the digests of the answer that it showed; none: a session that was never drawn.
struct PlotBundle {
  Plot plot = Plot::heat_map;
  Session session;
  std::optional<Digests> digests;
  int steps = 0;         ///< of a training: how many were taken; 0: all
  std::string forked{};  ///< and where it went on under another plan, which cannot be made again: one sentence; empty: nowhere
};

/// `attoscope.figure/1`; pins and lessons of the session are left out.
Json plot_json(Plot plot, const Session& session, const PlotData& data, const std::string& caption);
/// What cannot be used is named in `remarks`. Throws std::runtime_error in a sentence where it is no plot at all.
PlotBundle parse_plot(const std::string& text, std::vector<std::string>& remarks);

/// Which matrices differ, in a sentence; "" where none does.
std::string changed_digests(const Digests& then, const Digests& now);

/// `attoscope figure BUNDLE.json|BUNDLE.zip` and `attoscope figure SESSION.json --plot NAME`: computes the answer again,
/// tensors and loaded outputs included, and writes the same picture. Throws std::runtime_error in a sentence, once the files
/// are there, where an answer has other bits than it had.
void draw_plot(const FigureArguments& arguments, std::ostream& out);

}  // namespace attoscope
