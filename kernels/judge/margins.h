/// The margins of the tolerance: how many times further off than the worst of its rivals a kernel may be.
#pragma once

namespace attoscope {

/// Margins of everything that is judged: outputs, gradients and log-sum-exps. Sentences of the window, of verdicts and of
/// lesson 11 say "twice" for the first two.
struct Margins {
  double element = 2;   ///< of the error of an element
  double row = 2;       ///< of the root mean square over a row
  double whole = 1.25;  ///< of that over all elements
};
inline constexpr Margins margins;

}  // namespace attoscope
