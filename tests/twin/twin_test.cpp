// The GPU's code, run by the host in teams of warps that synchronise as on a GPU, has the CPU's bits.

#include <set>

#include "kernels/compute.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/launch_pace.h"
#include "tests/support/matchers.h"
#include "tests/support/same_answer.h"
#include "tests/support/seeds.h"
#include "tests/twin/host_engine.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Options of the host engine; `cache`, if given, keeps answers.
Options on_host_engine(const HostEngineOptions& how, ComputeCache* cache = nullptr) {
  Options options;
  options.cache = cache;
  options.engine = [how] { return std::make_unique<HostEngine>(how); };
  return options;
}

class Twin : public TeamTest {};

TEST_F(Twin, GivesTheCpusAnswerToRandomQuestions) {
  with_seeds(51001, experiments(400), [](Dice& dice) {
    Experiment e = random_experiment(dice);
    if (dice.one_in(3)) make_stochastic(e.a, dice, dice.between(1, 3));
    if (dice.one_in(5)) make_stochastic(e.b, dice, 2);
    const HostEngineOptions how{.seed = dice.bits(),
                                .devices = dice.between(1, 3),
                                .slice_teams = dice.between(1, 3),
                                .warps = warps_of_teams[dice.between(0, 3)],
                                .tile_room = dice.one_in(2) ? 0 : static_cast<std::size_t>(dice.between(0, 100000))};
    SCOPED_TRACE(describe(e));
    const Result result = compute(e, on_host_engine(how));
    EXPECT_EQ(result.device, "run by the host");
    EXPECT_EQ(result.remark, "");
    expect_same_answer(result, compute(e));
  });
}

TEST_F(Twin, GivesTheCpusGradientsAndSaysWhatTheCpuDid) {
  for (const Format& format : {bf16, fp64})
    for (const std::string_view kernel : {"grad_fa2", "grad_cudnn_mxfp8"}) {
      Experiment e = small_experiment(format, 130, 24);
      e.backward.on = true;
      e.backward.b = grad_method(kernel, e.problem.d, e.problem.mask);
      const bool stores = kernel == "grad_cudnn_mxfp8", twice = format == fp64;
      if (stores && twice) continue;  // not in double
      ComputeCache cache;
      const Result result = compute(e, on_host_engine({.seed = 5}, &cache));
      EXPECT_EQ(result.device, "run by the host");
      const std::string expected = stores  ? "The CPU computed the backward pass of b, which stores P or dS with scales."
                                   : twice ? "The CPU computed golden's backward pass, in double-double."
                                           : "";
      EXPECT_EQ(result.remark, expected);
      expect_same_answer(result, compute(e));
    }
}

/// Every algorithm with every policy under every mask, in sizes at the edges of a lane, a warp, a stage and a register tile.
TEST_F(Twin, GivesTheCpusAnswerToEveryAlgorithmPolicyAndMask) {
  static constexpr Format formats[] = {bf16, fp16, e4m3, fp32, tf32, fp64};
  static constexpr int sizes[] = {1, 2, 15, 31, 33, 63, 65, 127, 129, 191}, dimensions[] = {1, 15, 16, 17, 31, 33, 40};
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 20}, {Mask::Kind::padding, 9}};
  int i = 0;
  for (const Algorithm algorithm : emulated_algorithms)
    for (const auto& policy : policies())
      for (const Mask& mask : masks) {
        if (sanitized && ++i % 8 != 0) continue;
        ++i;
        Experiment e = small_experiment(formats[i % 6], sizes[i % 10], dimensions[i % 7]);
        e.problem.mask = mask;
        e.a.algorithm = algorithm;
        e.a.precision = policy.precision;
        e.a.block_k = 1 + i % 70;
        SCOPED_TRACE(describe(e));
        expect_same_answer(compute(e, on_host_engine({.seed = static_cast<std::uint64_t>(i), .slice_teams = 1 + i % 2})),
                           compute(e));
        if (HasFailure()) return;
      }
  EXPECT_GE(i, 200);
}

TEST_F(Twin, SlicesAndSharesOfSeveralGpusChangeNothing) {
  Experiment e = small_experiment(bf16, 400, 24);
  e.problem.mask = {Mask::Kind::causal, 1};
  const Result whole = compute(e);
  for (const int devices : {1, 2, 3, 7})
    for (const int slice_teams : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(devices) + " devices, slices of " + std::to_string(slice_teams));
      expect_same_answer(compute(e, on_host_engine({.devices = devices, .slice_teams = slice_teams})), whole);
    }
}

