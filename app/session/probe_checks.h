/// What a probe's sentence claims, as numbers of a result.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "kernels/experiment/result.h"

namespace attoscope {

/// One claim: a number of the result and where it must lie.
struct Check {
  std::string what;  ///< see `measure`
  double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
  std::string says;  ///< the number as the sentence writes it; "" where it is not in the sentence
};

/// The number of `result` that `what` names: "a.mean_abs", or the quotient of two, "a.mean_abs/b.mean_abs". A name is the path
/// of a number in result.json, with * for every item of a list ("trace.tiles.*.saturated"), or "fields.FIELD" for every cell of
/// a field of the heat map. Many numbers become one by the word in front: "sum", "mean", "max" and "median" (of magnitudes),
/// "share" (of those that are not 0). Throws std::runtime_error in a sentence where there is no such number.
double measure(const Result& result, std::string_view what);

/// True if `value` lies where the check wants it; NaN never does.
bool holds(const Check& check, double value);

}  // namespace attoscope
