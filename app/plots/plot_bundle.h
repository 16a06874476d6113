/// Reads the JSON of a plot of the window; needs no window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// A plot of a session, and the digests of its answer; none if it was never drawn.
struct PlotBundle {
  ui::Plot plot = ui::Plot::heat_map;
  ui::Session session;
  std::optional<Digests> digests;
  std::uint64_t points = 0;  ///< digest of a sweep's points; 0: unknown
  int steps = 0;             ///< steps taken by a training; 0: all
  std::string forked{};      ///< sentence on forks of the training, which cannot be reproduced; "" if none
};

/// Parses a plot; lists invalid parts in `remarks`. Throws std::runtime_error in a sentence if the text is no plot.
PlotBundle parse_plot(const std::string& text, std::vector<std::string>& remarks);

}  // namespace attoscope::app