/// Cuts launches at every key chunk and finer, for methods that carry state from one key to the next.
TEST_F(Twin, WhereTheWayIsCutChangesNothing) {
  static constexpr SumOrder orders[] = {SumOrder::sequential, SumOrder::interleaved, SumOrder::pairwise};
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 50}, {Mask::Kind::padding, 70}};
  static constexpr int sizes[] = {1, 65, 130, 150}, tiles[] = {1, 7, 64, 100, 150};
  Dice dice(8);
  int launches = 0, most = 0;
  for (int i = 0; i < experiments(80); ++i) {
    Experiment e = random_experiment(dice);
    e.format = i % 5 == 0 ? fp64 : bf16;
    e.problem.n = sizes[dice.between(0, 3)];
    e.problem.d = dice.between(1, 20);
    e.problem.input = Input{};
    e.problem.input.kind = dice.one_in(2) ? InputKind::normal : InputKind::ties;
    e.problem.rows = 0;
    e.problem.traced_row = -1;
    e.problem.mask = masks[i % 4];
    e.a.algorithm = emulated_algorithms[static_cast<std::size_t>(i) % emulated_algorithms.size()];
    e.a.block_k = tiles[dice.between(0, 4)];
    e.a.order = orders[dice.between(0, 2)];
    e.a.kahan_l = dice.one_in(4);
    e.a.tie_beta = dice.one_in(3) ? 2 : 0;
    if (dice.one_in(3)) make_stochastic(e.a, dice, 3);
    drop_impossible_accumulators(e);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(e));
    launches = 0;
    const int parts = i % 3 == 0 ? 0 : (i % 20 == 1 ? 150 : dice.between(2, 30));
    const HostEngineOptions how{.seed = dice.bits(),
                                .slice_teams = dice.between(1, 3),
                                .warps = warps_of_teams[i % 4],
                                .tile_room = dice.one_in(2) ? 0u : 20000u,
                                .parts = parts,
                                .launches = &launches};
    expect_same_answer(compute(e, on_host_engine(how)), compute(e));
    most = std::max(most, launches);
    if (HasFailure()) return;
  }
  EXPECT_GE(most, 200);
}

