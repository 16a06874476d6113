/// Searches the usual slips for one that explains the error of a loaded output.
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
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// Text of the slip of NaN in rows without keys; they may be intended (see Problem::empty_rows).
inline constexpr char division_without_keys[] = "a division by l = 0 in rows that see no key";

/// Writes the d_v expected values of `row`, NaN if it sees no key. Returns false if they are not known.
using ExpectedRow = std::function<bool(int row, double* out)>;
/// The rows of a matrix with all rows of the problem.
ExpectedRow rows_of_matrix(std::shared_ptr<const Matrix> matrix);

/// A usual mistake of kernels. Kind `format` is a mistake in the question instead: golden was computed from other inputs than
/// the kernel's.
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
  double ratio = 0;            ///< largest distance from the slip's output, in units of the limit
  ExpectedRow output{};        ///< output of the slip, thread-safe; null: not known
  std::optional<Mask> mask{};  ///< the mask that the kernel applies, if that is the only mistake
  std::vector<Keys> keys{};    ///< runs of wrong keys, ascending; empty: not known, or no keys are wrong
};
inline constexpr EnumArray<Slip::Kind> slip_names{"scale",      "exponential", "division", "mask",   "bias",     "operands",
                                                  "rescale",    "tail",        "head",     "layout", "overflow", "format",
                                                  "row_factor", "key_counts",  "number",   "place",  "rounding"};
constexpr std::string_view name(Slip::Kind k) { return slip_names[k]; }

/// Rows of Q that a kernel computes as queries of one sequence.
struct RowsOfSequence {
  int first = 0, end = 0;                          ///< the rows, [first, end)
  int queries = 0;                                 ///< queries of that sequence
  int shift = 0;                                   ///< `row` is query row + shift of that sequence
  std::vector<int> keys;                           ///< stored tokens, in order
  std::vector<int> values{};                       ///< stored tokens of V; empty: same as keys
  std::shared_ptr<const std::vector<double>> q{};  ///< queries that replace the head's; null: the head's own
};

/// A head as read by a kernel with wrong bounds of sequences.
struct OtherBounds {
  std::string text;                  ///< "cu_seqlens_k[1] is one too large"
  std::vector<RowsOfSequence> rows;  ///< all other rows are right
};

/// K and V of one head for all sequences.
struct StoredKeys {
  std::shared_ptr<const Tensors> all;  ///< K and V of every stored token, page by page
  std::vector<int> own;                ///< stored token of each key
  int page = 0;                        ///< tokens per page; 0: no pages
  int first = 0;                       ///< place of key 0 in the sequence's first page
  int sequence = 0;                    ///< index of the head's sequence
  std::vector<std::string> holders;    ///< [stored page]: "sequence 0, page 2"; "": unused
  std::vector<OtherBounds> bounds;     ///< usual mistakes
};

/// The problem's Q, K, V as a kernel may read them with wrong scales. `read` may throw.
struct OtherReading {
  std::string text;  ///< "K's scale forgotten"
  std::function<std::shared_ptr<const Tensors>()> read{};
};

/// Other heads in the input's file, which a kernel may use by mistake. `read` may throw.
struct OtherHeads {
  int count = 0;
  std::function<std::shared_ptr<const Tensors>(int head)> read{};
  int query_heads = 0, kv_heads = 0;                              ///< heads of Q and of K and V in one batch; 0: not known
  std::function<std::vector<OtherReading>(int head)> readings{};  ///< readings of a head's Q, K, V; null: none
  /// Keys of all sequences; null, or returns null, if the call is not packed or paged, or is too large.
  std::function<std::shared_ptr<const StoredKeys>(int head)> keys{};
};

/// A slip, and the share of the error's root mean square that it leaves: 0 explains all of it, 1 nothing.
struct RankedSlip {
  Slip slip;
  double left = 1;
};

/// Result of a search for slips.
struct SlipSearch {
  std::optional<Slip> found{};       ///< the simplest slip that explains the error, if any
  std::vector<RankedSlip> ranked{};  ///< the slips that leave least, best first, whether or not they explain the error
};

/// Searches the slips of the loaded method a of `result`, all of whose rows must be computed; b must be emulated. `like`: only
/// slips with this text, apart from its numbers; "": all. Throws Stopped when cancelled, and what `heads.read` throws.
SlipSearch find_slips(const Result& result, const OtherHeads& heads = {}, const Options& options = {},
                      const std::string& like = {});
/// True if the texts are equal apart from their numbers.
bool alike(std::string text, std::string other);

/// Copy of `result` with the slip's exact output instead of the loaded one; it keeps the deviations of the loaded output.
/// Null if the slip has no output. Throws Stopped when cancelled.
std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const Options& options = {});

/// The tensors with all numbers rounded to `format`; the same pointer if that changes nothing, as in most files.
std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors);

/// Writes the d_v expected values of `row`, NaN if it sees no key. `slack` holds d_v zeros, to which the additional error that
/// such a kernel may have is added: see `attend`.
using RoundedRow = std::function<void(int row, double* out, double* slack)>;

/// A correct kernel that rounds or truncates at other steps than the usual ones, and its exact output after these.
struct OtherRounding {
  std::string text;                   ///< "its scores are rounded to bf16, as in PyTorch's eager attention"
  std::function<RoundedRow()> begin;  ///< may take memory and time; the result is thread-safe
  std::optional<RoundedP> P{};  ///< its P, if it is rounded to eight bits; of equal sums the nearest to the output is meant
};

/// Other roundings of known kernels with main format D and outputs in `stored`, the usual ones first. `inputs` are golden's
/// inputs; `given` are the files', or null if equal; `of_P` is the format of eight bits that V is stored in, if that is not D.
std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format, const Format& stored,
                                           const std::optional<Format>& of_P = {});

/// "row 7", "rows 960 to 999", "queries 0 to 15", and the words that follow one, or several
inline std::string run_text(const std::string& noun, int first, int last, const char* of_one = "", const char* of_more = "") {
  if (first == last) return noun + " " + std::to_string(first) + of_one;
  return (noun == "query" ? "queries" : noun + "s") + " " + std::to_string(first) + " to " + std::to_string(last) + of_more;
}

/// "every 64th row from row 3 on"
std::string series_text(const std::string& noun, int period, int first);

/// "everywhere", "in rows 960 to 999", "in every 64th row from row 3 on", "in columns 32 to 63", "in whole tiles of 64 rows: 3
/// of 16", "in 5 rows, the first 17"; "" if no row is bad. `bad_rows` and `bad_columns` mark rows and columns with a bad
/// element.
std::string error_places(const std::vector<bool>& bad_rows, const std::vector<bool>& bad_columns);

}  // namespace attoscope
