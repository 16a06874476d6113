/// The judgement on all heads of a call, or on one of them, in numbers and in three sentences.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/input.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/result.h"
#include "kernels/judge/judge.h"

namespace attoscope {

/// The smallest mistakes that a kernel without other errors could not make unseen.
struct SeenMistakes {
  double scale = std::numeric_limits<double>::infinity();  ///< relative error of the scores' scale
  bool key = false;     ///< a row's last visible key left out, which is a mask that is off by one
  bool masked = false;  ///< there is a mask
};

/// Computed on up to 64 rows with keys, by the criterion of `judge` for elements and rows, one and a half times over, as the
/// kernel's own rounding may be against it. `judged` is the judgement on `output`.
SeenMistakes seen_mistakes(const JudgedOutput& output, const Judged& judged);

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

/// `CallJudgement::share` of each element, n x d_v; null where nothing can be judged.
std::shared_ptr<const Matrix> shares_of(const CallJudgement& call);

/// `result` with these in it, of the rows that it holds.
std::shared_ptr<const Result> with_shares(const Result& result, const Matrix& shares);

/// The exact output of a row whose loop ends early: of its first `tiles` tiles of keys, counted from key 0 on.
struct RowPrefix {
  int row = -1, tiles = 0;
  std::vector<double> output{};  ///< d_v values; empty: the row sees no key, or has a single tile
};

/// The prefix of the traced row, other than the whole, to which the loaded output is nearest. a of `followed` has tiles.
RowPrefix nearest_prefix(const Result& followed);

/// The tile, and what tells it.
struct Parting {
  enum class By : std::uint8_t { nothing, keys, prefix } by = By::nothing;
  int tile = -1;  ///< from key 0 on
  int key = -1;   ///< the first wrong key that the row meets
};

/// The tile in which the traced row of a wrong output parts: that of the first key that the named slip says is wrong, or behind
/// the prefix that its output is rounded from.
Parting parting_of(const CallJudgement& call, const Result& followed, const RowPrefix& prefix);

}  // namespace attoscope
