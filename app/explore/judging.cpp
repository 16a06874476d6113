#include "app/explore/judging.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/judge/gradient_verdict.h"
#include "app/judge/judgement.h"
#include "app/judge/lse_verdict.h"
#include "app/session/kernel_gradients.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
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

/// Adds the verdict on the output's log-sum-exp, or the reason why there is none.
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

// --- gradients of a kernel -----------------------------------------------------------------------------------------------

/// Members for dQ, dK and dV, in the order of the files.
constexpr std::array<GivenGradient JudgedGradients::*, 3> given_gradients{&JudgedGradients::dq, &JudgedGradients::dk,
                                                                          &JudgedGradients::dv};

/// The call of the gradients, without them; with O if the session names one.
JudgedGradients judged_call(const Result& r, const Options& options) {
  const Experiment& e = r.experiment;
  JudgedGradients g{.problem = e.problem, .format = e.format, .stored_o = e.format, .heads = {r.inputs}, .d_o = {}, .o = {}};
  g.problem.input = {};
  g.problem.rows = 0;
  const OutputGradients& incoming = *r.backward->incoming;
  g.d_o.push_back(std::make_shared<const std::vector<double>>(incoming.d_o));
  if (!incoming.d_lse.empty()) g.d_lse.push_back(incoming.d_lse);
  if (e.loaded.file.empty()) return g;
  Experiment with_output = with_loaded(e, LoadedPlace::a);
  with_output.backward.on = false;
  load_kernel_output(with_output.loaded, e.problem);
  g.o = {with_output.loaded.values};
  g.stored_o = format_of_output(with_output.loaded, e.format);
  g.o_is_rounded = judge_experiment(with_output, options).rounded();
  return g;
}

/// Names of the gradients that are sums over the heads of a group: "dK and dV".
std::string sums_of(const std::array<KernelOutput, given_gradients.size()>& files) {
  std::string names;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!files[i].file.empty() && !files[i].values)
      names.append(names.empty() ? "" : " and ").append(text(static_cast<GradientTensor>(i)));
  return names;
}

/// Judges all heads of the group whose sums the files have; the picture of one head still shows a's own.
CallGradients judged_group(const Result& r, const std::array<KernelOutput, given_gradients.size()>& files,
                           const std::string& sums, std::string& before, const Options& options) {
  const Experiment& e = r.experiment;
  if (e.backward.d_o != OutputGradient::file)
    throw std::runtime_error(sums +
                             " are sums over the heads of a group, and dO is drawn for one of them, expected a file of dO");
  const CallFiles call(e.problem.input.file);
  const auto& [dq, dk, dv] = files;
  const GradientSpecs specs{
      .d_o = e.backward.d_o_file.file, .d_lse = e.backward.d_lse_file.file, .dq = dq.file, .dk = dk.file, .dv = dv.file};
  const GradientFiles opened(specs, call);
  const int group = e.problem.input.index / opened.heads_of_group(), first = opened.first_head(group);
  before = sums + (sums.size() > 2 ? " are sums" : " is the sum") + " over the heads " + std::to_string(first) + " to " +
           std::to_string(first + opened.heads_of_group() - 1) +
           " of Q, which share K and V: the picture, of one head, shows a's own, and the verdict is on the group. ";
  const HeadNumbers numbers = numbers_of_head_in(e.problem, call);
  const auto problem_of = [&](int head) { return numbers.of_head(e.problem, head); };
  JudgedGradients given = opened.group(group, problem_of, {.format = e.format, .stored = e.format});
  given.o.clear();
  return judge_gradients_of(given, options);
}

void judge_files(ui::KernelGradientsAnswer& answer, const std::array<KernelOutput, given_gradients.size()>& files,
                 const Options& options) {
  const Result& r = *answer.question.answer;
  const Format& d = r.experiment.format;
  if (d != fp32 && d != bf16 && d != fp16) {
    answer.sentences[0] = "Not judged: D is " + name(d) + ", expected fp32, bf16 or fp16 for gradients.";
    return;
  }
  std::string before;
  CallGradients found;
  if (const std::string sums = sums_of(files); !sums.empty()) {
    found = judged_group(r, files, sums, before, options);
  } else {
    JudgedGradients call = judged_call(r, options);
    for (std::size_t i = 0; i < given_gradients.size(); ++i)
      if (files[i].values) call.*given_gradients[i] = {{files[i].values}, format_of_output(files[i], d)};
    found = judge_gradients_of(call, options);
  }
  answer.sentences = sentences_of(found);
  answer.sentences[0] = before + answer.sentences[0];
  for (const CallTensor& t : found.tensors)
    if (const auto i = static_cast<std::size_t>(t.tensor); i < given_gradients.size() && found.incomparable.empty())
      answer.rounded[i] = t.rounded;
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
  JudgeQuestion asked = question_of(first, call, options.cancelled);
  asked.numbers = question.numbers;
  const KernelClaim claim = claim_of(*call.call, asked, options.cancelled).claim;
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
  answer_ = shown_ = answer;
  verdict_ = verdict;
  const bool fits = answer && verdict && verdict->shares && has_loaded(answer->experiment) &&
                    verdict->experiment == ui::verdict_question(answer->experiment);
  if (fits) shown_ = with_shares(*answer, *verdict->shares);
}

std::shared_ptr<const Result> JudgedAnswer::shown(std::shared_ptr<const Result> answer) const {
  return answer == answer_ ? shown_ : answer;
}

ui::KernelGradientsAnswer found_kernel_gradients(const ui::KernelGradientsQuestion& question,
                                                 const SideRun<ui::KernelGradientsAnswer>& run) {
  const ReadGradients read = read_kernel_gradients(question.answer, question.files,
                                                   [&](double) { return run.options.cancelled && run.options.cancelled(); });
  ui::KernelGradientsAnswer answer{question, read.answer};
  for (std::size_t i = 0; i < read.files.size(); ++i) answer.sums[i] = !read.files[i].file.empty() && !read.files[i].values;
  if (!question.answer->backward) return answer;
  run.publish(answer);
  judge_files(answer, read.files, run.options);
  return answer;
}

std::shared_ptr<const Result> with_kernel_gradients(const std::shared_ptr<const Result>& answer,
                                                    const ui::KernelGradients& files,
                                                    const std::shared_ptr<const ui::KernelGradientsAnswer>& found, bool busy) {
  if (!answer || !answer->backward || !files.any() || !found || found->question.files != files) return answer;
  return found->question.answer == answer || busy ? found->answer : answer;
}

}  // namespace attoscope::app
