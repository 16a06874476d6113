/// Judgement on all heads of a call, or on one head, as numbers and as three sentences.
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

/// Smallest mistakes that would be visible in an otherwise correct kernel.
struct SeenMistakes {
  double scale = std::numeric_limits<double>::infinity();  ///< relative error of the scores' scale
  bool key = false;     ///< a row without its last visible key (a mask that is off by one) would be visible
  bool masked = false;  ///< the call has a mask
};

/// Computed on up to 64 rows with keys by the criterion of `judge` for elements and rows, times 1.5, since the kernel's own
/// rounding may cancel part of the error. `judged` is the judgement on `output`. Throws Stopped when cancelled.
SeenMistakes seen_mistakes(const JudgedOutput& output, const Judged& judged, const Options& options = {});

/// One row of the table: one head.
struct JudgedRow {
  int head = 0;
  std::string name;   ///< "layer 17, head 4", as pickers show it
  int sequence = -1;  ///< index of the sequence in a packed or paged call; negative: not such a call
  HeadJudgement found;
  std::optional<Slip> slip{};
};

/// Judgement on the same output with a narrower D that all numbers of Q, K and V fit.
struct AlsoJudged {
  Format format;
  bool rounded = false;
  double ratio = 0;  ///< ratio of the worst head
};

struct CallJudgement {
  AttentionShape shape{};
  int heads = 0;
  int columns_left_out = 0;                 ///< columns of O beyond V's
  std::vector<int> sequences_without_keys;  ///< with queries; not judged
  std::string wrong_without_keys;           ///< "sequence 1 has queries and no keys, and its O holds 1, expected 0"
  KernelClaim claim;
  std::string why_format;            ///< "since Q is stored in it"
  std::optional<AlsoJudged> also{};  ///< set if the output is wrong in a wide D that the tensors are stored in
  std::vector<JudgedRow> table;
  std::vector<RivalError> family;          ///< per rival the largest error over all heads
  std::array<std::string, 3> sentences{};  ///< conclusion, evidence, next thing to try
  std::vector<std::string> derivation;     ///< derivation of the tolerance
  std::size_t worst = 0;                   ///< index in the table of the head that is furthest off
  Judged detail;                           ///< judgement on that head
  std::vector<RankedSlip> suspects;        ///< if that head is wrong: the slips that leave least of its error
  SeenMistakes seen;                       ///< smallest mistakes that would be visible in that head
  std::vector<double> output;              ///< output of that head, n x d_v

  bool rounded() const;
  /// The first head that cannot be judged, and the reason: "head 3: attention of its Q, K and V is NaN ..."; "" if all can.
  std::string incomparable() const;
  /// "rounded", "wrong" or "incomparable"
  std::string_view verdict() const;
  /// A number of elements, summed over the heads: sum_of(&HeadJudgement::suspects).
  std::int64_t sum_of(std::int64_t HeadJudgement::* part) const;
  const JudgedRow& worst_row() const { return table[worst]; }
  /// Error over tolerance of an element of the worst head; infinite for NaN.
  double share(int row, int column) const { return (*detail.shares)(row, column); }
};

/// The suspect of this text in the worst head, else the slip named there; null if the slip's output is not known.
const Slip* slip_called(const CallJudgement& call, std::string_view text);

/// `CallJudgement::share` of each element, n x d_v; null if nothing can be judged.
std::shared_ptr<const Matrix> shares_of(const CallJudgement& call);

/// Copy of `result` with the shares of its rows.
std::shared_ptr<const Result> with_shares(const Result& result, const Matrix& shares);

/// Exact output of a row whose loop ends early, after its first `tiles` tiles of keys, counted from key 0.
struct RowPrefix {
  int row = -1, tiles = 0;
  std::vector<double> output{};  ///< d_v values; empty if the row sees no key or has a single tile
};

/// The proper prefix of the traced row that is nearest to the loaded output. a of `followed` must have tiles.
RowPrefix nearest_prefix(const Result& followed);

/// The tile, and the evidence for it.
struct Parting {
  enum class By : std::uint8_t { nothing, keys, prefix } by = By::nothing;
  int tile = -1;  ///< counted from key 0
  int key = -1;   ///< first wrong key in the row's order
};

/// The tile at which the traced row of a wrong output departs: the tile of the first key that the named slip makes wrong, or
/// the tile after the prefix that its output is rounded from.
Parting parting_of(const CallJudgement& call, const Result& followed, const RowPrefix& prefix);

}  // namespace attoscope
