/// `attoscope bench --device`: a sentence where there is no such device.
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
  if (!cuda_devices().empty()) GTEST_SKIP() << "there is one";
  expect_refused({"bench", "--device", "cuda"}, 1, why_no_cuda());
  EXPECT_EQ(why_no_cuda().back(), '.');
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
