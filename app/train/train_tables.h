/// A training as tables for people and for programs, and as `attoscope.train/1` JSON with the plan and the whole record.
#pragma once

#include <string>
#include <string_view>

#include "app/json/json.h"
#include "kernels/train/record.h"

namespace attoscope::app {

/// Three digits; "-" for NaN.
std::string short_number(double x);
/// ", weights bf16, optimiser bf16/stochastic": a method's rounding of stored weights and optimiser states; "" if in fp32.
std::string stored_text(const TrainMethod& method);
/// Three lines: a; b; model, text and seeds.
std::string train_conditions(const TrainPlan& plan);

/// The table of `attoscope train`: final weight distances of each pair, against the reference bands; suspects sorted by the
/// share that they explain; the direct effect of one step.
std::string train_report(const TrainRecord& record);

/// One number in each line: step, pair, tensor, measure, value. A run's own numbers have "run NAME" for a pair, and "all" or
/// "layer L head H" for a tensor.
std::string train_csv(const TrainRecord& record);

inline constexpr std::string_view train_schema = "attoscope.train/1";

/// A plan in the form of sessions and checkpoints.
Json train_plan_json(const TrainPlan& plan);

/// The whole record. Series are columns: a list of numbers for each quantity.
Json train_json(const TrainRecord& record);

/// Parses `train_json`, bit for bit, without the corpus. Throws std::runtime_error (path, value and what was expected) if
/// anything is missing, unknown or does not fit the plan.
TrainRecord train_record(const nlohmann::json& json);

}  // namespace attoscope::app
