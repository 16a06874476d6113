#include "app/session/kernel_gradients.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "app/explore/side_answers.h"
#include "app/judge/gradient_verdict.h"
#include "app/judge/judgement.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// dQ, dK and dV as they are judged, in the order of the files.
constexpr std::array<GivenGradient JudgedGradients::*, 3> given_gradients{&JudgedGradients::dq, &JudgedGradients::dk,
                                                                          &JudgedGradients::dv};

/// The call that the gradients are judged in, without them; with O where the session names one.
JudgedGradients judged_call(const Result& r, const Options& options) {
  const Experiment& e = r.experiment;
  JudgedGradients g{.problem = e.problem, .format = e.format, .stored_o = e.format, .heads = {r.inputs}, .d_o = {}, .o = {}};
  g.problem.input = {}, g.problem.rows = 0;
  const OutputGradients& incoming = *r.backward->incoming;
  g.d_o.push_back(std::make_shared<const std::vector<double>>(incoming.d_o));
  if (!incoming.d_lse.empty()) g.d_lse.push_back(incoming.d_lse);
  if (e.loaded.file.empty()) return g;
  Experiment with_output = with_loaded(e, LoadedPlace::a);
  with_output.backward.on = false;
  load_kernel_output(with_output.loaded, e.problem.n, value_columns(e.problem));
  g.o = {with_output.loaded.values};
  g.stored_o = format_of_output(with_output.loaded, e.format);
  g.o_is_rounded = judge_experiment(with_output, options).rounded();
  return g;
}

/// The names of those that are sums over the heads of a group: "dK and dV".
std::string sums_of(const std::array<KernelOutput, given_gradients.size()>& files) {
  std::string names;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!files[i].file.empty() && !files[i].values)
      names.append(names.empty() ? "" : " and ").append(text(static_cast<GradientTensor>(i)));
  return names;
}

/// Judges all heads of the group whose sums the files have; the picture of one head stays a's own.
CallGradients judged_group(const Result& r, const std::array<KernelOutput, given_gradients.size()>& files,
                           const std::string& sums, std::string& before, const Options& options) {
  const Experiment& e = r.experiment;
  if (e.backward.d_o != OutputGradient::file)
    throw std::runtime_error(sums +
                             " are sums over the heads of a group, and dO is drawn for one of them, expected a file of dO");
  const CallFiles call(e.problem.input.file);
  const auto& [dq, dk, dv] = files;
  const GradientFiles opened({e.backward.d_o_file.file, dq.file, dk.file, dv.file, "", e.backward.d_lse_file.file, ""}, call);
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
