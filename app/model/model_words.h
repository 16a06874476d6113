/// The answer of a model as JSON (attoscope.model/1), and as a report for people.
#pragma once

#include <string>
#include <vector>

#include "app/json/json.h"
#include "kernels/experiment/table.h"
#include "kernels/model/model_answer.h"

namespace attoscope::app {

/// A token whose log-probability differs much under a; nats.
struct MovedToken {
  int position = 0, id = 0;
  std::string text;  ///< its bytes; "" without a tokenizer
  double exact = 0, a = 0, b = 0;
};
/// The ten tokens that a moves most, with texts from the checkpoint's tokenizer if it has one.
std::vector<MovedToken> tokens_that_move_most(const ModelQuestion& question, const ModelAnswer& answer,
                                              const std::string& checkpoint);

/// The targets that a moves most, furthest first: at most `most` indices in `dlogp_a`.
std::vector<std::size_t> most_moved(const ModelAnswer& answer, std::size_t most);

Json model_json(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name,
                const std::vector<MovedToken>& moved);

/// "flash2 hw": the algorithm and its named policy.
std::string method_name(const Method& method);

/// "7", "7:4"; empty: no place. Throws std::invalid_argument in a sentence that begins with `label`.
ModelPlace parse_place(const std::string& label, const std::string& text);

/// The answer in one sentence, which calls method a `a_name`. With an attribution, it also names the part with the largest
/// share.
std::string model_conclusion(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name);

/// "exact 3.1 s, a 3.7 s, b 4.0 s".
std::string run_times(const ModelAnswer& answer);

/// The measures of all runs, a row each.
Table runs_table(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name,
                 const std::string& b_name);

/// The answer as a text for people; its sentence calls method a `a_name`: "flash2 hw".
std::string model_report(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name,
                         const std::vector<MovedToken>& moved);

}  // namespace attoscope::app
