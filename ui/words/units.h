/// Amounts in three digits, with their units.
#pragma once

#include <string>

namespace attoscope {

/// "4.46", "44.6", "446".
std::string three_digits(double x);
/// "4.46 MB": three digits.
std::string bytes_text(double bytes);
/// Seconds as "2.19 µs": three digits.
std::string seconds_text(double seconds);

}  // namespace attoscope
