/// Rounded or wrong: where a loaded output is off, and which usual slip explains it, found by trying each of them.
#pragma once

#include <array>
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

struct Result;

/// A mistake that is often made in kernels; `format` is one of the question instead: the truth saw other inputs than the
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
  bool has_output = false;     ///< `with_slip_output` knows what it would give
  std::optional<Mask> mask{};  ///< the one that the kernel applies, where that is all
};
inline constexpr std::array<std::string_view, 17> slip_names{
    "scale", "exponential", "division", "mask",   "bias",       "operands",   "rescale", "tail",    "head",
    "layout", "overflow",   "format",   "row_factor", "key_counts", "number", "place",   "rounding"};
constexpr std::string_view name(Slip::Kind k) { return slip_names[static_cast<std::size_t>(k)]; }

/// The problem's Q, K, V as a kernel may have taken them that reads their stored scales wrongly. `read` may throw.
struct OtherReading {
  std::string text;  ///< "K's scale forgotten"
  std::function<std::shared_ptr<const Tensors>()> read{};
};

/// The other heads in the input's file, to find out whether the kernel used one of them. `read` may throw.
struct OtherHeads {
  int count = 0;
  std::function<std::shared_ptr<const Tensors>(int head)> read{};
  int query_heads = 0, kv_heads = 0;                              ///< in one batch: of Q, of K and V; 0: not known
  std::function<std::vector<OtherReading>(int head)> readings{};  ///< of Q, K, V of a head; null: there are none
};

/// The judgement on a loaded output.
struct Diagnosis {
  /// rounded: within twice the largest error of the other method, or of what a correct kernel computes that rounds before the
  /// softmax, too. loose: within five times, or a few rows stand out.
  /// incomparable: there is no exact output to compare it with, or the truth saw the inputs in another format.
  enum class Verdict : std::uint8_t { incomparable, rounded, loose, wrong };
  Experiment experiment;
  Verdict verdict = Verdict::incomparable;
  double ratio = 0;   ///< largest error over that of the other method, or over that of rounding to the stored type if larger
  std::string where;  ///< "in rows 960 to 999", "everywhere"; empty where no error exceeds the limit and no row stands out
  /// Where to look first, unless it is rounded: the first row of Q with an error beyond the line, or the one that is worst
  /// against rounding, and its worst column; -1: nowhere.
  int first_row = -1, worst_col = -1;
  double line = 0;            ///< the largest error that is inside the line; 0: there is none
  std::vector<int> bad_rows;  ///< of Q: those with an error beyond the line, or that stand out inside it
  std::optional<Slip> slip;   ///< the simplest one that explains the error, if any
  std::string sentence;
};
inline constexpr std::array<std::string_view, 4> verdict_names{"incomparable", "rounded", "loose", "wrong"};
constexpr std::string_view name(Diagnosis::Verdict v) { return verdict_names[static_cast<std::size_t>(v)]; }

/// Looks at the loaded method of `result` (a, if both are). Throws Stopped when cancelled, and what `heads.read` throws.
Diagnosis diagnose(const Result& result, const OtherHeads& heads = {}, const Options& options = {});

/// `result` with the exact output that `slip` gives in the place of the loaded one, for every row; its deviations are still
/// those of the loaded one. Null where the slip, which `diagnose` found in this result, has no output. Throws as `diagnose`
/// does.
std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const OtherHeads& heads = {},
                                               const Options& options = {});

}  // namespace attoscope
