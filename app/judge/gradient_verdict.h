/// The judgement on the gradients of a call, in numbers and in sentences.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/judge/gradient_files.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope {

/// One tensor of all groups.
struct CallTensor {
  GradientTensor tensor;
  bool rounded = true;
  double ratio = 0;  ///< of the group that is furthest off
  int wrong_groups = 0;
  TensorJudgement worst{};  ///< of that group
  int head = 0;             ///< of Q, in which that is
};

/// All gradients of a call.
struct CallGradients {
  std::vector<CallTensor> tensors;  ///< those that were given
  int groups = 0, heads_of_group = 1;
  bool heads_of_q = false, has_lse = false, o_is_rounded = true;
  GroupJudgement worst{};  ///< the group that is furthest off
  std::vector<RivalError> family{};
  std::string incomparable{};  ///< a sentence; "": all can be judged

  bool rounded() const;
};

/// Judges every group, or that of the head that was judged alone. O's judgement is `call`. Throws std::runtime_error in a
/// sentence, Stopped when cancelled.
CallGradients judge_gradients_of(const GradientFiles& files, const Problem& problem, const CallJudgement& call,
                                 const Options& options);

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

}  // namespace attoscope
