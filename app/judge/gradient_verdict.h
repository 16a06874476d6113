/// The judgement on the gradients of a call, in numbers and in sentences.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/judge/gradient_files.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope::app {

/// Groups in which a tensor has the same mistake.
struct WrongGroups {
  std::optional<GradientSlip> slip{};  ///< none: the mistake was not found
  std::vector<int> groups{};           ///< ascending
};

/// The judgement on one tensor over all groups.
struct CallTensor {
  GradientTensor tensor;
  bool rounded = true;
  double ratio = 0;                  ///< of the group that is furthest off
  std::vector<WrongGroups> wrong{};  ///< begins with the mistake of the worst group
  TensorJudgement worst{};           ///< of the worst group
  int head = 0;                      ///< head of Q in which `worst` is
};

/// All gradients of a call.
struct CallGradients {
  std::vector<CallTensor> tensors;  ///< given tensors
  int groups = 0, judged_groups = 0, heads_of_group = 1;
  bool heads_of_q = false, o_is_rounded = true;
  int heads_of_sequence = 0;     ///< heads of Q; 0: no packed call
  std::vector<int> sequences{};  ///< indices of a packed call's sequences, in the order of their heads
  GroupJudgement worst{};        ///< the group that is furthest off
  std::vector<RivalError> family{};
  std::string incomparable{};  ///< a sentence; "": all can be judged

  bool rounded() const;
};

struct JudgeQuestion;

/// Thrown in a sentence if gradients cannot be judged together with the call as it was judged.
struct UnjudgedGradients : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Judges every group, or only the group of the one head in `call`, the judgement on O. Throws UnjudgedGradients,
/// std::runtime_error in a sentence, Stopped when cancelled.
CallGradients judge_gradients_of(const GradientFiles& files, const JudgeQuestion& question, const CallJudgement& call,
                                 const Options& options);

/// Runs of heads of Q in these groups: first and last of each; a run does not cross sequences.
std::vector<std::array<int, 2>> head_runs(const CallGradients& gradients, const std::vector<int>& groups);

/// Index of the sequence of a head of Q, which counts the heads of all sequences; negative: no packed call.
int sequence_of(const CallGradients& gradients, int head);

/// Judges the gradients of one head, given without files. Throws Stopped when cancelled.
CallGradients judge_gradients_of(const JudgedGradients& given, const Options& options);

/// The sentences on the gradients alone.
std::array<std::string, 3> sentences_of(const CallGradients& gradients);
/// The sentences of the call, with the sentences on its gradients added.
std::array<std::string, 3> with_gradients(const CallJudgement& call, const CallGradients& gradients);
/// The table of the gradients as text for a terminal, and as a part of an HTML page.
std::string gradient_report(const CallGradients& gradients);
std::string gradient_html(const CallGradients& gradients);

}  // namespace attoscope::app
