/// The answer and the loaded output on screen: the output's verdict, the slip that it is compared with, and the recurrence
/// shown instead of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/output_answer.h"
#include "ui/frame/panel_input.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// True if an answer for `known` also answers `asked`: they differ at most in a traced row that does not decide which rows are
/// computed.
inline bool answers(Experiment known, const Experiment& asked) {
  if (asked.problem.rows == 0) known.problem.traced_row = asked.problem.traced_row;
  return known == asked;
}

/// The experiment as key of the verdict on its loaded output: without the other method and the traced row.
inline Experiment verdict_question(Experiment e) {
  e.a = e.b = Method{};
  e.a.algorithm = Algorithm::loaded;
  e.problem.traced_row = e.problem.rows = 0;
  return e;
}

/// Verdict on the loaded output on screen; null: no output, or not known yet.
inline const HeadVerdict* shown_head_verdict(const PanelInput& input) {
  const Result* const result = input.answer.result.get();
  const HeadVerdict* const found = input.side.verdict.get();
  const bool known = result != nullptr && found != nullptr && has_loaded(result->experiment) &&
                     found->experiment == verdict_question(result->experiment);
  return known ? found : nullptr;
}
inline const CallJudgement* shown_verdict(const PanelInput& input) {
  const HeadVerdict* const found = shown_head_verdict(input);
  return found != nullptr ? &found->call : nullptr;
}

/// The kernel's gradients on screen instead of a's; null: none.
inline const KernelGradientsAnswer* shown_kernel_gradients(const PanelInput& input) {
  const KernelGradientsAnswer* const found = input.side.kernel_gradients.get();
  return found != nullptr && input.answer.result != nullptr && found->answer == input.answer.result ? found : nullptr;
}

/// Index of `tensor` in `KernelGradientsAnswer::rounded` if the kernel's is on screen; none: a's own is.
inline std::optional<std::size_t> place_of_kernels(const KernelGradientsAnswer* found, AnswerTensor tensor) {
  if (found == nullptr) return {};
  const KernelGradients& files = found->question.files;
  const std::array named{!files.dq.empty(), !files.dk.empty(), !files.dv.empty()};
  const auto place = gradient_place(tensor);
  return place < named.size() && named[place] && !found->sums[place] ? std::optional(place) : std::nullopt;
}

/// True if a loaded output has as many heads as Q, and more than one.
inline bool has_several_outputs(const Experiment& e, const ChoicesInput& choices) {
  const Input& input = e.problem.input;
  return has_loaded(e) && input.kind == InputKind::tensors && choices.tensors.file == input.file && choices.tensors.heads > 1 &&
         choices.output.file == e.loaded.file && choices.output.heads == choices.tensors.heads;
}

/// Verdicts on the heads of an experiment's loaded output, known so far.
inline HeadVerdicts shown_verdicts(const Experiment& e, const PanelInput& input) {
  const JudgedView heads = found_of(input.side.judged, verdict_question(e));
  HeadVerdicts found = verdicts_of(heads);
  if (found.all == 0) found.all = input.choices.tensors.heads;
  return found;
}

/// The slip that the view compares a loaded output with: the chosen suspect, or the slip named by the verdict; null: none.
inline const Slip* compared_slip(const View& view, const PanelInput& input) {
  const CallJudgement* const found = shown_verdict(input);
  return found != nullptr ? slip_called(*found, view.slip) : nullptr;
}

/// True if the second field is the slip's output.
inline bool compares_with_slip(const View& view, const PanelInput& input) {
  return view.comparison != Comparison::none && view.second_slip && compared_slip(view, input) != nullptr;
}

/// The answer with the slip's output; null: not known yet.
inline std::shared_ptr<const Result> slip_answer(const View& view, const PanelInput& input) {
  const Slip* const slip = compared_slip(view, input);
  const SlipOutput* const found = input.side.slip_output.get();
  const bool known = slip != nullptr && found != nullptr && found->text == slip->text &&
                     found->answer->experiment == input.answer.result->experiment;
  return known ? found->answer : nullptr;
}

/// True if a method runs over tiles of keys with a running max.
constexpr bool has_recurrence(const Method& m) { return is_emulated(m.algorithm) && has_tiles(m.algorithm); }

/// The experiment whose a is shown tile by tile for a loaded output, which is b. a is the other method, or if that has no
/// recurrence, FlashAttention 2 with GPU rounding and the same tiles.
inline Experiment followed_beside(Experiment e) {
  if (e.a.algorithm == Algorithm::loaded) e = exchanged(e);
  if (has_recurrence(e.a)) return e;
  Method flash = default_experiment().a;
  flash.block_q = e.a.block_q;
  flash.block_k = e.a.block_k;
  e.a = flash;
  return e;
}

/// True if the recurrence on screen is not a's: a has no tiles, and a or b is a loaded output.
inline bool follows_another(const Experiment& e) { return has_loaded(e) && !has_recurrence(e.a); }

/// Name of the method shown tile by tile: "a" or "b", or "flash2" if neither has a recurrence.
inline std::string_view followed_name(const Experiment& e) {
  return has_recurrence(e.a) ? "a" : has_recurrence(e.b) ? "b" : "flash2";
}

/// The row shown tile by tile for the loaded output on screen; null: no loaded output, or no answer yet.
inline const FollowedRow* shown_followed(const PanelInput& input) {
  const Result* const result = input.answer.result.get();
  const bool known = result != nullptr && has_loaded(result->experiment) && input.side.followed &&
                     input.side.followed->answer->experiment == followed_beside(result->experiment);
  return known ? input.side.followed.get() : nullptr;
}

/// The answer whose a is shown tile by tile: the one on screen, or the `followed_beside` of its loaded output.
inline std::shared_ptr<const Result> recurrence_answer(const PanelInput& input) {
  const FollowedRow* const followed = shown_followed(input);
  return followed != nullptr && follows_another(input.answer.result->experiment) ? followed->answer : input.answer.result;
}

}  // namespace attoscope::ui
