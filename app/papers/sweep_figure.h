/// A sweep's table as a figure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/figures/figure.h"
#include "app/json/json.h"
#include "app/sweep/sweep.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/sweep_lines.h"
#include "ui/session/session.h"

namespace attoscope::app {

inline constexpr std::array<std::string_view, 2> sweep_spread_names{"std", "min-max"};  ///< of SeedSpread

/// The look of a drawn sweep.
struct SweepStyle {
  ui::SweepAxes axes{};
  bool heat_map = false;  ///< of two parameters: one across, one down, the measure's mean as colour
  FigureStyle print{};
};
/// Axes of `sweep --figure`: logarithmic if numbers grow by factors.
ui::SweepAxes usual_axes(const ui::SweepTable& table, ui::SeedSpread spread);

/// The JSON that reproduces the figure: the sweep's JSON with the style, and the `points_digest` of its answers.
Json sweep_reproduction(const Sweep& sweep, const SweepStyle& style, const std::string& caption, std::uint64_t points);
/// Parses the style in `sweep_reproduction`; `remarks` as in `parse_sweep`. Throws std::runtime_error if `text` is no JSON.
SweepStyle parse_sweep_style(std::string_view text, std::vector<std::string>& remarks);
/// Parses the digest of the points, likewise; 0: unknown.
std::uint64_t parse_points_digest(std::string_view text, std::vector<std::string>& remarks);

/// Settings that these experiments share, in words for the end of a caption.
std::string experiment_words(std::span<const Experiment> experiments);

/// Figure of a sweep, for the window and the command line: lines over the first axis, one for each value of the second axis, or
/// a and b; named values as separate marks.
Figure sweep_figure(const Sweep& sweep, const ui::SweepTable& table, const SweepStyle& style);

}  // namespace attoscope::app
