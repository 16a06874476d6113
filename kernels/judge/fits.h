/// Names of mistakes that no list holds: what is wrong is fitted as a number, as counts of keys, or as factors of rows.
#pragma once

#include <optional>

#include "kernels/judge/judge.h"

namespace attoscope {

/// The first of these with which the exact output explains every element of `output`, by the criterion of `judge`:
/// - number: the scores' scale is another one;
/// - row_factor: l is off by so many exp(0) in every row, or the output is the truth times a number;
/// - key_counts: runs of keys count c times (0: left out, 2: twice; hidden keys may count);
/// - row_factor: each row is a multiple of the truth.
/// None where none does. `judged` is the judgement on `output`. Throws Stopped when cancelled.
std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Options& options = {});

}  // namespace attoscope
