/// The short roundings that the lanes use against `round`: every format's plan, on hard values and on every significand.
#include <gtest/gtest.h>

#include "kernels/arithmetic/plan_rounder.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

template <class T>
void expect_plans_to_round() {
  Dice dice(1);
  int wrong = 0;
  for_each_format([&](const Format& f) {
    if (f.mantissa_bits > Layout<T>::mantissa_bits) return;
    const RounderPlan<T> p = plan<T>(to_format(f), f);
    for (const T x : hard_values<T>(f, dice))
      for (const T signed_x : {x, -x})
        if (!same(rounded(p, signed_x), round(f, signed_x)) && wrong++ < 20)
          ADD_FAILURE() << name(f) << " takes " << std::hexfloat << signed_x << " to " << rounded(p, signed_x)
                        << ", round gives " << round(f, signed_x);
  });
  EXPECT_EQ(wrong, 0);
}
TEST(Rounders, EveryPlanInFloatRoundsHardValuesAsRoundDoes) { expect_plans_to_round<float>(); }
TEST(Rounders, EveryPlanInDoubleRoundsHardValuesAsRoundDoes) { expect_plans_to_round<double>(); }

TEST(Rounders, TheShortOneIsRightForEverySignificandAtTheEndsOfItsDomain) {
  for (int mantissa_bits = 0; mantissa_bits <= 12; ++mantissa_bits) {
    const Format f{8, mantissa_bits};
    const auto p = plan<float>(to_format(f), f);
    EXPECT_EQ(p.can_be_short, mantissa_bits > 0 && mantissa_bits <= 10) << name(f);
    if (!p.can_be_short) continue;
    const ShortRounder<float> shorter(p);
    std::uint64_t wrong = 0;
    for (const float power : {0x1p-100f, 1.0f, 2.0f, 0x1p98f})
      for (std::uint64_t u = 0; u < (1u << 23); u += exhaustive_step) {
        const float x = (1 + static_cast<float>(u) * 0x1p-23f) * power;
        wrong += !same(shorter(x), round(f, x)) + !same(shorter(-x), round(f, -x));
      }
    EXPECT_EQ(wrong, 0u) << name(f);
    EXPECT_EQ(shorter(0.0f), 0);
  }
}

TEST(Rounders, TheShortOneIsRightForManyDoubles) {
  Dice dice(2);
  for (int mantissa_bits = 0; mantissa_bits <= 30; ++mantissa_bits) {
    const Format f{11, mantissa_bits};
    const auto p = plan<double>(to_format(f), f);
    if (!p.can_be_short) continue;
    const ShortRounder<double> shorter(p);
    for (int i = 0; i < 20'000; ++i) {
      const double near_a_middle =
          std::floor(std::ldexp(1 + dice.unit(), mantissa_bits + 1)) + std::ldexp(dice.between(-1, 1), mantissa_bits - 50);
      const double x = std::ldexp(i % 2 == 0 ? near_a_middle : 1 + dice.unit(), dice.between(-60, 60));
      ASSERT_TRUE(same(shorter(x), round(f, x))) << name(f) << ' ' << std::hexfloat << x;
    }
  }
}

TEST(Rounders, FormatsThatHoldEveryNumberOfTheWorkingTypeRoundNothing) {
  EXPECT_FALSE(plan<float>(to_format(fp32), bf16).rounds());
  EXPECT_FALSE(plan<double>(to_format(fp64), bf16).rounds());
  EXPECT_FALSE(plan<float>(exact, bf16).rounds());
  EXPECT_TRUE(plan<double>(to_format(fp32), bf16).rounds());
  EXPECT_TRUE(plan<float>(to_main, bf16).rounds());
}

}  // namespace
}  // namespace attoscope
