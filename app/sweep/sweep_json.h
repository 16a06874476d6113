/// A sweep as `attoscope.sweep/1` JSON.
#pragma once

#include <string_view>

#include "app/json/json.h"
#include "app/sweep/sweep.h"

namespace attoscope {

Json sweep_json(const Sweep& sweep);
/// Parses a sweep. Unknown keys and invalid values are named with their path in `remarks`. Throws std::runtime_error if `text`
/// is no sweep. Tensors are not read.
Sweep parse_sweep(std::string_view text, std::vector<std::string>& remarks);

}  // namespace attoscope
