/// A sweep's table as a figure.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/figures/figure.h"
#include "app/json/json.h"
#include "app/sweep/table.h"
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
/// Logarithmic axes where numbers grow by factors, as `sweep --figure` draws them.
ui::SweepAxes usual_axes(const ui::SweepTable& table, ui::SeedSpread spread);

/// The JSON that draws the figure again: the sweep's JSON, and in it its style.
Json sweep_reproduction(const Sweep& sweep, const SweepStyle& style, const std::string& caption);
/// The style in such a text; `remarks` as in `parse_sweep`. Throws std::runtime_error where `text` is no JSON.
SweepStyle parse_sweep_style(std::string_view text, std::vector<std::string>& remarks);

/// The rows of this second value (all, of one parameter) as a series over the first axis: its numbers, or the places of its
/// names. The bars reach a standard deviation over seeds, ending at the least seed where they would leave a log axis, or the
/// least and largest seed.
ui::Series rows_series(const Sweep& sweep, std::span<const SweepRow> rows, const std::string& second, bool has_names,
                       ui::SeedSpread spread = ui::SeedSpread::std);

/// The words that these experiments share: the end of a caption.
std::string experiment_words(std::span<const Experiment> experiments);

/// Lines over the first axis, one for each value of the second, or a and b; names stand apart as marks. The same for the window
/// and the command line.
Figure sweep_figure(const Sweep& sweep, const ui::SweepTable& table, const SweepStyle& style);

}  // namespace attoscope::app
