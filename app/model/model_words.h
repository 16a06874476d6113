/// The answer of a model as JSON (attoscope.model/1), and as a report for people.
#pragma once

#include <string>

#include "app/json/json.h"
#include "kernels/model/model_answer.h"

namespace attoscope {

/// "flash2 hw moves the median token by 0.0004 nats, bf16 everywhere by 0.012; without the rounding of layer 7 head 4 the mean
/// is 50 % smaller." `a_name` is how it calls method a: "flash2 hw".
std::string model_sentence(const ModelAnswer& answer, const std::string& a_name);

Json model_json(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

std::string model_report(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

}  // namespace attoscope
