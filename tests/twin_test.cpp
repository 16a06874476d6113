// The GPU's code, run by the host in warps of 32 lanes that meet as a GPU's do: the CPU's answer, to the last bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/compute.h"
#include "kernels/launch_pace.h"
#include "kernels/presets.h"
#include "tests/host_engine.h"
#include "tests/same_answer.h"
#include "tests/support.h"

namespace attoscope {
namespace {

using testing::describe;
using testing::Dice;
using testing::expect_same_answer;
using testing::expect_same_errors;
using testing::experiments;
using testing::HostEngine;
using testing::HostWarp;
using testing::same;
using testing::Walk;

Options walked(const Walk& walk) {
  Options options;
  options.engine = [walk] { return std::make_unique<HostEngine>(walk); };
  return options;
}

class Twin : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "stacks that are switched by hand are unknown to this sanitizer";
#endif
  }
};

TEST_F(Twin, GivesTheCpusAnswerToRandomQuestions) {
  for (int seed = 1; seed <= experiments(400); ++seed) {
    Dice dice(static_cast<std::uint64_t>(51000 + seed));
    Experiment e = testing::random_experiment(dice);
    if (dice.one_in(3)) testing::make_stochastic(e.a, dice, dice.between(1, 3));
    if (dice.one_in(5)) testing::make_stochastic(e.b, dice, 2);
    const Walk walk{.seed = dice.bits(), .devices = dice.between(1, 3), .slice_warps = dice.between(1, 3)};
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    const Result result = compute(e, walked(walk));
    EXPECT_EQ(result.device, "walked by the host");
    EXPECT_EQ(result.remark, "");
    expect_same_answer(result, compute(e));
    if (HasFailure()) return;
  }
}

/// Every algorithm with every policy under every mask, in sizes at the edges of a lane, a warp, a stage and a register tile.
TEST_F(Twin, GivesTheCpusAnswerToEveryAlgorithmPolicyAndMask) {
  static constexpr Format formats[] = {bf16, fp16, e4m3, fp32, tf32, fp64};
  static constexpr int sizes[] = {1, 2, 15, 31, 33, 63, 65, 127, 129, 191}, dimensions[] = {1, 15, 16, 17, 31, 33, 40};
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 20}, {Mask::Kind::padding, 9}};
  int i = 0;
  for (int algorithm = 0; algorithm < emulated_count; ++algorithm)
    for (const auto& policy : policies())
      for (const Mask& mask : masks) {
        if (testing::sanitized && ++i % 8 != 0) continue;
        ++i;
        Experiment e = testing::small_experiment(formats[i % 6], sizes[i % 10], dimensions[i % 7]);
        e.problem.mask = mask;
        e.a.algorithm = static_cast<Algorithm>(algorithm);
        e.a.precision = policy.precision;
        e.a.block_k = 1 + i % 70;
        SCOPED_TRACE(describe(e));
        expect_same_answer(compute(e, walked({.seed = static_cast<std::uint64_t>(i), .slice_warps = 1 + i % 2})), compute(e));
        if (HasFailure()) return;
      }
  EXPECT_GE(i, 200);
}

TEST_F(Twin, SlicesAndSharesOfSeveralGpusChangeNothing) {
  Experiment e = testing::small_experiment(bf16, 400, 24);
  e.problem.mask = {Mask::Kind::causal, 1};
  const Result whole = compute(e);
  for (const int devices : {1, 2, 3, 7})
    for (const int slice_warps : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(devices) + " devices, slices of " + std::to_string(slice_warps));
      expect_same_answer(compute(e, walked({.devices = devices, .slice_warps = slice_warps})), whole);
    }
}

/// Cuts at every key chunk and finer, of methods that keep anything from one key to the next.
TEST_F(Twin, WhereTheWayIsCutChangesNothing) {
  static constexpr SumOrder orders[] = {SumOrder::sequential, SumOrder::interleaved, SumOrder::pairwise};
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 50}, {Mask::Kind::padding, 70}};
  static constexpr int sizes[] = {1, 65, 130, 150}, tiles[] = {1, 7, 64, 100, 150};
  Dice dice(8);
  int launches = 0, most = 0;
  for (int i = 0; i < experiments(80); ++i) {
    Experiment e = testing::random_experiment(dice);
    e.format = i % 5 == 0 ? fp64 : bf16;
    e.problem.n = sizes[dice.between(0, 3)];
    e.problem.d = dice.between(1, 20);
    e.problem.input = Input{};
    e.problem.input.kind = dice.one_in(2) ? InputKind::normal : InputKind::ties;
    e.problem.rows = 0;
    e.problem.traced_row = -1;
    e.problem.mask = masks[i % 4];
    e.a.algorithm = static_cast<Algorithm>(i % emulated_count);
    e.a.block_k = tiles[dice.between(0, 4)];
    e.a.order = orders[dice.between(0, 2)];
    e.a.kahan_l = dice.one_in(4);
    e.a.tie_beta = dice.one_in(3) ? 2 : 0;
    if (dice.one_in(3)) testing::make_stochastic(e.a, dice, 3);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(e));
    launches = 0;
    const int parts = i % 3 == 0 ? 0 : (i % 20 == 1 ? 150 : dice.between(2, 30));
    const Walk walk{.seed = dice.bits(), .slice_warps = dice.between(1, 3), .parts = parts, .launches = &launches};
    expect_same_answer(compute(e, walked(walk)), compute(e));
    most = std::max(most, launches);
    if (HasFailure()) return;
  }
  EXPECT_GE(most, 200);
}

