/// Digests of the single tensors behind an input's digest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "app/json/json.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// {"0123456789abcdef": {"q", "k", "v", "mask"}} by the digests of the inputs, as far as they are known; null: none is.
Json part_digests_json(const std::vector<const Input*>& inputs);
/// Takes those of the inputs' digests from "tensors" of such a document; what is no digest is left out.
void read_part_digests(const nlohmann::json& document, const std::vector<Input*>& inputs);

}  // namespace attoscope::app
