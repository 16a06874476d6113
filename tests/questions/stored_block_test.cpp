// Blocks by hand: scales and elements of MX, NVFP4 and int8 as their texts define them, and the same as a tensor's own storage.
#include "kernels/questions/stored_block.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attoscope {
namespace {

StoredBlock stored(std::vector<float> numbers, const char* storage, float head_amax) {
  return stored_block(numbers, parse_scaling(storage), head_amax);
}

TEST(StoredBlock, OfMxRoundsItsPowerOfTwoDownOrUp) {
  // 0.97 lies between 2^-1 and 1, and e4m3 reaches 1.75 * 2^8
  const StoredBlock down = stored({0.97F, -0.25F, 0}, "e4m3/block:32/e8m0/floor", 0.97F);
  EXPECT_EQ(down.scale, std::ldexp(1.0F, -1 - 8));
  EXPECT_EQ(down.scale_code, down.scale);
  EXPECT_EQ(down.elements, (std::vector<float>{448, -128, 0}));
  EXPECT_EQ(down.value(0), 0.875F);
  const StoredBlock up = stored({0.97F, -0.25F, 0}, "e4m3/block:32/e8m0/ceil", 0.97F);
  EXPECT_EQ(up.scale, std::ldexp(1.0F, -8));
  EXPECT_EQ(up.elements, (std::vector<float>{256, -64, 0}));
}

TEST(StoredBlock, OfNvfp4HasAScaleOfTheHead) {
  const StoredBlock b = stored({6, 3, -0.5F, 0.2F}, "e2m1/block:16/nvfp4", 12);
  EXPECT_EQ(b.head_scale, 12.0F / (6 * 448));
  EXPECT_EQ(b.scale_code, 224) << "half of the head's largest";
  EXPECT_NEAR(b.scale, 1, 1e-6);
  EXPECT_EQ(b.elements, (std::vector<float>{6, 3, -0.5F, 0}));
}

TEST(StoredBlock, OfIntegersIsEvenlySpaced) {
  const StoredBlock b = stored({254, 3, 0.9F, -5}, "int8/token", 254);
  EXPECT_EQ(b.scale, 2);
  EXPECT_EQ(b.elements, (std::vector<float>{127, 2, 0, -2})) << "ties to even";
  EXPECT_EQ(stored({0.9F}, "e4m3/x256", 0.9F).scale, 1.0F / 256);
  EXPECT_EQ(stored({0, 0}, "int8/token", 0).scale, 1) << "zeros need no scale";
}

}  // namespace
}  // namespace attoscope