/// Between any two launches of ways that are cut into dozens.
TEST_F(Twin, StopsBetweenAnyTwoLaunches) {
  Experiment e = testing::small_experiment(bf16, 130, 8);
  const Result whole = compute(e);
  int launches = 0;
  Options options = walked({.parts = 12, .launches = &launches});
  compute(e, options);
  const int all = launches;
  EXPECT_GE(all, 30);
  for (int stop_at = 1; stop_at < all; stop_at += testing::sanitized ? 17 : 1) {
    Memory memory;
    options.memory = &memory;
    launches = 0;
    options.cancelled = [&] { return launches >= stop_at; };
    EXPECT_THROW(compute(e, options), Stopped) << stop_at;
    EXPECT_EQ(launches, stop_at);
    if (stop_at % 10 != 0) continue;
    options.cancelled = {};
    expect_same_answer(compute(e, options), whole);
  }
}

TEST_F(Twin, RemembersGoldenValueAndInputsOnlyWhileTheyAreTheQuestions) {
  Memory memory;
  int runs = 0;
  Options options = walked({.runs = &runs});
  options.memory = &memory;
  Dice dice(77);
  Experiment e = testing::small_experiment(bf16, 130, 20);
  for (int step = 0; step < experiments(40); ++step) {
    switch (dice.between(0, 5)) {
      case 0:
        e.a.block_k = dice.between(1, 60);
        break;
      case 1:
        e.problem.seed = static_cast<std::uint64_t>(dice.between(1, 3));
        break;
      case 2:
        e.a.reverse_keys = !e.a.reverse_keys;
        break;
      case 3:
        e.b.precision[Step::input] = to_format(dice.one_in(2) ? e4m3 : fp16);
        break;
      case 4:
        e.format = dice.one_in(2) ? bf16 : fp64;
        break;
      default:
        e.problem.n = dice.between(100, 140);
        break;
    }
    SCOPED_TRACE("step " + std::to_string(step) + ": " + describe(e));
    expect_same_answer(compute(e, options), compute(e));
    if (HasFailure()) return;
  }
  runs = 0;
  e.format = bf16;
  compute(e, options);
  runs = 0;
  e.a.block_k = 61;
  compute(e, options);
  EXPECT_EQ(runs, 2) << "a and b, not the golden value";
}

