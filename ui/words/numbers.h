/// Numbers as they are read, of fixed width; the exact text of numbers is kernels/experiment/text.h.
#pragma once

#include <string>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/text.h"  // IWYU pragma: export

namespace attoscope {

/// "3.05e-2", "-4.8e-8", "0", "inf", "NaN": `digits` significant ones, no zeros in the exponent.
std::string scientific(double x, int digits = 3);
/// "1.29×"; "–" where there is no ratio.
std::string times(double ratio);
/// A tick label or a count as short as it can be: "0", "0.5", "1024", "1e-3".
std::string compact(double x);
/// "+1.80e-3": with its sign.
std::string signed_scientific(double x, int digits = 3);
/// "-0x1.1e1a0d3aap+1".
std::string hex_float(double x);

/// The sign, exponent and mantissa of x in f as '0' and '1'.
struct BitText {
  std::string sign, exponent, mantissa;
  bool exact = true;  ///< x is a number of f; otherwise the bits are those of the nearest one
};
BitText bits_of(const Format& f, double x);
/// The number of f that these bits stand for: the inverse of `bits_of`.
double number_of(const Format& f, const BitText& bits);
/// The next number of f above x, a number of f, or below it; beyond the largest what overflow gives, and NaN stays NaN.
double neighbour(const Format& f, double x, bool above);

/// "0.0999755859375": as few digits as tell x from every other double.
std::string in_full(double x);

/// x rounded up to `digits` significant digits, so that a range changes seldom while its data do.
double rounded_up(double x, int digits = 2);

}  // namespace attoscope
