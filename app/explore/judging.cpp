#include "app/explore/judging.h"

#include <algorithm>
#include <mutex>

#include "app/judge/judgement.h"
#include "app/threads/each_head.h"
#include "kernels/judge/shares.h"

namespace attoscope {
namespace {

JudgedHead judged_head(const HeadJudgement& found, int head, int layer, const AttentionShape& shape) {
  return {.head = head,
          .layer = layer,
          .shape = shape,
          .ratio = found.ratio,
          .rounded = found.rounded,
          .incomparable = !found.incomparable.empty(),
          .first_row = found.first_row};
}

}  // namespace

HeadVerdict head_verdict(const Experiment& question, const Options& options) {
  HeadVerdict verdict{.experiment = question, .call = judge_experiment(question, options), .shares = nullptr};
  verdict.shares = shares_of(verdict.call);
  if (!verdict.shares || verdict.shares->values.empty()) return verdict;
  const auto furthest = std::ranges::max_element(verdict.shares->values) - verdict.shares->values.begin();
  verdict.furthest_row = static_cast<int>(furthest / verdict.shares->cols);
  verdict.furthest_column = static_cast<int>(furthest % verdict.shares->cols);
  return verdict;
}

void judge_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                 const std::function<void(const JudgedHead&)>& found) {
  if (question.heads.empty()) return;
  std::mutex mutex;
  const Experiment first = experiment_of_head(question, files, question.heads.front());
  const ExperimentCall call = call_of(first);
  const JudgeQuestion asked = question_of(first, call);
  const KernelClaim claim = claim_of(*call.call, asked).claim;
  each_head(question.heads, options, [&](int head, const Options& own) {
    const Experiment e = experiment_of_head(question, files, head);
    const HeadJudgement judgement =
        call.whole ? judge_head(*call.call, asked, claim, head, own).head : judge_experiment(e, own).worst_row().found;
    const JudgedHead row = judged_head(judgement, head, files.layer_index(head), shape_of(e.problem));
    const std::lock_guard lock(mutex);
    found(row);
  });
}

}  // namespace attoscope