TEST_F(Twin, ErrorsOfManyMethodsAreTheCpus) {
  const Experiment e = testing::small_experiment(fp16, 90, 18);
  std::vector<Method> methods(3, e.a);
  methods[1].reverse_keys = true;
  methods[2].precision = policies()[0].precision;
  const std::vector<Deviation> mine = errors_of(e, methods, walked({})), cpus = errors_of(e, methods);
  ASSERT_EQ(mine.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_same_errors(mine[i], cpus[i]);
}

TEST_F(Twin, TheCpuTakesOverWheneverTheGpuGivesUp) {
  Experiment e = testing::small_experiment(bf16, 70, 12);
  const Result whole = compute(e);
  int failed = 0;
  for (int call = 0; call < 400; ++call) {
    Memory memory;
    Options options = walked({.parts = 6, .fails_at = call});
    options.memory = &memory;
    const Result result = compute(e, options);
    SCOPED_TRACE("call " + std::to_string(call));
    expect_same_answer(result, whole);
    if (result.remark.empty()) break;
    ++failed;
    EXPECT_EQ(result.remark, "The GPU was lost. The CPU took over.");
    EXPECT_EQ(result.device, device_name());
    options.engine = walked({}).engine;
    expect_same_answer(compute(e, options), whole);  // what the memory kept is no worse for it
  }
  EXPECT_GE(failed, 20);
}

TEST_F(Twin, StopsWhenAsked) {
  int asked = 0;
  Options options = walked({});
  options.cancelled = [&] { return ++asked > 60; };
  EXPECT_THROW(compute(testing::small_experiment(bf16, 400, 16), options), Stopped);
}

TEST_F(Twin, LanesThatDoNotMeetAreNoticed) {
  HostWarp warp(1);
  EXPECT_THROW(warp.run([](const simt_walk::Crew& crew) {
    if (crew.lane() != 5) crew.sync();
  }),
               std::logic_error);
}

TEST(Warps, EveryRowHasOneLane) {
  for (const int rows_of_lane : {1, 2})
    for (int count = 1; count < 300; count += 7) {
      std::vector<int> rows(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = 3 * i;
      std::multiset<int> taken;
      const simt_walk::RowSlice slice{rows.data(), count, 1000};
      for (int warp = 0; warp < simt_walk::warps_of(count, rows_of_lane); ++warp)
        for (int lane = 0; lane < simt_walk::warp_lanes; ++lane) {
          const RowBlock block = simt_walk::lane_rows(slice, rows_of_lane, warp, lane);
          EXPECT_GE(block.row_of(0), 0);
          EXPECT_EQ(block.row_of(rows_of_lane) % 3, 0);
          for (int i = 0; i < block.count; ++i) {
            taken.insert(block.rows[i]);
            EXPECT_EQ(block.rows[i], 3 * (block.first + i - 1000));
          }
        }
      EXPECT_EQ(taken, std::multiset<int>(rows.begin(), rows.end()));
    }
}

/// A GPU that takes `ms` for a round of warps to go 1000 on.
float taken(double ms, int warps, std::int64_t distance) {
  return static_cast<float>(ms * ((warps - 1) / 132 + 1) * static_cast<double>(distance) / 1000);
}

TEST(LaunchPace, StaysBelowTheLimitOnceItKnows) {
  for (const double ms : {1e-7, 1e-5, 1e-3, 0.05, 0.4})
    for (const Way& way : {Way{2000, 500}, Way{1000000, 4096}, Way{400000000, 8192}}) {
      LaunchPace pace(132, 5, way);
      for (int launch = 0; launch < 40; ++launch) {
        const int warps = pace.warps();
        const std::int64_t distance = pace.distance(warps);
        ASSERT_GE(warps, 132) << "as many as the GPU runs at once cost no more than one";
        ASSERT_GE(distance, way.step);
        if (launch > 25 && taken(ms, 1, way.step) < 5) {
          EXPECT_LE(taken(ms, warps, std::min(distance, way.whole)), 5) << ms << " " << way.whole;
        }
        pace.took(warps, std::min(distance, way.whole), taken(ms, warps, std::min(distance, way.whole)));
      }
    }
}

TEST(LaunchPace, CutsTheWayBeforeItTakesFewerRowsThanAGpuHolds) {
  LaunchPace pace(100, 5, {1000000000, 100});
  EXPECT_EQ(pace.warps(), 800);
  EXPECT_LT(pace.distance(800), 100000) << "the first launch of an unknown kernel is a small one";
  pace.took(800, pace.distance(800), 50);
  EXPECT_EQ(pace.warps(), 800);
}

TEST(LaunchPace, ASmallRestTellsNothing) {
  LaunchPace pace(100, 5, {1000000, 1000});
  const std::int64_t distance = pace.distance(100);
  pace.took(3, 1, 0.01f);
  EXPECT_EQ(pace.distance(100), distance);
}

TEST(Launches, PartsMeetAndRowsAreToldOnce) {
  struct Told final : StopSign {
    void did(std::size_t rows) const override { all += static_cast<int>(rows); }
    mutable int all = 0;
  };
  for (const std::int64_t way : {1, 999, 1000, 70001}) {
    const Told told;
    std::vector<std::int64_t> gone(517);
    in_launches(517, 64, 5, {2, 5, {way, 10}, 1000}, told, [&](const LaunchPart& part) {
      EXPECT_LE(part.rows, 64 * part.warps);
      EXPECT_GT(part.rows, 64 * (part.warps - 1));
      for (int row = part.first; row < part.first + part.rows; ++row) {
        EXPECT_EQ(gone[static_cast<std::size_t>(row)], part.window.from);
        gone[static_cast<std::size_t>(row)] = part.window.to;
      }
      return LaunchEnd{part.window.to < way ? part.window.to + 1 : way, 0.1f};
    });
    EXPECT_THAT(gone, ::testing::Each(::testing::Ge(way)));
    EXPECT_EQ(told.all, 517);
  }
}

}  // namespace
}  // namespace attoscope
