/// Runs tests of random experiments with consecutive seeds.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/support.h"  // IWYU pragma: export

namespace attoscope::testing {

/// Calls test(dice) for `count` seeds from `first` on; stops at the first failure, whose message has the seed.
void with_seeds(int first, int count, auto test) {
  for (int seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(static_cast<std::uint64_t>(seed));
    test(dice);
  }
}

}  // namespace attoscope::testing
