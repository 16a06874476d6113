/// Does an error look like chance, or does it follow something?
#pragma once

#include "kernels/judge/judge.h"

namespace attoscope {

/// True if the output's error follows the truth, its rows or its keys, as mistakes do and coarser rounding does not: summed row
/// by row, its products with the truth, with the truth times the row's place, or with what one key adds to the output,
/// P (V - O), exceed four standard deviations of such a sum of random signs. `judged` is the judgement on `output`; elements
/// that are not finite count as following.
bool error_has_sign(const JudgedOutput& output, const Judged& judged);

}  // namespace attoscope