/// Stops between any two launches of work that is split into dozens of launches.
TEST_F(Twin, StopsBetweenAnyTwoLaunches) {
  Experiment e = small_experiment(bf16, 130, 8);
  const Result whole = compute(e);
  int launches = 0;
  Options options = on_host_engine({.parts = 12, .launches = &launches});
  compute(e, options);
  const int all = launches;
  EXPECT_GE(all, 30);
  for (int stop_at = 1; stop_at < all; stop_at += sanitized ? 17 : 1) {
    ComputeCache cache;
    options.cache = &cache;
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
  ComputeCache cache;
  int runs = 0;
  Options options = on_host_engine({.runs = &runs}, &cache);
  Dice dice(77);
  Experiment e = small_experiment(bf16, 130, 20);
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

/// A new array may get the address of a freed array: here an array is refilled with other numbers.
TEST_F(Twin, NewNumbersAtAnOldAddressAreCopiedAgain) {
  const Experiment e = small_experiment(bf16, 40, 8);
  const std::vector<int> rows = computed_rows(e.problem);
  const auto drawn = [&](std::uint64_t seed) {
    Problem p = e.problem;
    p.seed = seed;
    return operands<float>(*raw_inputs(p), to_main, bf16, seed);
  };
  Operands<float> x = drawn(1);
  int copies = 0;
  HostEngine engine({.copies = &copies});
  const auto on_engine = [&](std::uint64_t generation) {
    engine.run(job(e.problem, e.a, e.format, x), generation, rows, Output::a, nullptr, nullptr, {});
    engine.send(Output::a);
    return engine.output(Output::a).values;
  };
  const auto on_cpu = [&] { return run(job(e.problem, e.a, e.format, x), rows, nullptr, {}).values; };

  const std::vector<double> first = on_cpu();
  EXPECT_EQ(on_engine(1), first);
  EXPECT_EQ(copies, 3);
  const float* const place = x.q.data();
  const auto fill = [&](const Operands<float>& other) { x = other; };  // copies, which keeps the arrays' addresses
  fill(drawn(2));
  ASSERT_EQ(x.q.data(), place);
  const std::vector<double> second = on_cpu();
  ASSERT_NE(second, first);
  EXPECT_EQ(on_engine(1), first) << "the copies of one generation are used again";
  EXPECT_EQ(copies, 3);
  EXPECT_EQ(on_engine(2), second);
  EXPECT_EQ(copies, 6);
  fill(drawn(3));
  const std::vector<double> third = on_cpu();
  EXPECT_EQ(on_engine(0), third);
  EXPECT_EQ(on_engine(0), third);
  EXPECT_EQ(copies, 12) << "inputs without a generation are copied in every run";
  EXPECT_EQ(on_engine(2), second) << "copies without a generation replace no others";
  EXPECT_EQ(copies, 12);
}

TEST_F(Twin, InputsAreCopiedOnceForEveryAnswerAboutThem) {
  ComputeCache cache;
  int copies = 0;
  Options options = on_host_engine({.copies = &copies}, &cache);
  const auto copied = [&](const Experiment& e) {
    const int before = copies;
    compute(e, options);
    return copies - before;
  };
  Experiment e = small_experiment(bf16, 70, 12);
  EXPECT_EQ(copied(e), 6) << "in double for the golden value, in float for a and b";
  e.a.block_k = 7;
  EXPECT_EQ(copied(e), 0);
  e.a.reverse_keys = true;
  EXPECT_EQ(copied(e), 3);
  e.a.reverse_keys = false;
  EXPECT_EQ(copied(e), 0);
  e.problem.seed = 2;
  EXPECT_EQ(copied(e), 6);
  e.problem.seed = 1;
  EXPECT_EQ(copied(e), 6);
}

TEST_F(Twin, ErrorsOfManyMethodsAreTheCpus) {
  const Experiment e = small_experiment(fp16, 90, 18);
  std::vector<Method> methods(3, e.a);
  methods[1].reverse_keys = true;
  methods[2].precision = policies()[0].precision;
  const std::vector<Deviation> mine = errors_of(e, methods, on_host_engine({})), cpus = errors_of(e, methods);
  ASSERT_EQ(mine.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_same_errors(mine[i], cpus[i]);
}

TEST_F(Twin, AnUpdateWaitsOnce) {
  int waits = 0;
  ComputeCache cache;
  Options options = on_host_engine({.waits = &waits}, &cache);
  Experiment e = small_experiment(bf16, 70, 12);
  for (int update = 1; update <= 3; ++update) {
    if (update == 2) ++e.problem.seed;
    if (update == 3) e.b.block_k += 1;
    expect_same_answer(compute(e, options), compute(e));
    EXPECT_EQ(waits, update);
  }
}

/// An answer returns matrices, errors alone return none; data that no panel shows is not computed.
TEST_F(Twin, OnlyWhatIsShownComesBack) {
  int sent = 0;
  ComputeCache cache;
  Options options = on_host_engine({.sent = &sent}, &cache);
  Experiment e = small_experiment(bf16, 70, 12);
  const Result all = compute(e);
  options.wanted = {.wasserstein = false, .trace = false};
  const Result part = compute(e, options);
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(part.holds, options.wanted);
  EXPECT_TRUE(std::isnan(part.a_error.wasserstein) && std::isnan(part.b_error.wasserstein) &&
              std::isnan(part.a_minus_b.wasserstein));
  EXPECT_TRUE(part.trace.tiles.empty());
  EXPECT_EQ(part.trace.row, all.trace.row);
  EXPECT_EQ(part.digests.a, all.digests.a);
  EXPECT_EQ(part.a_error.mean_abs, all.a_error.mean_abs);
  EXPECT_EQ(part.rescales.per_tile, all.rescales.per_tile);
  options.wanted = {};
  expect_same_answer(compute(e, options), all);
  EXPECT_EQ(sent, 5) << "the golden value is here already";
  const std::vector<Method> methods(4, e.a);
  expect_same_errors(errors_of(e, methods, options).front(), errors_of(e, methods).front());
  EXPECT_EQ(sent, 5) << "a table of errors reads no matrix";
}

TEST_F(Twin, TheCpuTakesOverWheneverTheGpuGivesUp) {
  Experiment e = small_experiment(bf16, 70, 12);
  const Result whole = compute(e);
  int failed = 0;
  for (int call = 0; call < 400; ++call) {
    ComputeCache cache;
    Options options = on_host_engine({.parts = 6, .fails_at = call}, &cache);
    const Result result = compute(e, options);
    SCOPED_TRACE("call " + std::to_string(call));
    expect_same_answer(result, whole);
    if (result.remark.empty()) break;
    ++failed;
    EXPECT_EQ(result.remark, "The GPU was lost. The CPU took over.");
    EXPECT_EQ(result.device, device_name());
    options.engine = on_host_engine({}).engine;
    expect_same_answer(compute(e, options), whole);  // the cache is still good
  }
  EXPECT_GE(failed, 20);
}

TEST_F(Twin, AutoLeavesFewRowsToTheCpu) {
  ComputeCache cache;
  Options options = on_host_engine({}, &cache);
  options.device = "auto";
  const auto device_of = [&](int n) {
    Experiment e = small_experiment(bf16, n, 16);
    e.problem.rows = 32;
    const Result result = compute(e, options);
    expect_same_answer(result, compute(e));
    EXPECT_EQ(result.remark, "");
    return result.device;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(device_of(511), device_name());
    EXPECT_EQ(device_of(512), "run by the host");
  }
}

TEST_F(Twin, StopsWhenAsked) {
  int asked = 0;
  Options options = on_host_engine({});
  options.cancelled = [&] { return ++asked > 60; };
  EXPECT_THROW(compute(small_experiment(bf16, 400, 16), options), Stopped);
}

TEST_F(Twin, LanesThatMissABarrierAreNoticed) {
  if (sanitized) GTEST_SKIP() << "sanitizers do not support these stacks";
  HostTeam warp(1);
  EXPECT_THROW(warp.run([](const simt_host::LaneGroup& group) {
    if (group.lane() != 5) group.sync();
  }),
               std::logic_error);
}

TEST(Teams, EveryRowHasOneLane) {
  for (int count = 1; count < 300; count += 7) {
    std::vector<int> rows(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = 3 * i;
    std::multiset<int> taken;
    const simt_host::RowSlice slice{rows.data(), count, 1000};
    for (int team = 0; team < simt_host::teams_of(count); ++team)
      for (int lane = 0; lane < simt_host::warp_lanes; ++lane) {
        const RowBlock block = simt_host::lane_row(slice, team, lane);
        EXPECT_EQ(block.row_of(0) % 3, 0);
        if (block.count == 0) continue;
        taken.insert(block.rows[0]);
        EXPECT_EQ(block.rows[0], 3 * (block.first - 1000));
      }
    EXPECT_EQ(taken, std::multiset<int>(rows.begin(), rows.end()));
  }
}

/// The time of a launch on a GPU with `ms` for 1000 units of work of a round of blocks.
float taken(double ms, int blocks, std::int64_t distance) {
  return static_cast<float>(ms * ((blocks - 1) / 132 + 1) * static_cast<double>(distance) / 1000);
}

TEST(LaunchPace, StaysBelowTheLimitOnceItKnows) {
  for (const double ms : {1e-7, 1e-5, 1e-3, 0.05, 0.4})
    for (const WorkEstimate& estimate : {WorkEstimate{2000, 500}, WorkEstimate{1000000, 4096}, WorkEstimate{400000000, 8192}}) {
      LaunchPace pace(132, 8, 5, estimate);
      for (int launch = 0; launch < 40; ++launch) {
        const int blocks = pace.blocks();
        const std::int64_t distance = pace.distance(blocks);
        ASSERT_GE(blocks, 132) << "as many as the GPU runs at once cost no more than one";
        ASSERT_GE(distance, estimate.item);
        if (launch > 25 && taken(ms, 1, estimate.item) < 5) {
          EXPECT_LE(taken(ms, blocks, std::min(distance, estimate.whole)), 5) << ms << " " << estimate.whole;
        }
        pace.took(blocks, std::min(distance, estimate.whole), taken(ms, blocks, std::min(distance, estimate.whole)));
      }
    }
}

TEST(LaunchPace, SplitsTheWorkBeforeItTakesFewerRowsThanAGpuHolds) {
  LaunchPace pace(100, 8, 5, {1000000000, 100});
  EXPECT_EQ(pace.blocks(), 800);
  EXPECT_LT(pace.distance(800), 100000) << "the first launch of an unknown kernel is a small one";
  pace.took(800, pace.distance(800), 50);
  EXPECT_EQ(pace.blocks(), 800);
}

TEST(LaunchPace, ASmallRestTellsNothing) {
  LaunchPace pace(100, 8, 5, {1000000, 1000});
  const std::int64_t distance = pace.distance(100);
  pace.took(3, 1, 0.01f);
  EXPECT_EQ(pace.distance(100), distance);
}

TEST(Launches, PartsFollowEachOtherAndRowsAreCountedOnce) {
  struct Counter final : StopSign {
    void report_rows(std::size_t rows) const override { all += static_cast<int>(rows); }
    mutable int all = 0;
  };
  for (const std::int64_t work : {1, 999, 1000, 70001}) {
    const Counter counter;
    std::vector<std::int64_t> done(517);
    in_launches(517, 64, 5, {2, 8, 5, {work, 10}, 1000}, counter, [&](const LaunchPart& part) {
      EXPECT_LE(part.rows, 64 * part.blocks);
      EXPECT_GT(part.rows, 64 * (part.blocks - 1));
      for (int row = part.first; row < part.first + part.rows; ++row) {
        EXPECT_EQ(done[static_cast<std::size_t>(row)], part.range.from);
        done[static_cast<std::size_t>(row)] = part.range.to;
      }
      return LaunchEnd{part.range.to < work ? part.range.to + 1 : work, 0.1f};
    });
    EXPECT_THAT(done, ::testing::Each(::testing::Ge(work)));
    EXPECT_EQ(counter.all, 517);
  }
}

}  // namespace
}  // namespace attoscope
