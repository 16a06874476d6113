#include "ui/words/units.h"

#include <fmt/format.h>

#include <initializer_list>

#include "ui/words/numbers.h"

namespace attoscope {

namespace {

std::string with_unit(double x, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; x >= 999.5 && unit + 1 != units.end(); ++unit) x /= 1000;
  return three_digits(x) + " " + *unit;
}

}  // namespace

std::string three_digits(double x) {
  return x < 1e6 ? fmt::format("{:.{}f}", x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0) : scientific(x);
}
std::string bytes_text(double bytes) { return with_unit(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }
std::string seconds_text(double seconds) { return with_unit(seconds * 1e9, {"ns", "µs", "ms", "s"}); }

}  // namespace attoscope
