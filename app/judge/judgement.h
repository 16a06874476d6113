/// The judgement on all heads of a call, in numbers and in three sentences.
#pragma once

#include <optional>
#include <string>

#include "app/judge/judged_call.h"
#include "app/tensors/head_numbers.h"
#include "kernels/experiment/experiment.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope::app {

/// The properties of the kernel, equal for all heads of a call.
struct CallClaim {
  KernelClaim claim;
  std::string why_format;            ///< "since Q is stored in it"
  std::optional<Format> narrower{};  ///< another D that may be meant
};

/// The question to `judge_call`.
struct JudgeQuestion {
  Problem problem;                   ///< mask, scale, soft cap, ALiBi, sink
  std::optional<Format> format{};    ///< D; none: found from the tensors
  std::optional<Method> declared{};  ///< --policy or --like
  std::string declared_name{};
  int head = -1;                     ///< the only head to judge; -1: all
  HeadNumbers numbers{};             ///< of all heads, instead of the problem's
  std::string reading{};             ///< a sentence if the files fit another layout as well
  std::optional<CallClaim> claim{};  ///< result of `claim_of`; none: not found yet, since it may read all heads

  /// The problem of this head, without its tensors.
  Problem problem_of(int of_head) const { return numbers.of_head(problem, of_head); }
};

/// Finds the claim. D, if the question names none, is the format in which Q is stored; if that may hold numbers of a narrower
/// format, the narrower one if Q, K, V and O of all heads are in it, or the narrower one that O is in. Throws Stopped when
/// cancelled.
CallClaim claim_of(const JudgedCall& call, const JudgeQuestion& question, const Cancelled& cancelled = {});

/// One head of the call, as it is judged.
JudgedOutput judged_output(const KernelClaim& claim, const JudgedCall& call, const JudgeQuestion& question, int head);

/// The judgement on one head. Throws Stopped when cancelled.
Judged judge_head(const JudgedCall& call, const JudgeQuestion& question, const KernelClaim& claim, int head,
                  const Options& options);

/// Judges every head, or only `question.head`. `options.progress` also advances within a head, and is called by one thread at a
/// time. Throws std::runtime_error in a sentence, std::invalid_argument for a head that is not there, Stopped when cancelled.
CallJudgement judge_call(const JudgedCall& call, const JudgeQuestion& question, const Options& options);

/// The question about the head of an experiment's loaded output. D is the experiment's if the tensors suggest another.
/// Throws Stopped when cancelled.
JudgeQuestion question_of(const Experiment& experiment, const ExperimentCall& call, const Cancelled& cancelled = {});

/// The judgement on that head alone. Throws as `judge_call`.
CallJudgement judge_experiment(const Experiment& experiment, const Options& options = {});

/// D for the experiment's loaded output: from the tensors of its call or, if no files hold the whole call, from the output. An
/// experiment's D of eight bits or fewer is kept.
Format format_of_loaded(const Experiment& experiment);

}  // namespace attoscope::app
