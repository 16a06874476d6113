#include "app/explore/judging.h"

#include <algorithm>
#include <mutex>
#include <numbers>
#include <stdexcept>

#include "app/judge/judgement.h"
#include "app/judge/lse_verdict.h"
#include "app/threads/each_head.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/call_judgement.h"
#include "ui/frame/loaded_output.h"

namespace attoscope::app {
namespace {

ui::JudgedHead judged_head(const HeadJudgement& found, int head, int layer, const AttentionShape& shape) {
  return {.head = head,
          .layer = layer,
          .shape = shape,
          .ratio = found.ratio,
          .rounded = found.rounded,
          .incomparable = !found.incomparable.empty(),
          .first_row = found.first_row};
}

/// Adds the verdict on the log-sum-exp beside the output, or the reason why there is none.
void add_lse(ui::HeadVerdict& verdict, const Options& options) {
  CallJudgement& call = verdict.call;
  if (!call.incomparable().empty()) return;
  try {
    const std::optional<CallLse> lse = judge_lse_beside(verdict.experiment, call, options);
    if (!lse) return;
    verdict.lse = {lse->base, lse->base == LseBase::two ? std::numbers::log2e : 1, lse->worst};
    call.sentences = with_lse(call.sentences, *lse, call.rounded());
  } catch (const std::runtime_error& error) {
    call.sentences[1] += " The log-sum-exp is not judged: " + std::string(error.what()) + ".";
  }
}

}  // namespace

ui::HeadVerdict head_verdict(const Experiment& question, const Options& options) {
  ui::HeadVerdict verdict{.experiment = question, .call = judge_experiment(question, options), .shares = nullptr};
  verdict.shares = shares_of(verdict.call);
  add_lse(verdict, options);
  if (!verdict.shares || verdict.shares->values.empty()) return verdict;
  const auto furthest = std::ranges::max_element(verdict.shares->values) - verdict.shares->values.begin();
  verdict.furthest_row = static_cast<int>(furthest / verdict.shares->cols);
  verdict.furthest_column = static_cast<int>(furthest % verdict.shares->cols);
  return verdict;
}

ui::FollowedRow followed_row(const Experiment& question, const Options& options) {
  auto answer = std::make_shared<const Result>(compute(question, options));
  RowPrefix prefix = nearest_prefix(*answer);
  return {std::move(answer), std::move(prefix)};
}

void judge_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                 const std::function<void(const ui::JudgedHead&)>& found) {
  if (question.heads.empty()) return;
  std::mutex mutex;
  const Experiment first = experiment_of_head(question, files, question.heads.front());
  const ExperimentCall call = call_of(first);
  JudgeQuestion asked = question_of(first, call);
  asked.numbers = question.numbers;
  const KernelClaim claim = claim_of(*call.call, asked).claim;
  each_head(question.heads, options, [&](int head, const Options& own) {
    const Experiment e = experiment_of_head(question, files, head);
    const HeadJudgement judgement =
        call.whole ? judge_head(*call.call, asked, claim, head, own).head : judge_experiment(e, own).worst_row().found;
    const ui::JudgedHead row = judged_head(judgement, head, files.layer_index(head), shape_of(e.problem));
    const std::lock_guard lock(mutex);
    found(row);
  });
}

HeadsOnShow heads_on_show(const Experiment& e) {
  return {e.problem.input.file, e.loaded.file, e.problem.input.index, e.loaded.index};
}

void JudgedAnswer::show_worst(ui::Session& session, const std::shared_ptr<const ui::JudgedView>& judged) {
  Experiment& e = session.experiment;
  if (opened_ && (!has_loaded(e) || heads_on_show(e) != *opened_)) opened_.reset();
  if (!opened_ || !e.problem.input.tensors) return;
  const ui::JudgedView heads = found_of(judged, ui::verdict_question(e));
  const ui::HeadVerdicts found = verdicts_of(heads);
  if (!found.complete()) return;
  opened_.reset();
  const ui::JudgedHead* const worst = found.worst;
  if (worst == nullptr || worst->head == e.problem.input.index) return;
  if (shape_of(e.problem) != worst->shape) look_at_all(session.view);
  e.problem = with_shape(with_head(e.problem, worst->head), worst->shape);
}

void JudgedAnswer::take(const std::shared_ptr<const Result>& answer, const std::shared_ptr<const ui::HeadVerdict>& verdict) {
  if (answer_ == answer && verdict_ == verdict) return;
  answer_ = shown_ = answer, verdict_ = verdict;
  const bool fits = answer && verdict && verdict->shares && has_loaded(answer->experiment) &&
                    verdict->experiment == ui::verdict_question(answer->experiment);
  if (fits) shown_ = with_shares(*answer, *verdict->shares);
}

std::shared_ptr<const Result> JudgedAnswer::shown(std::shared_ptr<const Result> answer) const {
  return answer == answer_ ? shown_ : answer;
}

}  // namespace attoscope::app
