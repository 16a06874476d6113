/// The judgement on the gradients of a call, in numbers and in sentences.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/judge/gradient_files.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope::app {

/// Groups in which a tensor is wrong in one way.
struct WrongGroups {
  std::optional<GradientSlip> slip{};  ///< none: no name was found
  std::vector<int> groups{};           ///< ascending
};

/// One tensor of all groups.
struct CallTensor {
  GradientTensor tensor;
  bool rounded = true;
  double ratio = 0;                  ///< of the group that is furthest off
  std::vector<WrongGroups> wrong{};  ///< that of the worst group first
  TensorJudgement worst{};           ///< of that group
  int head = 0;                      ///< of Q, in which that is
};

/// All gradients of a call.
struct CallGradients {
  std::vector<CallTensor> tensors;  ///< those that were given
  int groups = 0, judged_groups = 0, heads_of_group = 1;
  bool heads_of_q = false, o_is_rounded = true;
  int heads_of_sequence = 0;     ///< of Q; 0: it is no packed call
  std::vector<int> sequences{};  ///< indices of a packed call's, in the order of their heads
  GroupJudgement worst{};        ///< the group that is furthest off
  std::vector<RivalError> family{};
  std::string incomparable{};  ///< a sentence; "": all can be judged

  bool rounded() const;
};

struct JudgeQuestion;

/// Judges every group, or that of the head that was judged alone. O's judgement is `call`. Throws std::runtime_error in a
/// sentence, Stopped when cancelled.
CallGradients judge_gradients_of(const GradientFiles& files, const JudgeQuestion& question, const CallJudgement& call,
                                 const Options& options);

/// The heads of Q of these groups: first and last of each run, in one sequence each.
std::vector<std::array<int, 2>> head_runs(const CallGradients& gradients, const std::vector<int>& groups);

/// Index of the sequence that a head of Q, counted over all, belongs to; negative: it is no packed call.
int sequence_of(const CallGradients& gradients, int head);

/// Judges the gradients of one head, given without files. Throws Stopped when cancelled.
CallGradients judge_gradients_of(const JudgedGradients& given, const Options& options);

/// The sentences on the gradients alone.
std::array<std::string, 3> sentences_of(const CallGradients& gradients);
/// The sentences of the call with those of its gradients.
std::array<std::string, 3> with_gradients(const CallJudgement& call, const CallGradients& gradients);
/// The derivation of the gradients' tolerance, one sentence a step.
std::vector<std::string> gradient_derivation(const CallGradients& gradients);
/// Their table for a terminal, and as a part of a page.
std::string gradient_report(const CallGradients& gradients);
std::string gradient_html(const CallGradients& gradients);

}  // namespace attoscope::app
