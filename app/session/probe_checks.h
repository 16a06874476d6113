/// Checks of a probe's sentence, as numbers of a result.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "kernels/experiment/result.h"

namespace attoscope {

/// A check: a number of the result and its range.
struct Check {
  std::string what;  ///< see `measure`
  double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
  std::string says;  ///< the number as written in the sentence; "" if not in it
};

/// The number of `result` named by `what`: "a.mean_abs", or the quotient of two, "a.mean_abs/b.mean_abs". A name is the path of
/// a number in result.json, with * for every item of a list ("trace.tiles.*.saturated"), or "fields.FIELD" for every cell of a
/// field of the heat map, or "gradients.golden.dq" for every element of golden's dQ (of a's, of b's; dk, dv, delta, lse). A
/// word in front reduces many numbers to one: "sum", "mean", "max" and "median" (of magnitudes), "share" (of those that are not
/// 0). Throws std::runtime_error with one sentence if there is no such number.
double measure(const Result& result, std::string_view what);

/// True if `value` is in the check's range; false for NaN.
bool holds(const Check& check, double value);

}  // namespace attoscope
