/// What was trained, as tables for people and for programs.
#pragma once

#include <string>

#include "kernels/train/record.h"

namespace attoscope {

/// Three digits; "-" where it is NaN.
std::string short_number(double x);
/// ", weights bf16, optimiser bf16/stochastic": how a method stores them; "" where in fp32.
std::string stored_text(const TrainMethod& method);
/// Three lines: a, b, and the model, its text and its seeds.
std::string train_conditions(const TrainPlan& plan);

/// The table of `attoscope train`: how far the weights of each pair are apart in the end, against the reference bands; suspects
/// in order of what they explain; the direct effect of one step.
std::string train_report(const TrainRecord& record);

/// A number of a measured step or of a step in each line: step, pair, tensor, measure, value. A run's own numbers have
/// "run NAME" for a pair, and "all" or "layer L head H" for a tensor.
std::string train_csv(const TrainRecord& record);

}  // namespace attoscope
