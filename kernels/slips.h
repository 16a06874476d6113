/// Rounded or wrong: where somebody's output errs, and which usual slip explains it, found by trying each of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compute.h"

namespace attoscope {

/// A mistake that kernels are written with.
struct Slip {
  enum class Kind : std::uint8_t { scale, exponential, division, mask, bias, operands, rescale, tail, head, layout, overflow };
  Kind kind = Kind::scale;
  std::string text;  ///< "a causal mask that lets every query see one key more"
  double ratio = 0;  ///< largest distance from what this slip would give, in units of the line
};
inline constexpr std::array<std::string_view, 11> slip_names{
    "scale", "exponential", "division", "mask", "bias", "operands", "rescale", "tail", "head", "layout", "overflow"};
constexpr std::string_view name(Slip::Kind k) { return slip_names[static_cast<std::size_t>(k)]; }

/// The other heads that the input's file holds, for the question whether another one was taken. `read` may throw.
struct OtherHeads {
  int count = 0;
  std::function<std::shared_ptr<const Tensors>(int head)> read{};
};

/// What is to be thought of a loaded output.
struct Diagnosis {
  /// rounded: within twice the rival's largest error. loose: within five times. incomparable: there is no truth to hold it to.
  enum class Verdict : std::uint8_t { incomparable, rounded, loose, wrong };
  Experiment experiment;
  Verdict verdict = Verdict::incomparable;
  double ratio = 0;   ///< largest error over that of the rival, or of rounding to the type as stored where that is larger
  std::string where;  ///< "in rows 960 to 999", "everywhere"; empty where nothing is outside the line
  std::optional<Slip> slip;  ///< the simplest that explains the error; none: no usual one does
  std::string sentence;
};
inline constexpr std::array<std::string_view, 4> verdict_names{"incomparable", "rounded", "loose", "wrong"};
constexpr std::string_view name(Diagnosis::Verdict v) { return verdict_names[static_cast<std::size_t>(v)]; }

/// True if a or b is somebody's output, so that `diagnose` has a question to answer.
bool has_loaded(const Experiment& experiment);

/// Looks at the loaded method of `result` (a, if both are). Throws Stopped when cancelled, and what `heads.read` throws.
Diagnosis diagnose(const Result& result, const OtherHeads& heads = {}, const Options& options = {});

}  // namespace attoscope
