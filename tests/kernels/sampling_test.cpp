// The GPU's code for the picture, run on the host block by block and thread by thread, gives the CPU's pixels, bit
// for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/compute.h"
#include "kernels/deviation/sample.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope::sampling_test {
namespace {

using namespace testing;  // attoscope::testing

constexpr float outside = -3e38f;
constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// A random number; in one of 30 cases NaN, infinity or an outlier, which a picture must show.
double spotted(Dice& dice) {
  if (!dice.one_in(30)) return dice.normal();
  return dice.any(std::array{nan, -nan, infinity, -infinity, 0.0, -0.0, 1e300, -1e300, 1e-300, 1000.0, -1000.0, 5e-324});
}

Matrix spotted_matrix(Dice& dice, int rows, int cols) {
  Matrix m{rows, cols, std::vector<double>(static_cast<std::size_t>(rows) * cols)};
  for (double& x : m.values) x = spotted(dice);
  return m;
}

/// A result with random golden, a and b; some cells of a equal golden's.
Result result_of(Dice& dice, int rows, int cols) {
  Result r;
  r.experiment = default_experiment();
  r.experiment.format = dice.any(std::array{bf16, fp16, e4m3, fp32, fp64});
  r.golden = std::make_shared<const Matrix>(spotted_matrix(dice, rows, cols));
  r.a = spotted_matrix(dice, rows, cols);
  r.b = spotted_matrix(dice, rows, cols);
  for (std::size_t i = 0; i < r.a.values.size(); i += 7) r.a.values[i] = r.golden->values[i];
  r.golden_rms = 1;
  return r;
}

SampleTask task_of(const Result& r, Field field, const CellRect& rect, int width, int height) {
  return {{field, r.experiment.format, 0.01 * r.golden_rms},
          {r.golden->values.data(), r.a.values.data(), r.b.values.data()},
          r.golden->rows,
          r.golden->cols,
          rect,
          width,
          height,
          outside};
}

/// Pixels by the kernel's code, block by block; a block's threads run from the last to the first, since the GPU promises no
/// order.
std::vector<float> pixels_by_threads(const SampleTask& task, int threads) {
  std::vector<float> pixels(static_cast<std::size_t>(task.width) * task.height, 7);
  for (int block = 0; block < task.height; ++block) {
    std::vector<std::uint32_t> ranks(max_d, least_rank);
    for (int thread = threads - 1; thread >= 0; --thread)
      pool_columns(task, block, thread, threads, [&](int column, std::uint32_t rank) {
        std::uint32_t& best = ranks.at(static_cast<std::size_t>(column));
        best = std::max(best, rank);
      });
    for (int thread = threads - 1; thread >= 0; --thread)
      pool_pixels(task, block, thread, threads, ranks.data(), [&](int x, float value) {
        ASSERT_LT(x, task.width);
        pixels[static_cast<std::size_t>(block) * task.width + x] = value;
      });
  }
  return pixels;
}

/// The first pixel that differs, or -1.
int first_difference(const std::vector<float>& x, const std::vector<float>& y) {
  if (x.size() != y.size()) return 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::bit_cast<std::uint32_t>(x[i]) != std::bit_cast<std::uint32_t>(y[i])) return static_cast<int>(i);
  return -1;
}

/// Expects the kernel's code to give the CPU's pixels for every field.
void expect_same_pixels(const Result& r, const CellRect& rect, int width, int height, int threads) {
  for (int f = 0; f < field_count; ++f) {
    const auto field = static_cast<Field>(f);
    const std::vector<float> expected =
        sampled(field_values(r, field), r.golden->rows, r.golden->cols, rect, width, height, outside);
    ASSERT_EQ(first_difference(expected, pixels_by_threads(task_of(r, field, rect, width, height), threads)), -1)
        << text(field).name << " of " << r.golden->rows << " x " << r.golden->cols << " at " << width << " x " << height
        << " by " << threads << " threads";
  }
}

CellRect whole(const Result& r) { return {0, 0, double(r.golden->rows), double(r.golden->cols)}; }

TEST(Sampling, TheKernelGivesTheCpusPixels) {
  Dice dice(11);
  for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 5}, {37, 21}, {129, 64}, {300, 128}, {61, 257}, {9, 1024}}) {
    const Result r = result_of(dice, rows, cols);
    for (const auto& [width, height] : {std::pair{1, 1}, {64, 33}, {211, 97}})
      for (const int threads : {1, 32, sample_threads}) expect_same_pixels(r, whole(r), width, height, threads);
  }
}

TEST(Sampling, AtEveryZoomAndBeyondTheMatrix) {
  Dice dice(12);
  for (int i = 0; i < 60; ++i) {
    const int rows = dice.between(1, 200), cols = dice.between(1, 90);
    const Result r = result_of(dice, rows, cols);
    const double row0 = dice.between(-80, 8 * rows) / 8.0, col0 = dice.between(-80, 8 * cols) / 8.0;
    const CellRect rect{row0, col0, row0 + dice.between(0, 900) / 8.0, col0 + dice.between(0, 500) / 8.0};
    expect_same_pixels(r, rect, dice.between(1, 60), dice.between(1, 60), dice.any(std::array{32, 96, sample_threads}));
    if (HasFatalFailure()) return;
  }
}

TEST(Sampling, OfAComputedResult) {
  Experiment e = sized_experiment(203, 40);
  const Result r = compute(e);
  expect_same_pixels(r, whole(r), 333, 150, sample_threads);
  expect_same_pixels(r, {17.3, 3.1, 55.9, 21.7}, 100, 80, sample_threads);
}

TEST(Sampling, EveryCellIsReadByOneThread) {
  Dice dice(13);
  for (const int cols : {1, 3, 64, 100, 256, 257, 1000}) {
    const Result r = result_of(dice, 40, cols);
    const SampleTask task = task_of(r, Field::a, whole(r), 50, 1);
    std::vector<int> raised(static_cast<std::size_t>(cols));
    for (int thread = 0; thread < sample_threads; ++thread)
      pool_columns(task, 0, thread, sample_threads,
                   [&](int column, std::uint32_t) { ++raised[static_cast<std::size_t>(column)]; });
    const int slices = std::max(1, sample_threads / cols);
    for (const int times : raised) ASSERT_EQ(times, slices) << cols;
  }
}

TEST(Sampling, RanksOrderWhatAPixelPrefers) {
  const float rising[] = {-0.0f, 0.0f, -1e-45f, 1e-45f, -1.0f, 1.0f, -3e38f, 3e38f, -HUGE_VALF, HUGE_VALF, shown_value(nan)};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value_of_rank(rank_of(rising[i]))), std::bit_cast<std::uint32_t>(rising[i]));
    if (i > 0) {
      EXPECT_LT(rank_of(rising[i - 1]), rank_of(rising[i])) << rising[i];
    }
  }
  EXPECT_EQ(rank_of(-0.0f), least_rank);
  EXPECT_GT(rank_of(std::bit_cast<float>(0xff800001U)), rank_of(HUGE_VALF)) << "a negative NaN";
}

TEST(Sampling, ShowsOneNanWhateverItsBits) {
  for (const double x : {nan, -nan, std::bit_cast<double>(0x7ff0000000000001U), std::bit_cast<double>(0xffffffffffffffffU)})
    EXPECT_EQ(std::bit_cast<std::uint32_t>(shown_value(x)), 0x7fc00000U);
}

}  // namespace
}  // namespace attoscope::sampling_test
