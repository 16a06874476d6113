/// An output against the plain implementation, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include "kernels/experiment/result.h"
#include "tests/reference/plain.h"
#include "tests/support/support.h"

namespace attoscope::testing {

/// Success if `output`, of `method` in the result, is the output of plain:: on the result's inputs; else a failure that names
/// the place.
inline ::testing::AssertionResult is_plain(const Result& r, const Method& method, const Matrix& output) {
  const std::vector<plain::Row> rows = plain::attend(r.experiment, method, *r.inputs, r.rows);
  for (int row = 0; row < output.rows; ++row)
    for (int c = 0; c < output.cols; ++c) {
      const double expected = rows[static_cast<std::size_t>(row)].output[static_cast<std::size_t>(c)];
      if (!same(output(row, c), expected))
        return ::testing::AssertionFailure()
               << "at (" << row << ", " << c << "): " << std::hexfloat << output(row, c) << ", expected " << expected;
    }
  return ::testing::AssertionSuccess();
}

}  // namespace attoscope::testing
