// Choices of `auto` from the times of the CPU and a GPU, and the times that a worker records.
#include "kernels/gpu/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/engine.h"

namespace attoscope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DeviceTimes, FollowTheirNeighbours) {
  DeviceTimes times;
  EXPECT_FALSE(times.at(1e6));
  times.add(1e6, 2);
  EXPECT_EQ(times.at(1e6), 2);
  EXPECT_EQ(times.at(1e3), 2) << "less work may take as long: a launch does";
  EXPECT_DOUBLE_EQ(*times.at(1e7), 20);
  times.add(1e8, 20);
  EXPECT_NEAR(*times.at(1e7), 2 * std::sqrt(10), 1e-9) << "half-way in logarithms";
  EXPECT_DOUBLE_EQ(*times.at(1e9), 200);
  times.add(1.1e8, 30);
  EXPECT_EQ(times.at(1.1e8), 30) << "about the same size: the newest counts";
  EXPECT_DOUBLE_EQ(*times.at(1.1e9), 300);
  times.add(0, 5);
  times.add(5, 0);
  EXPECT_EQ(times.at(1), 2) << "what did nothing, or took no time, tells nothing";
}

TEST(DeviceTimes, GrowWithWork) {
  DeviceTimes times;
  for (const auto& [work, ms] : {std::pair{1e5, 0.5}, {1e6, 0.6}, {1e7, 2.0}, {1e9, 150.0}}) times.add(work, ms);
  double before = 0;
  for (double work = 1e4; work < 1e11; work *= 1.3) {
    EXPECT_GE(*times.at(work), before) << work;
    before = *times.at(work);
  }
}

TEST(DeviceChoice, TheGpuIsMeasuredFirst) {
  EXPECT_TRUE(choose_device({.cpu_ms = {}, .gpu_ms = {}}).gpu);
  EXPECT_TRUE(choose_device({.cpu_ms = 0.1, .gpu_ms = {}}).gpu);
  EXPECT_EQ(choose_device({.cpu_ms = {}, .gpu_ms = {}}).why, "not yet measured");
}

TEST(DeviceChoice, TheCpuIsTriedOnlyWhereItMightBeFaster) {
  const DeviceChoice tried = choose_device({.cpu_ms = {}, .gpu_ms = 3.1, .cpu_at_best_ms = 0.2});
  EXPECT_FALSE(tried.gpu);
  EXPECT_EQ(tried.why, "to be measured beside 3.1 ms");
  const DeviceChoice hopeless = choose_device({.cpu_ms = {}, .gpu_ms = 16.0, .cpu_at_best_ms = 400});
  EXPECT_TRUE(hopeless.gpu);
  EXPECT_EQ(hopeless.why, "16 ms, which no CPU could reach");
}

TEST(DeviceChoice, TheFasterOneAnswers) {
  const DeviceChoice cpu = choose_device({.cpu_ms = 0.4, .gpu_ms = 3.1, .cpu_at_best_ms = 0.1});
  EXPECT_FALSE(cpu.gpu);
  EXPECT_EQ(cpu.why, "0.4 ms instead of 3.1 ms on the GPU");
  const DeviceChoice gpu = choose_device({.cpu_ms = 140, .gpu_ms = 12.0, .cpu_at_best_ms = 50, .on_gpu = false});
  EXPECT_TRUE(gpu.gpu);
  EXPECT_EQ(gpu.why, "12 ms instead of 140 ms on the CPU");
}

TEST(DeviceChoice, OfTwoThatAreAboutAsFastTheLastOneStays) {
  for (const bool on_gpu : {true, false}) {
    EXPECT_EQ(choose_device({.cpu_ms = 10, .gpu_ms = 9, .on_gpu = on_gpu}).gpu, on_gpu);
    EXPECT_EQ(choose_device({.cpu_ms = 9, .gpu_ms = 10, .on_gpu = on_gpu}).gpu, on_gpu);
  }
}

TEST(DeviceChoice, TheGpuThatDrawsIsPreferred) {
  const DeviceInfo first{.index = 0}, second{.index = 2, .draws = true}, third{.index = 3, .draws = true};
  EXPECT_EQ(preferred_gpu(std::vector{first, second, third}), 2);
  EXPECT_EQ(preferred_gpu(std::vector{first}), 0);
}

TEST(DeviceChoice, RowsAtATimeAreThoseOfAllMultiprocessors) {
  EXPECT_EQ(rows_at_a_time({}), 0);
  const DeviceInfo large{.multiprocessors = 132}, small{.multiprocessors = 28};
  EXPECT_EQ(rows_at_a_time(std::vector{large}), 132 * rows_at_a_time(std::vector{DeviceInfo{.multiprocessors = 1}}));
  EXPECT_EQ(rows_at_a_time(std::vector{large, small}), rows_at_a_time(std::vector{large}) + rows_at_a_time(std::vector{small}));
}

TEST(QuestionSize, CountsWhatIsSeen) {
  Experiment e = default_experiment();
  e.problem.n = 64;
  e.problem.d = 8;
  e.problem.mask = {};
  const QuestionSize whole = size_of(e);
  EXPECT_EQ(whole.work, 2.0 * 64 * 64 * 8);
  e.problem.mask.kind = Mask::Kind::causal;
  EXPECT_EQ(size_of(e).work, 2.0 * 64 * 65 / 2 * 8);
  e.problem.rows = 8;
  EXPECT_LT(size_of(e).work, whole.work / 4);
  e.a.precision = policy("hw").precision;
  e.b.precision = policy("base_hw").precision;
  EXPECT_FALSE(size_of(e).rounds_steps);
  e.a.precision = policy("all_direct").precision;
  EXPECT_TRUE(size_of(e).rounds_steps);
  e.format = fp64;
  EXPECT_TRUE(size_of(e).in_double);
}

TEST(MeasuredTimes, TellKindsApartAndAddTheGoldenValueWhereItIsNeeded) {
  MeasuredTimes times;
  const QuestionSize size{1e6, false, false};
  times.took(true, size, {.golden = 0, .a = 1, .b = 2, .deviation = 0.5}, false);
  EXPECT_EQ(times.expected(true, size, false), 3.5);
  EXPECT_FALSE(times.expected(true, size, true)) << "no golden value was computed yet";
  times.took(true, size, {.golden = 4, .a = 1, .b = 2, .deviation = 0.5}, true);
  EXPECT_EQ(times.expected(true, size, true), 7.5);
  EXPECT_FALSE(times.expected(false, size, false));
  EXPECT_FALSE(times.expected(true, {1e6, true, false}, false));
  EXPECT_FALSE(times.expected(true, {1e6, false, true}, false));
}

/// A GPU that never runs anything: whoever chooses it is told that it failed.
std::unique_ptr<Engine> no_engine() { throw DeviceFailure("The GPU was lost."); }

TEST(Auto, AGpuThatFailsIsNoChoice) {
  Experiment e = default_experiment();
  e.problem.n = 32;
  e.problem.d = 8;
  ComputeCache cache;
  for (int i = 0; i < 3; ++i) {
    const Result result = compute(e, {.cache = &cache, .device = "auto", .engine = no_engine});
    EXPECT_EQ(result.remark, "The GPU was lost. The CPU took over.");
    EXPECT_EQ(result.choice, "");
    EXPECT_THAT(result.device, StartsWith("cpu"));
  }
}

TEST(Auto, OneDeviceThatIsNamedIsNoChoice) {
  Experiment e = default_experiment();
  e.problem.n = 32;
  e.problem.d = 8;
  EXPECT_EQ(compute(e, {.device = "cpu"}).choice, "");
}

}  // namespace
}  // namespace attoscope
