/// Mistakes that the judgement would have seen on the tensors at hand.
#pragma once

#include <limits>

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

}  // namespace attoscope
