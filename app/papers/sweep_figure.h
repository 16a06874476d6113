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
#include "app/sweep/table.h"

namespace attoscope {

enum class SweepSpread : std::uint8_t { std, min_max };
inline constexpr std::array<std::string_view, 2> sweep_spread_names{"std", "min-max"};

/// The look of a drawn sweep.
struct SweepStyle {
  SweepSpread spread = SweepSpread::std;
  bool heat_map = false;  ///< of two parameters: one across, one down, the measure's mean as colour

  friend bool operator==(const SweepStyle&, const SweepStyle&) = default;
};

/// The JSON that draws the figure again: the sweep's JSON, and in it its style.
Json sweep_reproduction(const Sweep& sweep, const SweepStyle& style);
/// The style in such a text; `remarks` as in `parse_sweep`. Throws std::runtime_error where `text` is no JSON.
SweepStyle parse_sweep_style(std::string_view text, std::vector<std::string>& remarks);

/// The rows of this second value (all, of one parameter) as a series over the first axis: its numbers, or the places of its
/// names. The bars reach a standard deviation over seeds, ending at the least seed where they would leave a log axis, or the
/// least and largest seed.
Series rows_series(const Sweep& sweep, std::span<const SweepRow> rows, const std::string& second, bool has_names,
                   SweepSpread spread = SweepSpread::std);

/// Lines over the first axis, one for each value of the second; names stand apart as marks.
Figure sweep_figure(const std::string& name, const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows,
                    const SweepStyle& style = {});

}  // namespace attoscope
