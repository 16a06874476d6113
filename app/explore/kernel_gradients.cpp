#include "app/explore/kernel_gradients.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/judge/gradient_verdict.h"
#include "app/judge/judgement.h"
#include "app/tensors/kernel_output.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

/// One of the three gradients, wherever it has a place.
struct GradientPlace {
  AnswerTensor tensor;
  std::string KernelGradients::* file;
  Matrix Gradients::* matrix;
  Deviation GradientDeviations::* deviation;
  GivenGradient JudgedGradients::* given;
};
constexpr std::array<GradientPlace, 3> places{{
    {AnswerTensor::dQ, &KernelGradients::dq, &Gradients::dq, &GradientDeviations::dq, &JudgedGradients::dq},
    {AnswerTensor::dK, &KernelGradients::dk, &Gradients::dk, &GradientDeviations::dk, &JudgedGradients::dk},
    {AnswerTensor::dV, &KernelGradients::dv, &Gradients::dv, &GradientDeviations::dv, &JudgedGradients::dv},
}};

/// The rows of a file's gradient that were computed.
Matrix rows_of(const KernelOutput& file, const std::vector<int>& rows) {
  Matrix m{static_cast<int>(rows.size()), file.d, {}};
  for (const int row : rows) {
    const auto first = file.values->begin() + static_cast<std::ptrdiff_t>(row) * file.d;
    m.values.insert(m.values.end(), first, first + file.d);
  }
  return m;
}

void put(Result& r, const GradientPlace& place, const KernelOutput& file) {
  BackwardResult& b = *r.backward;
  Matrix& a = b.a.*place.matrix;
  a = rows_of(file, has_keys_as_rows(place.tensor) ? b.keys : r.rows);
  const Measured x = measured(a);
  const Format& d = r.experiment.format;
  b.a_error.*place.deviation = deviation(x, measured((*b.golden).*place.matrix), d);
  b.a_minus_b.*place.deviation = deviation(x, measured(b.b.*place.matrix), d);
  b.tensors[static_cast<std::size_t>(place.tensor) - 1].digests.a = x.digest;
}

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

void judge_files(KernelGradientsAnswer& answer, const std::array<KernelOutput, places.size()>& files, const Options& options) {
  const Result& r = *answer.question.answer;
  const Format& d = r.experiment.format;
  if (d != fp32 && d != bf16 && d != fp16) {
    answer.sentences[0] = "Not judged: D is " + name(d) + ", expected fp32, bf16 or fp16 for gradients.";
    return;
  }
  JudgedGradients call = judged_call(r, options);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (files[i].values) call.*places[i].given = {{files[i].values}, format_of_output(files[i], d)};
  const CallGradients found = judge_gradients_of(call, options);
  answer.sentences = sentences_of(found);
  for (const CallTensor& t : found.tensors)
    if (const auto i = static_cast<std::size_t>(t.tensor); i < places.size() && found.incomparable.empty())
      answer.rounded[i] = t.rounded;
}

}  // namespace

KernelGradientsAnswer found_kernel_gradients(const KernelGradientsQuestion& question,
                                             const SideRun<KernelGradientsAnswer>& run) {
  KernelGradientsAnswer answer{question, question.answer};
  if (!question.answer->backward) return answer;
  auto shown = std::make_shared<Result>(*question.answer);
  std::array<KernelOutput, places.size()> files;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string& spec = question.files.*places[i].file;
    if (spec.empty()) continue;
    files[i] = read_kernel_gradient(spec, shown->experiment.problem, places[i].tensor,
                                    [&](double) { return run.options.cancelled && run.options.cancelled(); });
    put(*shown, places[i], files[i]);
  }
  BackwardResult& b = *shown->backward;
  std::uint64_t terms = 0;
  for (std::size_t i = 0; i < places.size(); ++i) terms += digest_term_of<std::uint64_t>(b.tensors[i + 1].digests.a, i);
  b.a_digest = digest(1, static_cast<int>(places.size()), terms);
  answer.answer = std::move(shown);
  run.publish(answer);
  judge_files(answer, files, run.options);
  return answer;
}

std::shared_ptr<const Result> with_kernel_gradients(const std::shared_ptr<const Result>& answer, const KernelGradients& files,
                                                    const std::shared_ptr<const KernelGradientsAnswer>& found, bool busy) {
  if (!answer || !answer->backward || !files.any() || !found || found->question.files != files) return answer;
  return found->question.answer == answer || busy ? found->answer : answer;
}

}  // namespace attoscope
