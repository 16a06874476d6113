/// Margins of the tolerance: how many times a kernel may exceed the error of the worst rival.
#pragma once

namespace attoscope {

/// Margins of all judgements: outputs, gradients and log-sum-exps. Sentences of the window, of verdicts and of lesson 11 say
/// "twice" for the first two.
struct Margins {
  double element = 2;   ///< for the error of an element
  double row = 2;       ///< for the root mean square of a row
  double whole = 1.25;  ///< for the root mean square of all elements
};
inline constexpr Margins margins;

}  // namespace attoscope
