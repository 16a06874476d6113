#include "app/heads/heads_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "app/session/session.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"

namespace attoscope {
namespace {

const CallFiles::Layer& layer_of(const HeadRow& row, const CallFiles& files) {
  return files.layers()[static_cast<std::size_t>(row.layer)];
}

/// Index of the head of K and V that this head shares with its group, within its batch.
int kv_head(const HeadRow& row, const CallFiles& files) {
  const CallFiles::Layer& layer = layer_of(row, files);
  return (row.head - layer.first) % layer.q.heads / (layer.q.heads / layer.k.heads);
}

/// "rounded", "wrong" or "incomparable"; null without an output.
Json verdict_json(const HeadRow& row) {
  if (std::isnan(row.tolerance)) return nullptr;
  return {{"verdict", row.incomparable ? "incomparable"
                      : row.rounded    ? "rounded"
                                       : "wrong"},
          {"ratio", number_json(row.tolerance)},
          {"first_row", row.first_row},
          {"worst_column", row.worst_column}};
}

}  // namespace

const HeadMeasure& head_measure(std::string_view key) {
  const auto* const found = std::ranges::find(head_measures, key, &HeadMeasure::key);
  if (found != head_measures.end()) return *found;
  std::vector<std::string_view> known;
  for (const HeadMeasure& m : head_measures) known.push_back(m.key);
  throw std::invalid_argument("--sort is " + in_quotes(key) + ", expected " + listed(known));
}

std::string heads_report(const std::vector<HeadRow>& rows, const CallFiles& files, const HeadMeasure& by, std::size_t most) {
  const std::vector<std::string> names = files.head_names();
  std::size_t width = 4;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text = fmt::format("{:>6}  {:<{}}", "head", "name", width);
  for (const HeadMeasure& m : head_measures) text += fmt::format("  {:>14}", m.title);
  text += '\n';
  const std::size_t shown = most == 0 ? rows.size() : std::min(most, rows.size());
  for (const HeadRow& row : std::span(rows).first(shown)) {
    text += fmt::format("{:>6}  {:<{}}", row.head, names[static_cast<std::size_t>(row.head)], width);
    for (const HeadMeasure& m : head_measures) text += fmt::format("  {:>14.4g}", row.*m.value);
    text += '\n';
  }
  text += fmt::format("{} of {} heads, worst first by {}.\n", shown, rows.size(), by.key);
  for (const std::string& scales : files.scale_texts()) text += "scales: " + scales + ".\n";
  for (const std::string& sentence : files.left_out()) text += "left out: " + sentence + ".\n";
  return text;
}

std::string heads_csv(const std::vector<HeadRow>& rows, const CallFiles& files) {
  const std::vector<std::string> names = files.head_names();
  std::string head = "head,name,layer,kv_head,n,d";
  for (const HeadMeasure& m : head_measures) head += "," + std::string(m.key);
  CsvText csv(head);
  for (const HeadRow& row : rows) {
    csv.add(row.head).add(names[static_cast<std::size_t>(row.head)]).add(layer_of(row, files).name);
    csv.add(kv_head(row, files)).add(row.shape.n).add(row.shape.d);
    for (const HeadMeasure& m : head_measures) csv.add(row.*m.value);
    csv.end_line();
  }
  return csv.take();
}

Json heads_json(const std::vector<HeadRow>& rows, const CallFiles& files, const Experiment& base) {
  const std::vector<std::string> names = files.head_names();
  Json list = Json::array();
  for (const HeadRow& row : rows) {
    Json line{{"head", row.head},
              {"name", json_string(names[static_cast<std::size_t>(row.head)])},
              {"layer", json_string(layer_of(row, files).name)},
              {"kv_head", kv_head(row, files)},
              {"n", row.shape.n},
              {"d", row.shape.d}};
    for (const HeadMeasure& m : head_measures) line[std::string(m.key)] = number_json(row.*m.value);
    line["verdict"] = verdict_json(row);
    list.push_back(std::move(line));
  }
  Json left_out = Json::array();
  for (const std::string& sentence : files.left_out()) left_out.push_back(json_string(sentence));
  return {{"schema", "attoscope.heads/1"},
          {"experiment", experiment_json(base)},
          {"heads", std::move(list)},
          {"left_out", std::move(left_out)}};
}

}  // namespace attoscope
