/// The judgement on all heads of a call, in numbers and in three sentences.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/judge/judged_files.h"
#include "kernels/experiment/experiment.h"
#include "kernels/judge/judge.h"
#include "kernels/judge/power.h"

namespace attoscope {

/// What is asked.
struct JudgeQuestion {
  Problem problem;                   ///< mask, scale, soft cap, ALiBi, sink
  std::optional<Format> format{};    ///< D; none: found from the tensors
  std::optional<Method> declared{};  ///< --policy or --like
  std::string declared_name;
  int head = -1;  ///< that head alone; -1: all
};

/// One head of the table.
struct JudgedRow {
  int head = 0;
  HeadJudgement found;
  std::optional<Slip> slip{};
};

/// The same output held to a narrower D, which all numbers of Q, K and V fit.
struct AlsoJudged {
  Format format;
  bool rounded = false;
  double ratio = 0;  ///< of the head that is furthest off
};

struct CallJudgement {
  AttentionShape shape{};
  int heads = 0;
  KernelClaim claim;
  std::string why_format;            ///< "since Q is stored in it"
  std::optional<AlsoJudged> also{};  ///< where the output is wrong in a wide D that the tensors are of
  std::vector<JudgedRow> table;
  std::vector<RivalError> family;          ///< of each rival the worst of all heads
  std::array<std::string, 3> sentences{};  ///< the conclusion, the evidence, what to try
  std::vector<std::string> derivation;     ///< how the tolerance came about
  std::size_t worst = 0;                   ///< the row of the table that is furthest off
  Judged detail;                           ///< of that head
  SeenMistakes seen;                       ///< what would have been seen in that head
  std::vector<double> output;              ///< of that head, n x d_v

  bool rounded() const;
  std::int64_t elements() const, suspects() const;
  const JudgedRow& worst_row() const { return table[worst]; }
};

/// Judges every head. `progress` is told how many are done. Throws std::runtime_error in a sentence, Stopped when cancelled.
CallJudgement judge_call(const JudgedFiles& files, const JudgeQuestion& question, const Options& options,
                         const std::function<void(int done, int heads)>& progress);

}  // namespace attoscope
