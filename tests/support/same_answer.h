/// Expects that two results are equal bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/result_difference.h"

namespace attoscope::testing {

inline void expect_same_errors(const Deviation& x, const Deviation& y) { EXPECT_EQ(difference("the error", x, y), ""); }

inline void expect_same_answer(const Result& x, const Result& y) { EXPECT_EQ(difference(x, y), ""); }

/// Names of the parts (golden, a, b) with a time in `timing`: computed, not reused.
inline std::string computed_parts(const auto& timing) {
  std::string parts;
  for (const auto& [ms, name] : {std::pair{timing.golden, "golden"}, {timing.a, "a"}, {timing.b, "b"}})
    if (ms > 0) parts += (parts.empty() ? "" : " ") + std::string(name);
  return parts;
}

}  // namespace attoscope::testing
