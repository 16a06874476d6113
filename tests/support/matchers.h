/// GoogleTest, with its matchers in attoscope::testing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rooms.h"

namespace attoscope::testing {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

}  // namespace attoscope::testing
