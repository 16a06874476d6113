#include "app/heads/heads_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/session/session.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

const CallFiles::Layer& layer_of(const ui::HeadRow& row, const CallFiles& files) {
  return files.layers()[static_cast<std::size_t>(row.layer)];
}

/// Index of the head of K and V that this head shares with its group, within its batch.
int kv_head(const ui::HeadRow& row, const CallFiles& files) {
  const CallFiles::Layer& layer = layer_of(row, files);
  return (row.head - layer.first) % layer.q.heads / (layer.q.heads / layer.k.heads);
}

/// "rounded", "wrong" or "incomparable"; null without an output.
Json verdict_json(const ui::HeadRow& row) {
  if (std::isnan(row.tolerance)) return nullptr;
  return {{"verdict", row.incomparable ? "incomparable"
                      : row.rounded    ? "rounded"
                                       : "wrong"},
          {"ratio", number_json(row.tolerance)},
          {"first_row", row.first_row},
          {"worst_column", row.worst_column}};
}

/// A line for each head that stands apart, at most five.
std::string outlier_lines(const std::vector<ui::HeadRow>& rows, const CallFiles& files) {
  constexpr std::size_t most = 5;
  const std::vector<std::string> names = files.head_names();
  const std::vector<ui::HeadOutlier> found = head_outliers(rows);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i)
    text += "stands apart: " + outlier_words(found[i], names[static_cast<std::size_t>(found[i].head)]) + ".\n";
  return text + (found.size() > most ? fmt::format("{} more stand apart.\n", found.size() - most) : "");
}

}  // namespace

const ui::HeadMeasure& head_measure(std::string_view key) {
  const auto* const found = std::ranges::find(ui::head_measures, key, &ui::HeadMeasure::key);
  if (found != ui::head_measures.end()) return *found;
  std::vector<std::string_view> known;
  for (const ui::HeadMeasure& m : ui::head_measures) known.push_back(m.key);
  throw std::invalid_argument("--sort is " + in_quotes(key) + ", expected " + listed(known));
}

std::string notes_on_files(const CallFiles& files) {
  std::string text;
  for (const std::string& scales : files.scale_texts()) text += "scales: " + scales + ".\n";
  for (const std::string& sentence : files.left_out()) text += "left out: " + sentence + ".\n";
  return text;
}

std::string heads_report(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const ui::HeadMeasure& by,
                         std::size_t most) {
  Table table = heads_table(rows, files);
  if (most > 0 && most < table.rows.size()) table.rows.resize(most);
  return plain_text(table) + fmt::format("{} of {} heads, worst first by {}.\n", table.rows.size(), rows.size(), by.key) +
         outlier_lines(rows, files) + notes_on_files(files);
}

Table heads_table(const std::vector<ui::HeadRow>& rows, const CallFiles& files) {
  const std::vector<std::string> names = files.head_names();
  constexpr ColumnFor only_files = ColumnFor::files;
  const auto kv = [&](const ui::HeadRow& row) { return kv_head(row, files); };
  std::vector<TableColumn<ui::HeadRow>> columns{
      table_column<ui::HeadRow>({.key = "head"}, &ui::HeadRow::head),
      table_column<ui::HeadRow>({.key = "name"},
                                [&](const ui::HeadRow& row) { return names[static_cast<std::size_t>(row.head)]; }),
      table_column<ui::HeadRow>({.key = "layer", .shown = only_files},
                                [&](const ui::HeadRow& row) { return layer_of(row, files).name; }),
      table_column<ui::HeadRow>({.key = "kv_head", .shown = only_files}, kv),
      table_column<ui::HeadRow>({.key = "n", .shown = only_files}, [](const ui::HeadRow& row) { return row.shape.n; }),
      table_column<ui::HeadRow>({.key = "d", .shown = only_files}, [](const ui::HeadRow& row) { return row.shape.d; })};
  if (files.layers().front().sequence >= 0)
    columns.insert(columns.begin() + 3,
                   table_column<ui::HeadRow>({.key = "sequence", .shown = only_files},
                                             [&](const ui::HeadRow& row) { return layer_of(row, files).sequence; }));
  for (const ui::HeadMeasure& m : ui::head_measures)
    columns.push_back(
        table_column<ui::HeadRow>({.key = std::string(m.key), .title = std::string(m.title), .digits = 4}, m.value));
  return table_of(columns, std::span<const ui::HeadRow>(rows));
}

Json heads_json(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const Experiment& base) {
  Json list = rows_json(heads_table(rows, files));
  for (std::size_t i = 0; i < rows.size(); ++i) list[i]["verdict"] = verdict_json(rows[i]);
  Json left_out = Json::array();
  for (const std::string& sentence : files.left_out()) left_out.push_back(json_string(sentence));
  return {{"schema", "attoscope.heads/1"},
          {"experiment", experiment_json(base)},
          {"heads", std::move(list)},
          {"left_out", std::move(left_out)}};
}

}  // namespace attoscope::app
