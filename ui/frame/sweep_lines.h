/// A sweep as lines or marks, or of two parameters as a heat map, for the window and figures.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/figure_panel.h"
#include "ui/frame/sweep_answer.h"
#include "ui/session/session.h"

namespace attoscope::ui {

inline constexpr std::size_t most_lines = 64;

/// The look of a sweep's lines.
struct SweepAxes {
  SeedSpread spread = SeedSpread::std;
  bool log_x = true, log_y = true;  ///< where all values are above 0

  friend bool operator==(const SweepAxes&, const SweepAxes&) = default;
};

/// Means along the first parameter, a line for each value of the second; then those of b, if known.
struct SweepLines {
  FigurePanel panel;
  std::vector<std::vector<SweepPlace>> places;  ///< of the points of the panel's lines, but those of b
  std::size_t left_out = 0;                     ///< number of lines beyond `most_lines`; those shown are spread evenly
};
SweepLines sweep_lines(const SweepTable& table, const SweepAxes& axes);

/// Means as a heat map, with the first parameter across and the second down; a combination without an answer is empty.
FigurePanel sweep_heat_panel(const SweepTable& table);

/// True if the first parameter's values are names, drawn as marks.
bool has_categories(const SweepTable& table);
/// The measure with the methods' names: "mean |error|, flash2 hw"; without one where both are drawn.
std::string measure_title(const SweepTable& table);

/// Ends of the error bar of a mean. The smallest seed replaces a lower end that is not above 0 if the mean is.
struct SpreadEnds {
  double low, high;
};
SpreadEnds spread_ends(const SweepCell& cell, SeedSpread spread);

}  // namespace attoscope::ui
