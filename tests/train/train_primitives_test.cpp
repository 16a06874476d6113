// Training on the CPU against the plainly written rule, bit for bit: every operation, every instruction set, one and two
// threads.
#include <gtest/gtest.h>

#include <array>

#include "kernels/train/primitives/row_math.h"
#include "tests/reference/plain_primitives.h"
#include "tests/support/support.h"
#include "tests/train/primitive_questions.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

TEST(TrainPrimitives, FollowTheWrittenRule) {
  const auto plain = plain::primitives<float>();
  std::vector<std::unique_ptr<Primitives<float>>> devices;
  for (const char* isa : own_instruction_sets())
    for (const int threads : {1, 2}) devices.push_back(cpu_primitives(threads, isa));
  ASSERT_FALSE(devices.empty());
  for (const auto& question : primitive_questions<float>())
    for (int seed = 0; seed < experiments(24); ++seed) {
      const std::vector<double> expected = question.answer(*plain, static_cast<std::uint64_t>(seed));
      for (const auto& device : devices)
        ASSERT_EQ(difference(question.answer(*device, static_cast<std::uint64_t>(seed)), expected), "")
            << question.name << ", seed " << seed << ", " << device->name();
    }
}

TEST(TrainPrimitives, AreNamedAndGiveAlignedZeros) {
  const auto device = cpu_primitives(2, "sse2");
  EXPECT_EQ(device->name(), "cpu sse2, 2 threads");
  EXPECT_EQ(cpu_primitives(1, "sse2")->name(), "cpu sse2, 1 thread");
  const DeviceArray<float, float> x(*device, 1001);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.get()) % 64, 0U);
  EXPECT_EQ(x.read(), std::vector<float>(1001));
  EXPECT_THROW(cpu_primitives(1, "mmx"), std::invalid_argument);
}

/// Losses and d_logits of one token with these logits, whose target is word 1.
std::vector<float> token_answer(std::vector<float> logits) {
  const std::uint16_t target = 1;
  std::vector<float> answer(logits.size() + 1);
  cpu_primitives(1)->cross_entropy({.rows = 1,
                                    .vocabulary = static_cast<int>(logits.size()),
                                    .logits = logits.data(),
                                    .targets = &target,
                                    .losses = answer.data(),
                                    .d_logits = answer.data() + 1});
  return answer;
}

TEST(TrainPrimitives, CrossEntropyPassesOnWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> logits(19);
  const float even = float(1) / float(18);
  logits[3] = -infinity;  // a word that cannot come
  std::vector<float> answer = token_answer(logits);
  EXPECT_NEAR(answer[0], std::log(18.0), 1e-6);
  EXPECT_EQ(answer[1], even);
  EXPECT_EQ(answer[2], even - float(1));
  EXPECT_EQ(answer[4], float(0));
  for (const float bad : {nan, infinity}) {
    logits[17] = bad;
    for (const float x : token_answer(logits)) EXPECT_TRUE(std::isnan(x) || bad == infinity) << x;
    EXPECT_TRUE(std::isnan(token_answer(logits)[18]));
  }
}

TEST(TrainPrimitives, GeluHasItsLimitsAndItsSlope) {
  const auto device = cpu_primitives(1);
  const std::array<float, 5> x{float(-100), float(-1), float(0), float(1), float(100)}, ones{1, 1, 1, 1, 1};
  std::array<float, 5> y{}, slope{};
  device->gelu(x.data(), 5, {}, y.data());
  device->gelu_gradient(x.data(), ones.data(), 5, {}, slope.data());
  const std::array<double, 5> values{0, -0.158808009, 0, 0.841191991, 100}, slopes{0, -0.082963741, 0.5, 1.082963741, 1};
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], values[i], 1e-7);
    EXPECT_NEAR(slope[i], slopes[i], 1e-6);
  }
}

TEST(TrainProducts, OfAllShapesDoNotTouchWhatLiesBeside) {
  const auto device = cpu_primitives(2);
  for (const int n : {1, 17, 63, 64, 65, 129})
    for (const int m : {1, 5, 6, 7, 130}) {
      const std::vector<float> a(static_cast<std::size_t>(m), 2), b(static_cast<std::size_t>(n), 3);
      const int stride = n + 7;
      std::vector<float> c(static_cast<std::size_t>(m * stride), -1);
      MatrixProduct<float> product = product_of(m, n, 1, a.data(), b.data(), c.data());
      product.c_row = stride;
      device->product(product);
      for (int i = 0; i < m * stride; ++i)
        ASSERT_EQ(c[static_cast<std::size_t>(i)], i % stride < n ? 6 : -1) << m << " x " << n;
    }
}

}  // namespace
}  // namespace attoscope
