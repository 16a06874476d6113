// Training by the GPU's code, run by the host thread by thread, has the CPU's bits.

#include "kernels/gpu/device.h"
#include "tests/support/matchers.h"
#include "tests/train/train_questions.h"
#include "tests/twin/host_device.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr int never = 1 << 20, always = 1;  ///< blocks wanted of large tiles

/// A device with a workspace of few floats, which splits sums into several parts.
std::unique_ptr<Primitives<float>> on_host_device(std::uint64_t seed, std::int64_t workspace_floats = 3000,
                                                  int wanted_blocks = never) {
  return std::make_unique<DevicePrimitives<HostDevice>>(seed, workspace_floats, wanted_blocks);
}

class TrainTwin : public TeamTest {
 protected:
  /// Expects that a question has the CPU's answer, for seeds 0 .. count - 1.
  static void expect_the_cpus_answers(const testing::PrimitiveQuestion<float>& question, int count) {
    const auto cpu = cpu_primitives(2);
    for (int i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      Dice dice(seed + 77);
      const auto twin = on_host_device(dice.bits(), dice.between(1, 3000), dice.one_in(4) ? always : never);
      ASSERT_EQ(difference(question.answer(*twin, seed), question.answer(*cpu, seed)), "") << question.name << ", seed " << i;
    }
  }
};

TEST_F(TrainTwin, EveryPrimitiveGivesTheCpusNumbers) {
  for (const auto& question : primitive_questions<float>()) expect_the_cpus_answers(question, experiments(48));
}

TEST_F(TrainTwin, AttentionGivesTheCpusNumbers) { expect_the_cpus_answers(attention_question(), experiments(200)); }

/// Sizes at the edges of a tile, of a slab of k, of a piece.
TEST_F(TrainTwin, ProductsOfEverySizeAroundATile) {
  const auto cpu = cpu_primitives(1);
  int i = 0;
  for (const int m : {1, 63, 64, 65, 127, 129})
    for (const int n : {4, 33, 64, 68, 130})
      for (const int k : {1, 15, 16, 17, 33}) {
        if (++i % (sanitized ? 24 : 3) != 0) continue;
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
        std::vector<double> answers[2];
        Dice dice(static_cast<std::uint64_t>(i));
        for (float& x : a) x = static_cast<float>(dice.normal());
        for (float& x : b) x = static_cast<float>(dice.normal());
        const auto twin = on_host_device(dice.bits(), 1 << 20, i % 2 ? always : never);
        Primitives<float>* const devices[] = {cpu.get(), twin.get()};
        for (int which = 0; which < 2; ++which) {
          Primitives<float>& on = *devices[which];
          DeviceArray<float, float> x(on, a.size()), y(on, b.size()), z(on, static_cast<std::size_t>(m * n));
          x.write(a);
          y.write(b);
          MatrixProduct<float> product = product_of(m, n, k, x.get(), y.get(), z.get());
          product.piece = i % 4 == 0 ? 9 : 0;
          on.product(product);
          const std::vector<float> c = z.read();
          answers[which].assign(c.begin(), c.end());
        }
        EXPECT_EQ(difference(answers[0], answers[1]), "") << m << " x " << n << " x " << k;
      }
}

/// A sum that is -0 stays -0, although slabs of k are filled up.
TEST_F(TrainTwin, TheFillOfASlabChangesNoSum) {
  for (const int wanted_blocks : {always, never}) {
    const auto twin = on_host_device(1, 3000, wanted_blocks);
    const std::vector<float> a(3, -1e-30f), b(3, 1e-30f);
    DeviceArray<float, float> x(*twin, 3), y(*twin, 3), z(*twin, 1);
    x.write(a);
    y.write(b);
    twin->product(product_of(1, 1, 3, x.get(), y.get(), z.get()));
    EXPECT_EQ(z.read()[0], 0.0f);
    EXPECT_TRUE(std::signbit(z.read()[0]));
  }
}

TEST_F(TrainTwin, TwentyStepsOfTrainingGiveTheCpusWeights) {
  const TrainMethod methods[] = {small_tiled(bf16, Algorithm::flash2, "eager"),
                                 small_tiled(fp32, Algorithm::three_pass, "base_eager"),
                                 small_tiled(fp16, Algorithm::split_kv, "hw")};
  int seed = 0;
  for (const TrainMethod& method : methods) {
    const ModelShape shape{.layers = 2, .width = 16, .heads = 2, .context = 9, .norm = ++seed % 2 ? Norm::layer : Norm::rms};
    const TrainPlan plan = made_up_plan(shape, 2, method);
    const int steps = sanitized ? 3 : 20;
    const auto expected = trained(plan, steps, cpu_primitives(1));
    EXPECT_EQ(difference(trained(plan, steps, on_host_device(static_cast<std::uint64_t>(seed))), expected), "") << seed;
  }
}

TEST_F(TrainTwin, ThreadsThatDoNotMeetAreNoticed) {
  Dice dice(1);
  const ProductTask task{{.m = 1, .n = 1, .k = 1, .piece = 1}};
  testing::HostProductBlock<SmallTile> block(task, {}, dice);
  block.each([](ProductThread<SmallTile>&) {});
  EXPECT_THROW(block.each([](ProductThread<SmallTile>&) {}), std::logic_error);
}

TEST(GpuPrimitives, SayWhyThereAreNoneInASentence) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(message_of<DeviceFailure>([] { gpu_primitives(0); }), EndsWith("."));
}

}  // namespace
}  // namespace attoscope
