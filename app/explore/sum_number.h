/// Measures of tensor cores' sums in lessons and claims: "sum.h100", "sum.h100.flush4", "sum.a100.centred".
#pragma once

#include <string>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// True if the name is of such a measure, known or not.
bool is_sum_number(std::string_view measure);
/// Throws std::invalid_argument with one sentence if the measure is unknown.
void check_sum_number(std::string_view measure);
/// "mean |error| of P·V on h100, of mean |P·V|".
std::string sum_number_title(std::string_view measure);

/// `sum_drift` with the experiment's n, format and seed; V has mean 0.5, or 0 if centred. Throws as `sum_drift`.
double sum_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled);

}  // namespace attoscope
