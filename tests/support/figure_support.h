/// Helpers of the tests of figures.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/support/rooms.h"

namespace attoscope::testing {

inline bool has_gnuplot() {
  return std::system("command -v gnuplot >/dev/null 2>&1") == 0;  // NOLINT: a test's own question
}

/// Number of occurrences of `part`.
inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace attoscope::testing
