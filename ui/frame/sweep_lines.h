/// A sweep as lines or marks, or of two parameters as a heat map, for the window and figures.
#pragma once

#include <cstddef>
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
  bool log_x = true, log_y = true;  ///< an axis is logarithmic only if all values are above 0

  friend bool operator==(const SweepAxes&, const SweepAxes&) = default;
};

/// Means along the first parameter, a line for each value of the second; then the means of b, if known.
struct SweepLines {
  FigurePanel panel;
  std::vector<std::vector<SweepPlace>> places;  ///< combinations at the points of the panel's lines, except b's
  std::size_t left_out = 0;                     ///< number of lines beyond `most_lines`; those shown are spread evenly
};
SweepLines sweep_lines(const SweepTable& table, const SweepAxes& axes);

/// Means as a heat map, with the first parameter across and the second upwards; a combination without an answer is empty.
/// `log`: colours on a logarithmic scale, linear below the smallest mean above 0.
FigurePanel sweep_heat_panel(const SweepTable& table, bool log = false);
/// Index in the map's values of a cell of the table.
std::size_t heat_cell(const SweepTable& table, std::size_t cell);

/// True if the first parameter's values are names, drawn as marks.
bool has_categories(const SweepTable& table);
/// The measure with the method's name: "mean |error|, flash2 hw"; without the name if both methods are drawn.
std::string measure_title(const SweepTable& table);

/// Ends of the error bar of a mean. A lower end <= 0 of a positive mean is replaced by the smallest seed's value.
struct SpreadEnds {
  double low, high;
};
SpreadEnds spread_ends(const SweepCell& cell, SeedSpread spread);

}  // namespace attoscope::ui
