/// The judgement on the log-sum-exp of a call, in numbers and in sentences.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/judge/judgement.h"
#include "app/judge/row_numbers.h"
#include "kernels/experiment/experiment.h"
#include "kernels/judge/lse_judge.h"

namespace attoscope::app {

/// The judgement on all heads, in the base in which more of them are right.
struct CallLse {
  LseBase base = LseBase::e;
  int heads = 0, wrong_heads = 0, head = 0;  ///< heads judged; of them wrong; index of the worst
  std::string head_name{};                   ///< "head 3", "sequence 1, head 3"
  int without = 0;                           ///< heads whose layer has no log-sum-exp, beside those judged
  int sequence = -1;                         ///< of that head; negative: no packed call
  LseJudgement worst{};                      ///< of that head
  std::optional<LseSlip> slip{};

  bool rounded() const { return wrong_heads == 0; }
};

/// Judges the log-sum-exp of the heads in `judgement`, the judgement on O; none: no layer of them has one. Throws Stopped when
/// cancelled.
std::optional<CallLse> judge_lse_of(const RowNumbers& given, const JudgedCall& call, const JudgeQuestion& question,
                                    const CallJudgement& judgement, const Options& options);

/// Opens the log-sum-exp that is named with the experiment's loaded output or stored in the one file of Q, K and V; none: there
/// is none. Throws std::runtime_error in a sentence.
std::optional<RowNumbers> opened_lse(const Experiment& experiment);
/// Judges it for the experiment's head. Throws std::runtime_error in a sentence, Stopped when cancelled.
std::optional<CallLse> judge_lse_beside(const Experiment& experiment, const CallJudgement& judgement, const Options& options);

/// Adds the verdict on the log-sum-exp to `sentences`. `rounded`: true if all else is rounded.
std::array<std::string, 3> with_lse(std::array<std::string, 3> sentences, const CallLse& lse, bool rounded);
/// The verdict and its derivation as text for a terminal, and as a part of an HTML page.
std::string lse_report(const CallLse& lse);
std::string lse_html(const CallLse& lse);

}  // namespace attoscope::app
