/// The JSON of a plot of the window, read back; no window is needed for that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// A plot of a session, and the digests of the answer that it showed; none: a session that was never drawn.
struct PlotBundle {
  ui::Plot plot = ui::Plot::heat_map;
  ui::Session session;
  std::optional<Digests> digests;
  int steps = 0;         ///< of a training: how many were taken; 0: all
  std::string forked{};  ///< and where it went on under another plan, which cannot be made again: one sentence; empty: nowhere
};

/// Names unusable parts in `remarks`. Throws std::runtime_error in a sentence where it is no plot at all.
PlotBundle parse_plot(const std::string& text, std::vector<std::string>& remarks);

}  // namespace attoscope::app
