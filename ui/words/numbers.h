/// Numbers as text of fixed width; kernels/experiment/text.h has their exact text.
#pragma once

#include <cmath>
#include <string>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/text.h"  // IWYU pragma: export

namespace attoscope::ui {

/// "3.05e-2", "-4.8e-8", "0", "inf", "NaN": `digits` significant digits, no zeros in the exponent.
std::string scientific(double x, int digits = 3);
/// "0.993", "0.0500", "1", "3.20e-4": `digits` significant digits, for a number that stands alone.
std::string single_number(double x, int digits = 3);
/// "1.29×"; "–" if it is not a ratio.
std::string times(double ratio);
/// Shortest text of a tick label or a count: "0", "0.5", "1024", "1e-3".
std::string compact(double x);
/// "+1.80e-3": with its sign.
std::string signed_scientific(double x, int digits = 3);

/// Numbers that stand in one column, all in one notation: with exponents if their sizes ask for them, else without.
class ColumnNumbers {
 public:
  void take(double x);
  /// x in this many significant digits; without decimals if all numbers are whole.
  std::string text(double x, int digits) const;

 private:
  double least_ = HUGE_VAL, most_ = 0;  ///< sizes of the finite ones but 0
  bool whole_ = true;
};

/// "0101": a value below 2^digits with this many binary digits.
std::string binary(std::uint64_t value, int digits);
/// The sign, exponent and mantissa of x in f as '0' and '1'.
struct BitText {
  std::string sign, exponent, mantissa;
  bool exact = true;  ///< x is a number of f; else the bits are of the nearest number
};
BitText bits_of(const Format& f, double x);
/// The next number of f above or below x, a number of f; beyond the largest number, the result of an overflow. NaN stays NaN.
double neighbour(const Format& f, double x, bool above);

/// "0.0999755859375": the shortest text that identifies the double x.
std::string in_full(double x);

/// "4.46", "44.6", "446".
std::string three_digits(double x);
/// "4.46 MB": three digits.
std::string bytes_text(double bytes);
/// Seconds as "2.19 µs": three digits.
std::string seconds_text(double seconds);

}  // namespace attoscope::ui
