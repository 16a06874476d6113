/// Everything that Attoscope says in JSON but sessions: parsing with limits, and the result.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/attribution.h"
#include "kernels/slips.h"

namespace attoscope {

/// Keys in the order they were written.
using Json = nlohmann::ordered_json;

/// The JSON that `text` is. Throws std::runtime_error with half a sentence ("is not JSON at byte 12") where it is broken,
/// nested deeper than `max_depth`, or gives a key twice in one object.
nlohmann::json parse_json(std::string_view text, int max_depth);

/// Throws std::runtime_error with half a sentence unless `json` is an object with this schema.
void check_schema(const nlohmann::json& json, std::string_view schema);

/// `value` as text in UTF-8; NaN and infinity become null.
std::string json_text(const Json& value, int indent = 2);

/// `attoscope.result/1`: the experiment, how far a and b are from the truth, and why.
Json result_json(const Result& result);

/// What each rounding step of a costs: "attribution" of a result.
Json attribution_json(const Attribution& attribution);

/// What is to be thought of a loaded output: "verdict" of a result.
Json verdict_json(const Diagnosis& diagnosis);

/// `attoscope.presets/1`: every named policy and the steps that it rounds, and every probe with its sentence.
Json presets_json();

}  // namespace attoscope
