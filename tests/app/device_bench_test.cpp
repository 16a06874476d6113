/// `attoscope bench`: the named stages, and a sentence for an unknown stage or device.
#include <algorithm>

#include "kernels/bench/stages.h"
#include "kernels/gpu/device.h"
#include "tests/app/outcome.h"

namespace attoscope::testing {
namespace {

TEST(DeviceBench, UnknownDevicesAreWrongUsage) {
  for (const char* const device : {"gpu", "cuda:x", "cuda:-1", "cuda:0,cuda:0", ""})
    expect_refused({"bench", "--device", device}, 2, "expected auto, cpu, cuda");
}

TEST(DeviceBench, SaysWhyThereIsNoGpu) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused({"bench", "--device", "cuda"}, 1, why_no_cuda());
  EXPECT_EQ(why_no_cuda().back(), '.');
}

TEST(DeviceBench, TakesNoOptionOfTheCpusStages) {
  expect_refused({"bench", "--device", "cuda", "--only", "exp"}, 2,
                 "--only is of the CPU's stages, expected it with --device cpu");
  expect_refused({"bench", "--device", "cuda:0", "--growth"}, 2, "--growth is of the CPU's stages");
}

TEST(Bench, TimesTheStagesThatAreNamed) {
  const auto rows = json_of({"bench", "--only", "exp"}).at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("stage"), "exp, one core");
  EXPECT_GT(rows[0].at("ms"), 0);
  expect_refused({"bench", "--only", "no such stage"}, 2, "--only: no stage's name contains \"no such stage\"");
}

TEST(Bench, SaysWhereTheTimeOfAnUpdateGoes) {
  double share =
      0;  // share of an update's time in which one of its stages is busy; other programs take processors from some updates
  for (int attempt = 0; attempt < 10 && share <= 0.7; ++attempt) {
    const Timing t = parts_of_update(512);
    EXPECT_GT(t.golden, 0);
    EXPECT_NEAR(t.inputs + t.golden + t.a + t.b + t.deviation, t.total, 0.01 * t.total);
    double busy = 0;
    for (std::size_t i = 0; i < t.busy.size(); ++i) {
      EXPECT_GT(t.busy[i], 0) << update_part_names[i];
      busy += t.busy[i];
    }
    EXPECT_LT(busy, 1.01 * t.total * thread_count(0));
    share = std::max(share, busy / t.total);
  }
  EXPECT_GT(share, 0.7);  // holds even if only one thread has a processor to itself
}

TEST(DeviceBench, MeasuresItsOwnLimits) {
  if (cuda_devices().empty()) GTEST_SKIP() << why_no_cuda();
  const int gpu = cuda_devices().front().index;
  EXPECT_GT(device_fma_peak(false, gpu), 1e11);
  EXPECT_GT(device_fma_peak(true, gpu), 1e9);
  EXPECT_LE(device_fma_peak(true, gpu), 1.05 * device_fma_peak(false, gpu));
  EXPECT_GT(device_copy_ms(1 << 24, true, gpu), 0);
}

}  // namespace
}  // namespace attoscope::testing
