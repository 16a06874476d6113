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

struct StoredKeys;

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

/// Searches for slips of the loaded method a of `result`; b is emulated. Throws Stopped when cancelled, and what `heads.read`
/// throws.
SlipSearch find_slips(const Result& result, const OtherHeads& heads = {}, const Options& options = {});

/// `result` with the slip's exact output in place of the loaded one, for every row; its deviations are still those of the
/// loaded one. Null if the slip has no output. Throws Stopped when cancelled.
std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const Options& options = {});

/// The tensors with all numbers rounded to `format`; the same ones where they hold nothing else, as most files' do.
std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors);

/// "everywhere", "in rows 960 to 999", "in every 64th row from row 3 on", "in columns 32 to 63", "in whole tiles of 64 rows: 3
/// of 16", "in 5 rows, the first 17"; "" if no row is bad. `bad_rows` and `bad_columns` mark the rows and columns with a bad
/// element; `rows` names the matrix's rows, of which there are n in all.
std::string error_places(const std::vector<bool>& bad_rows, const std::vector<bool>& bad_columns, const std::vector<int>& rows,
                         int n);

}  // namespace attoscope
