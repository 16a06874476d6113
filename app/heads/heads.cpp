#include "app/heads/heads.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "app/heads/kept_heads.h"
#include "app/judge/judgement.h"
#include "app/tensors/file_heads.h"
#include "app/threads/each_head.h"
#include "app/words/numbers.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

/// Index in a picture of `places` rows or columns of the i-th of `count`.
std::size_t place_in(int i, int count, int places) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(i) * places / std::max(count, 1));
}

void paint(HeadRow& row, const Matrix& x, const Matrix& truth) {
  std::size_t at = 0;
  for (int i = 0; i < x.rows; ++i) {
    const std::size_t line = place_in(i, x.rows, HeadRow::down) * HeadRow::across;
    for (int j = 0; j < x.cols; ++j, ++at) {
      const auto error = static_cast<float>(std::abs(x.values[at] - truth.values[at]));
      float& cell = row.picture[line + place_in(j, x.cols, HeadRow::across)];
      if (!(error <= cell)) cell = error;  // keeps NaN
    }
  }
}

double largest_score(const RescaleMap& map) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const float m : map.m)
    if (m > largest) largest = m;
  return std::isinf(largest) ? std::numeric_limits<double>::quiet_NaN() : largest;
}

/// The largest |V| as a takes it.
double largest_value(const Result& r) {
  double largest = 0;
  for (const double x : r.inputs->v) largest = std::fmax(largest, std::abs(x));
  return largest;
}

HeadRow row_of(const Result& r, int head, int layer) {
  HeadRow row{.head = head, .layer = layer, .shape = shape_of(r.experiment.problem)};
  row.a_max = r.a_error.max_abs, row.a_rms = r.a_error.rms, row.a_rel = r.a_error.rel_rms;
  row.b_max = r.b_error.max_abs, row.b_rms = r.b_error.rms, row.b_rel = r.b_error.rel_rms;
  row.ratio = row.a_rms / row.b_rms;
  row.rescales = r.rescales.effective_mean;
  row.largest_score = largest_score(r.rescale_map);
  row.largest_V = largest_value(r);
  row.nonfinite = static_cast<double>(r.a_error.nonfinite);
  paint(row, r.a, *r.golden);
  return row;
}

HeadRow placed(HeadRow row, int head, int layer) {
  row.head = head, row.layer = layer;
  return row;
}

/// Judges the heads of a loaded output with one main format.
class HeadsJudge {
 public:
  /// Opens the call of this head; without an output nothing is judged.
  explicit HeadsJudge(const Experiment& head) {
    if (!has_loaded(head)) return;
    call_ = call_of(head), question_ = question_of(head, call_), claim_ = claim_of(*call_.call, question_).claim;
  }

  void judge(HeadRow& row, const Experiment& e, int head, const Options& options) const {
    if (!has_loaded(e)) return;
    JudgeQuestion own = question_;
    own.problem = e.problem, own.problem.rows = 0;
    const HeadJudgement found =
        call_.whole ? judge_head(*call_.call, own, claim_, head, options).head : judge_experiment(e, options).worst_row().found;
    row.tolerance = found.ratio, row.rounded = found.rounded, row.incomparable = !found.incomparable.empty();
    row.first_row = found.first_row, row.worst_column = found.worst_col;
  }

 private:
  ExperimentCall call_{};
  JudgeQuestion question_{};
  KernelClaim claim_{};
};

}  // namespace

std::vector<int> heads_of_layer(const CallFiles& files, const std::string& layer) {
  std::vector<int> heads;
  std::string known;
  const auto number = to_number<std::size_t>(layer);
  const bool named = std::ranges::any_of(
      files.layers(), [&](const CallFiles::Layer& x) { return x.name == layer || x.name == "layer " + layer; });
  for (std::size_t i = 0; i < files.layers().size(); ++i) {
    const CallFiles::Layer& x = files.layers()[i];
    if (i < 12) known += (known.empty() ? "" : ", ") + (x.name.empty() ? std::to_string(i) : x.name);
    const bool wanted = named ? x.name == layer || x.name == "layer " + layer : number == i;
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
                   const std::function<void(const HeadRow&)>& found) {
  if (question.heads.empty()) return;
  std::mutex mutex;
  const HeadsJudge judge(experiment_of_head(question, files, question.heads.front()));
  each_head(question.heads, options, [&](int head, const Options& own) {
    const Experiment e = experiment_of_head(question, files, head);
    std::optional<HeadRow> known = question.kept != nullptr ? question.kept->find(e) : std::nullopt;
    HeadRow row =
        known ? placed(*known, head, files.layer_index(head)) : row_of(compute(e, own), head, files.layer_index(head));
    if (!known) judge.judge(row, e, head, own);
    if (!known && question.kept != nullptr) question.kept->keep(e, row);
    const std::lock_guard lock(mutex);
    found(row);
  });
}

}  // namespace attoscope
