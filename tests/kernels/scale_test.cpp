/// Large sizes: stops take effect at once, and memory stays within bounds.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;
using testing::sized_experiment;
using Clock = std::chrono::steady_clock;

/// Allowed time while other programs share the cores; alone it is below 20 ms.
constexpr double patience_ms = testing::sanitized ? 1000 : 100;

/// Milliseconds from a request to stop after `delay` to compute()'s end; below 0 if it ended before the request.
double time_to_stop(const Experiment& e, std::chrono::milliseconds delay) {
  std::atomic<bool> cancelled = false;
  std::atomic<Clock::time_point> asked{};
  std::jthread asker([&] {
    std::this_thread::sleep_for(delay);
    asked = Clock::now();
    cancelled = true;
  });
  try {
    compute(e, {.cancelled = [&] { return cancelled.load(); }});
  } catch (const Stopped&) {
    return std::chrono::duration<double, std::milli>(Clock::now() - asked.load()).count();
  }
  return -1;
}

/// Stops after each of the increasing delays, to interrupt inputs, golden value, a and b.
void expect_quick_stops(const char* what, const Experiment& e, const std::vector<std::chrono::milliseconds>& delays,
                        double limit_ms = patience_ms) {
  double worst = 0;
  for (const auto delay : delays) worst = std::max(worst, time_to_stop(e, delay));
  std::cout << what << ": stopped within " << worst << " ms\n";
  EXPECT_LT(worst, limit_ms) << what;
  EXPECT_GT(worst, 0) << what << " ended before the request to stop";
}

TEST(Cancelling, A16384TokenRunStopsAtOnce) {
  expect_quick_stops("N=16384", sized_experiment(16384, 64), {5ms, 40ms, 150ms, 400ms, 800ms});
}

TEST(Cancelling, EveryAlgorithmStopsAtOnce) {
  for (const Algorithm algorithm : emulated_algorithms) {
    Experiment e = sized_experiment(16384, 64);
    e.problem.rows = 2048;  // golden ends soon, then a begins
    e.a.algorithm = e.b.algorithm = algorithm;
    e.a.block_k = 16384;
    e.a.order = SumOrder::pairwise;
    expect_quick_stops(name(algorithm).data(), e, {100ms, 300ms});
  }
}

TEST(Cancelling, A65536TokenRunStopsSoon) {
  constexpr double limit_ms = 3 * patience_ms;  // compute() first returns half a gigabyte to the system
  Experiment e = sized_experiment(65536, 128);
  e.problem.rows = 64;
  expect_quick_stops("N=65536, d=128, drawing", e, {3ms, 30ms, 60ms}, limit_ms);
  e.problem.rows = 4096;
  expect_quick_stops("N=65536, d=128, 4096 rows", e, {200ms, 400ms, 800ms}, limit_ms);
  e.format = fp64;
  expect_quick_stops("N=65536, d=128, 4096 rows, golden value in double-double", e, {500ms, 1000ms}, limit_ms);
}

/// The peak memory of the process, in bytes.
double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

TEST(Memory, ASubsetOfA65536TokenRunStaysUnder2GiB) {
  if (testing::sanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  Experiment e = sized_experiment(65536, 128);
  e.problem.rows = 64;
  const double before = peak_bytes();
  const Result r = compute(e);
  const double grown = peak_bytes() - before;
  std::cout << "N=65536, d=128, 64 rows: " << grown / (1 << 20) << " MiB in " << r.timing.total << " ms; bytes_needed says "
            << bytes_needed(e, 0) / (1 << 20) << " MiB\n";
  EXPECT_EQ(r.rows.size(), 64u);
  EXPECT_LT(grown, 2.0 * (1u << 30));
  EXPECT_LT(grown, 1.1 * bytes_needed(e, 0));
}

TEST(Memory, TheWholeOfA65536TokenRunIsPromisedToStayUnder2GiB) {
  EXPECT_LT(bytes_needed(sized_experiment(65536, 128), 2), 2.0 * (1u << 30));
}

TEST(Memory, SizesThatCannotFitAreRefusedWithTheBytesTheyNeed) {
  const Experiment e = sized_experiment(max_n, max_d);
  if (bytes_needed(e, 2) < static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)))
    GTEST_SKIP() << "this machine has the memory";
  EXPECT_THAT(testing::message_of<std::runtime_error>([&] { compute(e); }), testing::HasSubstr("bytes"));
}

}  // namespace
}  // namespace attoscope
