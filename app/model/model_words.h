/// The answer of a model as JSON (attoscope.model/1), and as a report for people.
#pragma once

#include <string>

#include "app/json/json.h"
#include "kernels/experiment/table.h"
#include "kernels/model/model_answer.h"

namespace attoscope {

Json model_json(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

/// "flash2 hw": the algorithm and its named policy.
std::string method_name(const Method& method);

/// "7", "7:4"; empty: no place. Throws std::invalid_argument in a sentence that begins with `label`.
ModelPlace parse_place(const std::string& label, const std::string& text);

/// The answer in one sentence; `a_name` is what it calls method a. With an attribution the part with the largest share.
std::string model_conclusion(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

/// The measures of all runs, a row each.
Table runs_table(const ModelQuestion& question, const ModelAnswer& answer);

/// `a_name` is how the sentence calls method a: "flash2 hw".
std::string model_report(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

}  // namespace attoscope
