#include "app/heads/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "app/json/json.h"
#include "app/judge/judgement.h"
#include "app/session/session.h"
#include "app/tensors/call_files.h"
#include "app/threads/each_head.h"
#include "app/words/numbers.h"
#include "kernels/experiment/arithmetic_version.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/setting.h"
#include "ui/frame/loaded_output.h"

namespace attoscope::app {
namespace {

/// Row or column, of `places` in a picture, that shows the i-th of `count`.
std::size_t place_in(int i, int count, int places) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(i) * places / std::max(count, 1));
}

void paint(ui::HeadRow& row, const Matrix& x, const Matrix& golden) {
  std::size_t at = 0;
  for (int i = 0; i < x.rows; ++i) {
    const std::size_t line = place_in(i, x.rows, ui::HeadRow::down) * ui::HeadRow::across;
    for (int j = 0; j < x.cols; ++j, ++at) {
      const auto error = static_cast<float>(std::abs(x.values[at] - golden.values[at]));
      float& cell = row.picture[line + place_in(j, x.cols, ui::HeadRow::across)];
      if (std::isnan(error) || error > cell) cell = error;  // a NaN stays
    }
  }
}

double largest_score(const RescaleMap& map) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const float m : map.m)
    if (m > largest) largest = m;
  return std::isinf(largest) && largest < 0 ? std::numeric_limits<double>::quiet_NaN() : largest;  // no row has a key
}

/// The largest |V| of the inputs.
double largest_value(const Result& r) {
  double largest = 0;
  for (const double x : r.inputs->v) largest = std::fmax(largest, std::abs(x));
  return largest;
}

ui::HeadRow row_of(const Result& r) {
  ui::HeadRow row{.shape = shape_of(r.experiment.problem)};
  row.a_max = r.a_error.max_abs;
  row.a_rms = r.a_error.rms;
  row.a_rel = r.a_error.rel_rms;
  row.b_max = r.b_error.max_abs;
  row.b_rms = r.b_error.rms;
  row.b_rel = r.b_error.rel_rms;
  row.ratio = row.a_rms / row.b_rms;
  row.rescales = r.rescales.effective_mean;
  row.largest_score = largest_score(r.rescale_map);
  row.largest_V = largest_value(r);
  row.nonfinite = static_cast<double>(r.a_error.nonfinite);
  paint(row, r.a, *r.golden);
  return row;
}

/// Computes the row of a head; if a has no running max, with the largest score of FlashAttention 2.
ui::HeadRow computed_row(const Experiment& e, const Options& options) {
  ui::HeadRow row = row_of(compute(e, options));
  if (!ui::has_recurrence(e.a)) row.largest_score = largest_score(compute(ui::followed_beside(e), options).rescale_map);
  return row;
}

/// Judges the heads of a loaded output with one main format.
class HeadsJudge {
 public:
  /// Opens the call of this head; without an output nothing is judged. Throws Stopped when cancelled.
  HeadsJudge(const Experiment& head, const Cancelled& cancelled) {
    if (!has_loaded(head)) return;
    call_ = call_of(head);
    question_ = question_of(head, call_, cancelled);
    claim_ = claim_of(*call_.call, question_, cancelled).claim;
  }

  void judge(ui::HeadRow& row, const Experiment& e, int head, const Options& options) const {
    if (!has_loaded(e)) return;
    JudgeQuestion own = question_;
    own.problem = e.problem;
    own.problem.rows = 0;
    const HeadJudgement found =
        call_.whole ? judge_head(*call_.call, own, claim_, head, options).head : judge_experiment(e, options).worst_row().found;
    row.tolerance = found.ratio;
    row.rounded = found.rounded;
    row.incomparable = !found.incomparable.empty();
    row.first_row = found.first_row;
    row.worst_column = found.worst_col;
  }

 private:
  ExperimentCall call_{};
  JudgeQuestion question_{};
  KernelClaim claim_{};
};

constexpr std::uint64_t limit_bytes = 64 << 20;
static_assert(std::is_trivially_copyable_v<ui::HeadRow>);

bool is_kept(const Experiment& e) { return !has_hardware(e) && !depends_on_other_heads(e); }

