/// The answer of a model as JSON (attoscope.model/1), and as a report for people.
#pragma once

#include <string>
#include <vector>

#include "app/json/json.h"
#include "kernels/model/model_answer.h"

namespace attoscope {

/// A token whose log-probability a moves far; nats.
struct MovedToken {
  int position = 0, id = 0;
  std::string text;  ///< its bytes; "" without a tokenizer
  double exact = 0, a = 0, b = 0;
};
/// The ten that a moves most, in their text by the checkpoint's tokenizer, if it has one.
std::vector<MovedToken> tokens_that_move_most(const ModelQuestion& question, const ModelAnswer& answer,
                                              const std::string& checkpoint);

Json model_json(const ModelQuestion& question, const ModelAnswer& answer, const std::vector<MovedToken>& moved);

/// `a_name` is how the sentence calls method a: "flash2 hw".
std::string model_report(const ModelQuestion& question, const ModelAnswer& answer, const std::string& a_name,
                         const std::vector<MovedToken>& moved);

}  // namespace attoscope
