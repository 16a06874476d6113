/// A sweep as `attoscope.sweep/1` JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "app/sweep/sweep.h"

namespace attoscope::app {

Json sweep_json(const Sweep& sweep);
/// Parses a sweep. `remarks` lists unknown keys and invalid values with their paths. Throws std::runtime_error if `text` is no
/// sweep. Tensors are not read.
Sweep parse_sweep(std::string_view text, std::vector<std::string>& remarks);
/// `changed_tensors` of the heads that both sweeps use, except the base's head.
std::vector<std::string> changed_heads(const Sweep& kept, const Sweep& read);

}  // namespace attoscope::app