/// Cache key of a row; the traced row matters only if not all rows are computed.
std::string question_of(const char* schema, const Experiment& experiment) {
  Experiment e = experiment;
  e.problem.traced_row = e.problem.rows == 0 ? -1 : traced_row(e.problem);
  return std::string(schema) + " " + answered_by(arithmetic_version) + json_text(experiment_json(e), -1);
}

std::string question_of(const Experiment& experiment, const KvRange& layer) {
  return fmt::format("{} {:a} {:a}", question_of("attoscope.kept_kv/1", kv_question(experiment)), layer.K, layer.V);
}

/// Largest K and V over all heads of each requested layer.
std::vector<KvRange> ranges_of_layers(const HeadsQuestion& question, const CallFiles& files, const Options& options) {
  std::vector<KvRange> ranges(files.layers().size());
  std::set<int> layers;
  for (const int head : question.heads) layers.insert(files.layer_index(head));
  each_head({layers.begin(), layers.end()}, options, [&](int i, const Options& own) {
    const auto place = static_cast<std::size_t>(i);
    const auto watch = [&own](double) {
      if (own.cancelled()) throw Stopped{};
      return false;
    };
    ranges[place] = {files.largest(files.layers()[place], 1, watch), files.largest(files.layers()[place], 2, watch)};
  });
  return ranges;
}

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
  const std::size_t more = found.size() - std::min(most, found.size());
  return text + (more > 0 ? fmt::format("{} more {} apart.\n", more, more == 1 ? "stands" : "stand") : "");
}

/// Lines below a table of heads: another layout that fits, the scales that are used, and the tensors that are left out.
std::string notes_on_files(const CallFiles& files) {
  std::string text = files.other_reading().empty() ? "" : files.other_reading() + ".\n";
  for (const std::string& scales : files.scale_texts()) text += "scales: " + scales + ".\n";
  for (const std::string& sentence : files.left_out()) text += "left out: " + sentence + ".\n";
  return text;
}

}  // namespace

std::vector<int> heads_of_layer(const CallFiles& files, const std::string& layer) {
  std::vector<int> heads;
  std::string known;
  const auto number = to_number<std::size_t>(layer);
  const std::array<std::string, 3> usual{layer, "layer " + layer, "call " + layer};
  const auto is_called = [&](const CallFiles::Layer& x) {  // "layer 7", or "layer 7, sequence 0" of a packed call
    return std::ranges::any_of(usual,
                               [&](const std::string& name) { return x.name == name || x.name.starts_with(name + ", "); });
  };
  const bool named = std::ranges::any_of(files.layers(), is_called);
  for (std::size_t i = 0; i < files.layers().size(); ++i) {
    const CallFiles::Layer& x = files.layers()[i];
    if (i < 12) known += (known.empty() ? "" : ", ") + (x.name.empty() ? std::to_string(i) : x.name);
    const bool wanted = named ? is_called(x) : number == i;
    if (!wanted && !layer.empty()) continue;
    for (int h = 0; h < x.q.count(); ++h) heads.push_back(x.first + h);
  }
  if (heads.empty())
    throw std::invalid_argument("--layer is " + in_quotes(layer) + ", expected " + known +
                                (files.layers().size() > 12 ? ", ..." : ""));
  return heads;
}

Experiment experiment_of_head(const HeadsQuestion& question, const CallFiles& files, int head) {
  Experiment e = question.base;
  e.problem = question.numbers.of_head(e.problem, head);
  return on_head(std::move(e), files, head, question.whole);
}

void compute_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                   const std::function<void(const ui::HeadRow&)>& found) {
  if (question.heads.empty()) return;
  std::mutex mutex;
  const HeadsJudge judge(experiment_of_head(question, files, question.heads.front()), options.cancelled);
  each_head(question.heads, options, [&](int head, const Options& own) {
    const Experiment e = experiment_of_head(question, files, head);
    std::optional<ui::HeadRow> known = question.kept != nullptr ? question.kept->find(e) : std::nullopt;
    ui::HeadRow row = known ? *known : computed_row(e, own);
    row.head = head;
    row.layer = files.layer_index(head);
    if (!known) judge.judge(row, e, head, own);
    if (!known && question.kept != nullptr) question.kept->keep(e, row);
    const std::lock_guard lock(mutex);
    found(row);
  });
}

