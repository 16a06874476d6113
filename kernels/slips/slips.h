/// Search for a usual slip that explains the error of a loaded output, by trying each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Text of the slip that NaN stands in rows without keys, which may be meant (see Problem::empty_rows).
inline constexpr char division_without_keys[] = "a division by l = 0 in rows that see no key";

/// Writes the d_v values that `row` of Q would have, NaN if the row would see no key. Returns false if they are not known.
using ExpectedRow = std::function<bool(int row, double* out)>;

/// A mistake that is often made in kernels; `format` is one of the question instead: the golden value saw other inputs than the
/// kernel.
struct Slip {
  enum class Kind : std::uint8_t {
    scale,
    exponential,
    division,
    mask,
    bias,
    operands,
    rescale,
    tail,
    head,
    layout,
    overflow,
    format,
    row_factor,
    key_counts,
    number,
    place,
    rounding
  };
  Kind kind = Kind::scale;
  std::string text;            ///< "a causal mask that lets every query see one key more"
  double ratio = 0;            ///< largest distance from what this slip would give, in units of the limit
  ExpectedRow output{};        ///< the output of the slip, to be called from many threads; null: not known
  std::optional<Mask> mask{};  ///< the one that the kernel applies, where that is all
  std::vector<Keys> keys{};    ///< runs of keys that are wrong, in ascending order; empty: not known, or no keys are
};
inline constexpr EnumArray<Slip::Kind> slip_names{"scale",      "exponential", "division", "mask",   "bias",     "operands",
                                                  "rescale",    "tail",        "head",     "layout", "overflow", "format",
                                                  "row_factor", "key_counts",  "number",   "place",  "rounding"};
constexpr std::string_view name(Slip::Kind k) { return slip_names[k]; }

/// Rows of Q that a kernel computes as queries of a sequence.
struct RowsOfSequence {
  int first = 0, end = 0;                          ///< the rows, [first, end)
  int queries = 0;                                 ///< of that sequence
  int shift = 0;                                   ///< `row` is its query row + shift
  std::vector<int> keys;                           ///< stored tokens, in order
  std::vector<int> values{};                       ///< those of V; empty: those of K
  std::shared_ptr<const std::vector<double>> q{};  ///< queries in the place of the head's; null: its own
};

/// A head as a kernel sees it that reads wrong bounds of sequences.
struct OtherBounds {
  std::string text;                  ///< "cu_seqlens_k[1] is one too large"
  std::vector<RowsOfSequence> rows;  ///< the others stay as they are
};

/// K and V of one head, of all sequences.
struct StoredKeys {
  std::shared_ptr<const Tensors> all;  ///< K and V of every stored token, page by page
  std::vector<int> own;                ///< stored token of each key
  int page = 0;                        ///< tokens of a page; 0: there are no pages
  int first = 0;                       ///< place of key 0 in the sequence's first page
  int sequence = 0;                    ///< index of the head's sequence
  std::vector<std::string> holders;    ///< of each stored page: "sequence 0, page 2"; "": it is in no sequence
  std::vector<OtherBounds> bounds;     ///< usual mistakes
};

/// The problem's Q, K, V as a kernel may have read them with wrong scales. `read` may throw.
struct OtherReading {
  std::string text;  ///< "K's scale forgotten"
  std::function<std::shared_ptr<const Tensors>()> read{};
};

/// The other heads in the input's file, which the kernel may have used. `read` may throw.
struct OtherHeads {
  int count = 0;
  std::function<std::shared_ptr<const Tensors>(int head)> read{};
  int query_heads = 0, kv_heads = 0;                              ///< in one batch: of Q, of K and V; 0: not known
  std::function<std::vector<OtherReading>(int head)> readings{};  ///< of Q, K, V of a head; null: there are none
  /// Keys of all sequences; null, as `keys` may be: the head is of no packed or paged call, or of too large a one.
  std::function<std::shared_ptr<const StoredKeys>(int head)> keys{};
};

/// A slip, and the part of the error's root mean square that it leaves: 0 explains all of it, 1 nothing.
struct RankedSlip {
  Slip slip;
  double left = 1;
};

/// Result of a search for slips.
struct SlipSearch {
  std::optional<Slip> found{};       ///< the simplest one that explains the error, if any does
  std::vector<RankedSlip> ranked{};  ///< the slips that leave least, the best first, whether they explain the error or not
};

/// Searches for slips of the loaded method a of `result`, of which all rows are computed, beside b, which is emulated; `like`:
/// only for those that have this text but for its numbers; "": for all. Throws Stopped when cancelled, and what `heads.read`
/// throws.
SlipSearch find_slips(const Result& result, const OtherHeads& heads = {}, const Options& options = {},
                      const std::string& like = {});
/// True if these are the same but for their numbers.
bool alike(std::string text, std::string other);

/// `result` with the slip's exact output in place of the loaded one, for every row; its deviations are still those of the
/// loaded one. Null if the slip has no output. Throws Stopped when cancelled.
std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const Options& options = {});

/// The tensors with all numbers rounded to `format`; the same ones where they hold nothing else, as most files' do.
std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors);

/// Writes the d_v values that are expected of `row`, NaN where it sees no key, and adds to d_v zeros the additional error that
/// such a kernel may have: see `attend`.
using RoundedRow = std::function<void(int row, double* out, double* slack)>;

/// A correct kernel that rounds, or cuts, elsewhere than the usual ones, and its exact output from there on.
struct OtherRounding {
  std::string text;                   ///< "its scores are rounded to bf16, as in PyTorch's eager attention"
  std::function<RoundedRow()> begin;  ///< may take memory and time; the function may be called from many threads
};

/// The other roundings of known kernels with main format D and outputs in `stored`, the usual ones first. `inputs` are those of
/// the golden value, `given` those of the files, if they differ; else null.
std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format, const Format& stored);

/// "everywhere", "in rows 960 to 999", "in every 64th row from row 3 on", "in columns 32 to 63", "in whole tiles of 64 rows: 3
/// of 16", "in 5 rows, the first 17"; "" if no row is bad. `bad_rows` and `bad_columns` mark the rows and columns with a bad
/// element.
std::string error_places(const std::vector<bool>& bad_rows, const std::vector<bool>& bad_columns);

}  // namespace attoscope
