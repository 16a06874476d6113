#include "app/model/run_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace attoscope::app {
namespace {

std::string called(const TensorDistance& d) {
  std::string text = d.layer < 0 ? std::string(name(d.tensor)) : fmt::format("layer {} {}", d.layer, name(d.tensor));
  return d.where.empty() ? text : text + ", " + d.where;
}

Json tensor_json(const TensorDistance& d) {
  Json json{{"layer", nullptr}, {"tensor", name(d.tensor)}, {"ratio", number_json(d.ratio)}, {"where", d.where}};
  if (d.layer >= 0) json["layer"] = d.layer;
  return json;
}

}  // namespace

void add_run_json(Json& json, const JudgedRun& run, const std::vector<int>& tokens) {
  const RunJudgement& j = run.judgement;
  Json tensors = Json::array(), moved = Json::array();
  for (const TensorDistance& d : j.tensors) tensors.push_back(tensor_json(d));
  for (const TokenDistance& d : j.tokens)
    moved.push_back({{"position", d.position},
                     {"id", tokens[static_cast<std::size_t>(d.position)]},
                     {"captured", number_json(d.captured)},
                     {"expected", number_json(d.expected)},
                     {"tolerance", number_json(d.tolerance)}});
  json["against"] = {{"around", run.around},     {"guessed", run.guessed},        {"aligned", run.notes},
                     {"differing", j.differing}, {"tensors", std::move(tensors)}, {"tokens", std::move(moved)}};
  if (j.first < 0) return;
  json["first_difference"] = tensor_json(j.tensors[static_cast<std::size_t>(j.first)]);
  json["first_difference"]["explanation"] = j.explanation;
}

std::string run_conclusion(const JudgedRun& run) {
  const RunJudgement& j = run.judgement;
  if (j.first < 0)
    return fmt::format("no tensor of the captured run differs by more than its tolerance: {} compared, {} around attention",
                       j.tensors.size(), run.around);
  const TensorDistance& d = j.tensors[static_cast<std::size_t>(j.first)];
  return fmt::format("the first tensor that differs is {}, {:.3g} times its tolerance: {}", called(d), d.ratio, j.explanation);
}

std::string run_lines(const JudgedRun& run) {
  const RunJudgement& j = run.judgement;
  std::string text;
  if (j.first >= 0)
    text += fmt::format("{} of {} tensors differ, each computed from the captured ones before it, {} around attention\n",
                        j.differing, j.tensors.size(), run.around);
  if (run.guessed) text += fmt::format("{} is the preset that fits best; --around names another\n", run.around);
  for (const std::string& note : run.notes) text += "captured run: " + note + "\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(j.tokens.size(), 10); ++i)
    text += fmt::format("token {:>5}: log-probability {:.5g}, expected {:.5g} within {:.2g}\n", j.tokens[i].position,
                        j.tokens[i].captured, j.tokens[i].expected, j.tokens[i].tolerance);
  return text;
}

}  // namespace attoscope::app
