/// The judgement on all heads of a call, or on one of them, in numbers and in three sentences.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/input.h"
#include "kernels/judge/judge.h"
#include "kernels/judge/power.h"

namespace attoscope {

/// One head of the table.
struct JudgedRow {
  int head = 0;
  std::string name;   ///< "layer 17, head 4", as pickers show it
  int sequence = -1;  ///< of a packed or paged call; negative: it is none
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
  int columns_left_out = 0;  ///< of O, behind those of V
  KernelClaim claim;
  std::string why_format;            ///< "since Q is stored in it"
  std::optional<AlsoJudged> also{};  ///< where the output is wrong in a wide D that the tensors are of
  std::vector<JudgedRow> table;
  std::vector<RivalError> family;          ///< of each rival the worst of all heads
  std::array<std::string, 3> sentences{};  ///< the conclusion, the evidence, what to try
  std::vector<std::string> derivation;     ///< derivation of the tolerance
  std::size_t worst = 0;                   ///< the row of the table that is furthest off
  Judged detail;                           ///< of that head
  std::vector<RankedSlip> suspects;        ///< of that head, where it is wrong: the slips that leave least of its error
  SeenMistakes seen;                       ///< mistakes that would have been seen in that head
  std::vector<double> output;              ///< of that head, n x d_v

  bool rounded() const;
  /// The first head of which nothing can be said, and the reason: "head 3: attention of its Q, K and V is NaN ..."; "": of each
  /// it can.
  std::string incomparable() const;
  /// "rounded", "wrong" or "incomparable"
  std::string_view verdict() const;
  std::int64_t elements() const, suspect_elements() const;
  const JudgedRow& worst_row() const { return table[worst]; }
  /// The error over the tolerance of an element of the worst head; infinite for NaN.
  double share(int row, int column) const;
};

/// The suspect of this text in the worst head, or, where there is none, the slip that is named there; null: its output is not
/// known.
const Slip* slip_called(const CallJudgement& call, std::string_view text);

}  // namespace attoscope