KeptHeads::KeptHeads(const std::string& directory)
    : rows_(directory, sizeof(ui::HeadRow), limit_bytes),
      errors_(directory, kv_storages.size() * sizeof(double), limit_bytes) {}

std::optional<ui::HeadRow> KeptHeads::find(const Experiment& e) const {
  if (!rows_.keeps() || !is_kept(e)) return std::nullopt;
  const std::optional<std::string> bytes = rows_.find(question_of("attoscope.kept_head/6", e));
  if (!bytes) return std::nullopt;
  ui::HeadRow row;
  std::memcpy(static_cast<void*>(&row), bytes->data(), sizeof row);
  return row;
}

void KeptHeads::keep(const Experiment& e, const ui::HeadRow& row) {
  if (!rows_.keeps() || !is_kept(e)) return;
  rows_.keep(question_of("attoscope.kept_head/6", e), {reinterpret_cast<const char*>(&row), sizeof row});
}

std::optional<std::vector<double>> KeptHeads::find(const Experiment& e, const KvRange& layer) const {
  const std::optional<std::string> bytes = errors_.keeps() ? errors_.find(question_of(e, layer)) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::vector<double> errors(kv_storages.size());
  std::memcpy(errors.data(), bytes->data(), bytes->size());
  return errors;
}

void KeptHeads::keep(const Experiment& e, const KvRange& layer, const std::vector<double>& errors) {
  if (errors_.keeps())
    errors_.keep(question_of(e, layer), {reinterpret_cast<const char*>(errors.data()), errors.size() * sizeof(double)});
}

void compute_kv_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                      const std::function<void(const KvRow&)>& found) {
  const std::vector<KvRange> ranges = ranges_of_layers(question, files, options);
  std::mutex mutex;
  each_head(question.heads, options, [&](int head, const Options& own) {
    const int layer = files.layer_index(head);
    const Experiment e = experiment_of_head(question, files, head);
    const KvRange& range = ranges[static_cast<std::size_t>(layer)];
    std::optional<std::vector<double>> known = question.kept != nullptr ? question.kept->find(e, range) : std::nullopt;
    const KvRow row{head, layer, known ? *known : kv_errors(e, range, own)};
    if (!known && question.kept != nullptr) question.kept->keep(e, range, row.errors);
    const std::lock_guard lock(mutex);
    found(row);
  });
}

std::string kv_report(const std::vector<KvRow>& rows, const CallFiles& files, std::size_t by, std::size_t most) {
  Table table = kv_table(rows, files);
  if (most > 0 && most < table.rows.size()) table.rows.resize(most);
  std::string text = plain_text(table);
  text += fmt::format(
      "RMS error over the RMS of the exact output, K and V stored so, all else in bf16. {} of {}, worst first by {}.\n",
      table.rows.size(), counted(std::ssize(rows), "head"), kv_storages[by].key);
  for (const KvStorage& s : kv_storages) text += fmt::format("  {:<10} {}\n", s.key, s.what);
  return text + notes_on_files(files);
}

Table kv_table(const std::vector<KvRow>& rows, const CallFiles& files) {
  std::vector<std::string> layers;
  for (const CallFiles::Layer& layer : files.layers()) layers.push_back(layer.name);
  return kv_table(rows, files.head_names(), layers);
}

Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files) {
  return {{"schema", "attoscope.kv/1"}, {"heads", rows_json(kv_table(rows, files))}};
}

std::string heads_report(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const ui::HeadMeasure& by,
                         std::size_t most) {
  Table table = heads_table(rows, files);
  for (const ui::HeadMeasure& m : ui::head_measures)
    if (std::ranges::all_of(rows, [&](const ui::HeadRow& row) { return ui::is_unknown(row, m.value); }))
      std::ranges::find(table.columns, m.key, &ColumnHeading::key)->shown = ColumnFor::files;
  if (most > 0 && most < table.rows.size()) table.rows.resize(most);
  return plain_text(table) +
         fmt::format("{} of {}, worst first by {}.\n", table.rows.size(), counted(std::ssize(rows), "head"), by.key) +
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
