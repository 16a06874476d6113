/// The answer of a model as JSON (attoscope.model/1), and as a report for people.
#pragma once

#include <string>

#include "app/json/json.h"
#include "kernels/model/model_answer.h"

namespace attoscope {

Json model_json(const ModelQuestion& question, const ModelAnswer& answer);

/// `a_name` is how the sentence calls method a: "flash2 hw".
std::string model_report(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

}  // namespace attoscope
