/// A sweep's table as a figure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/figures/figure.h"
#include "app/sweep/table.h"

namespace attoscope {

enum class SweepSpread : std::uint8_t { std, min_max };

/// How a sweep is drawn.
struct SweepStyle {
  SweepSpread spread = SweepSpread::std;
  bool heat_map = false;  ///< of two parameters: one across, one down, the measure's mean as colour
};

/// Lines over the first axis, one for each value of the second; names stand apart as marks. The bars reach a
/// standard deviation over seeds, ending at the least seed where they would leave a log axis, or the least and largest seed.
Figure sweep_figure(const std::string& name, const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows,
                    const SweepStyle& style = {});

}  // namespace attoscope
