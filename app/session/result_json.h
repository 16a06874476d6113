/// Results, what is asked about them, and what the program ships, as JSON.
#pragma once

#include "app/json/json.h"

namespace attoscope {

struct Attribution;
struct Result;
struct TensorCoreRule;

/// `attoscope.result/1`: the experiment, how far a and b are from the truth, and why.
Json result_json(const Result& result);

/// What each rounding step of a costs: "attribution" of a result.
Json attribution_json(const Attribution& attribution);

/// Block length, aligned bits, roundings, and what the rule is known from.
Json tensor_core_rule_json(const TensorCoreRule& rule);

/// `attoscope.presets/1`: every named policy and the steps that it rounds, whole kernels, and every probe with its sentence.
Json presets_json();

}  // namespace attoscope
