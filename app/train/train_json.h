/// Training as `attoscope.train/1` JSON: the plan and everything that is known of it.
#pragma once

#include <string_view>

#include "app/json/json.h"
#include "kernels/train/record.h"

namespace attoscope {

inline constexpr std::string_view train_schema = "attoscope.train/1";

/// A plan as sessions and checkpoints hold it.
Json train_plan_json(const TrainPlan& plan);

/// The whole record. Series are columns: one list of numbers for each quantity.
Json train_json(const TrainRecord& record);

/// The record that `json` describes, bit for bit, without its corpus. Throws std::runtime_error with half a sentence that names
/// the path, the value and what was expected, where anything at all is missing, unknown or does not fit the plan.
TrainRecord train_record(const nlohmann::json& json);

}  // namespace attoscope
