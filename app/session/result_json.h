/// Results, additional answers, and shipped presets as JSON.
#pragma once

#include "app/json/json.h"

namespace attoscope {
struct Attribution;
struct Result;
struct TensorCoreRule;
}  // namespace attoscope

namespace attoscope::app {

/// `attoscope.result/1`: the experiment, the errors of a and b against golden, and details.
Json result_json(const Result& result);

/// "attribution" of a result: cost of each rounding step of a.
Json attribution_json(const Attribution& attribution);

/// Block length, aligned bits, roundings, and evidence of the rule.
Json tensor_core_rule_json(const TensorCoreRule& rule);

/// `attoscope.presets/1`: every named policy with its rounded steps, whole kernels, and every probe with its sentence.
Json presets_json();

}  // namespace attoscope::app
