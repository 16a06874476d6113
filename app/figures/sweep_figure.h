/// A sweep's table as a figure.
#pragma once

#include <span>
#include <string>

#include "app/figures/figure.h"
#include "app/sweep/table.h"

namespace attoscope {

/// Lines over the first axis, one for each value of the second; names stand apart as marks. The bars are a standard deviation over
/// seeds, ending at the least seed where they would leave a log axis.
Figure sweep_figure(const std::string& name, const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows);

}  // namespace attoscope
