// One method under several schedules: the counts equal counts of outputs computed one by one, and a row first differs in the
// tile that causes the difference.
#include "kernels/questions/invariance.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/csv_text.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

/// One query over many keys; a is flash2 with 64 keys a tile.
Experiment decode(int keys, const char* rounding = "hw") {
  Experiment e{.problem = {.n = 1, .n_k = keys, .d = 16, .d_v = 8}};
  e.a.precision = policy(rounding).precision;
  return e;
}

/// Applies a schedule to a method without the functions under test.
Method by_hand(Method m, const Schedule& s) {
  m.algorithm = s.splits == 1 ? Algorithm::flash2 : Algorithm::split_kv;
  m.splits = s.splits == 1 ? m.splits : s.splits;
  m.block_k = s.block_k;
  m.reverse_keys = s.reverse_keys;
  m.accumulator = s.accumulator;
  return m;
}

Result computed_alone(const Experiment& e, const Schedule& s) {
  Experiment own = e;
  own.b = own.a = by_hand(e.a, s);
  return compute(own);
}

std::int64_t differing(const Matrix& x, const Matrix& y, int first_row, int rows) {
  std::int64_t count = 0;
  for (int i = first_row * x.cols; i < (first_row + rows) * x.cols; ++i)
    count += std::memcmp(&x.values[static_cast<std::size_t>(i)], &y.values[static_cast<std::size_t>(i)], sizeof(double)) != 0;
  return count;
}

/// Expects the counts that outputs computed one by one have; returns the number of schedules with other bits.
int expect_as_computed_alone(const Experiment& e) {
  const Invariance found = invariance(e);
  const Result reference = computed_alone(e, found.runs[0].schedule);
  const auto row = static_cast<int>(std::ranges::find(reference.rows, found.row) - reference.rows.begin());
  std::set<std::uint64_t> digests;
  int other = 0;
  for (const ScheduleRun& run : found.runs) {
    const Result alone = computed_alone(e, run.schedule);
    SCOPED_TRACE(schedule_text(run.schedule));
    EXPECT_EQ(run.digest, alone.digests.a);
    EXPECT_EQ(run.differing, differing(reference.a, alone.a, 0, reference.a.rows));
    EXPECT_EQ(run.differing_in_row, differing(reference.a, alone.a, row, 1));
    EXPECT_EQ(run.max_error, alone.a_error.max_abs);
    EXPECT_EQ(run.same_bits(), alone.digests.a == reference.digests.a);
    EXPECT_EQ(run.place == PartingPlace::nowhere, run.differing_in_row == 0);
    EXPECT_EQ(run.max_ulp > 0, run.differing > 0);
    digests.insert(run.digest);
    other += !run.same_bits();
  }
  EXPECT_EQ(found.groups.size(), digests.size());
  return other;
}

TEST(Invariance, EveryScheduleIsAsComputedAlone) {
  EXPECT_GT(expect_as_computed_alone(decode(300, "eager")), 0);
  EXPECT_GT(expect_as_computed_alone(decode(257, "exact")), 0);
  Experiment rows = decode(200, "tile");
  rows.problem.n = 70;
  rows.problem.mask.kind = Mask::Kind::causal;
  rows.problem.traced_row = 41;
  EXPECT_GT(expect_as_computed_alone(rows), 0);
  rows.problem.rows = 9;
  EXPECT_GT(expect_as_computed_alone(rows), 0);
}

TEST(Invariance, WorksInDoubleAndWithTensorCores) {
  Experiment wide = decode(200, "all_tile");
  wide.format = fp64;
  EXPECT_GT(expect_as_computed_alone(wide), 0);
  Experiment cores = decode(256);
  cores.format = fp16;
  cores.a.precision[Step::output] = exact;  // rounding would hide small differences
  cores.a.accumulator = {Accumulator::h100, Accumulator::h100};
  EXPECT_GT(expect_as_computed_alone(cores), 0);
}

TEST(Invariance, LargestUlpsAreThoseOfTheDifference) {
  const Experiment e = decode(256, "eager");
  const Invariance found = invariance(e);
  const Schedule& other = found.runs.back().schedule;
  Experiment pair = e;
  pair.b = by_hand(e.a, other);
  EXPECT_EQ(found.runs.back().max_ulp, compute(pair).a_minus_b.max_ulp);
}

/// 256 keys with P = 1 everywhere and a V whose sums are all exact, as are the means of equally many keys.
Experiment exact_sums() {
  Experiment e = decode(256, "exact");
  e.format = fp32;
  Tensors t = Tensors::shaped({1, 256, 16, 8});
  t.q.assign(16, 0);
  t.k.assign(256 * 16, 1);
  for (int i = 0; i < 256 * 8; ++i) t.v.push_back(i * 7 % 33 - 16);
  e.problem.input = testing::given(std::move(t));
  return e;
}

TEST(Invariance, ExactSumsGiveTheSameBitsInAnyOrder) {
  const Invariance found = invariance(exact_sums());
  EXPECT_EQ(found.runs.size(), 18u);  // splits 1 to 8, 1 to 4 and 1 and 2, both orders
  for (const ScheduleRun& run : found.runs) {
    EXPECT_TRUE(run.same_bits()) << schedule_text(run.schedule);
    EXPECT_EQ(parting_text(run), "");
  }
  EXPECT_THAT(found.groups, ::testing::SizeIs(1));
  EXPECT_EQ(invariance_sentence(found), "18 of 18 schedules give the bits of " + schedule_text(found.runs[0].schedule) +
                                            " in the computed rows of these tensors.");
}

/// exact_sums() with another V of keys 64 .. 127, whose sum depends on the place where it is split.
Experiment inexact_tile() {
  Experiment e = exact_sums();
  Tensors t = *e.problem.input.tensors;
  for (int key = 64; key < 128; ++key)
    for (int c = 0; c < 8; ++c) t.v[static_cast<std::size_t>(key * 8 + c)] = key == 64 ? 0x1p24 : key == 127 ? -0x1p24 : 1;
  e.problem.input = testing::given(std::move(t));
  return e;
}

const ScheduleRun& run_under(const Invariance& found, int splits, int block_k, bool reverse_keys = false) {
  for (const ScheduleRun& run : found.runs)
    if (run.schedule.splits == splits && run.schedule.block_k == block_k && run.schedule.reverse_keys == reverse_keys)
      return run;
  throw std::runtime_error("no such schedule");
}

TEST(Invariance, RowPartsInTheTileInWhichTheSumsDiffer) {
  const Invariance found = invariance(inexact_tile());
  const ScheduleRun& half = run_under(found, 1, 32);
  EXPECT_EQ(half.differing_in_row, 8);
  ASSERT_EQ(half.place, PartingPlace::tile);
  EXPECT_EQ(half.parting.parting->tile, 3);
  EXPECT_EQ(half.parting.parting->quantity, "O");
  EXPECT_EQ(half.parting.seen.first, 0);
  EXPECT_EQ(half.parting.seen.end, 128);
  EXPECT_EQ(half.parting.common, 2) << "after 64 keys, and after 128";
  EXPECT_EQ(parting_text(half), "O after tile 3, keys 0 .. 127");
  EXPECT_TRUE(run_under(found, 4, 64).same_bits()) << "each run is a tile, and the means of runs add up exactly";
}

TEST(Invariance, MergeAloneAndReversedKeysAreSaid) {
  const Invariance found = invariance(decode(512, "exact"));
  const ScheduleRun& halves = run_under(found, 2, 64);
  EXPECT_GT(halves.differing_in_row, 0);
  EXPECT_EQ(halves.place, PartingPlace::merge);
  EXPECT_EQ(halves.parting.common, 4) << "the first run";
  EXPECT_EQ(parting_text(halves), "only in the merge of splits");
  const ScheduleRun& reversed = run_under(found, 1, 64, true);
  ASSERT_EQ(reversed.place, PartingPlace::tile);
  EXPECT_EQ(reversed.parting.common, 1) << "the state of all keys";
  EXPECT_EQ(reversed.parting.seen.end - reversed.parting.seen.first, 512);
  const ScheduleRun& reversed_halves = run_under(found, 2, 64, true);
  EXPECT_NE(reversed_halves.place, PartingPlace::nowhere);
}

TEST(Invariance, ASingleSplitIsFlash2AndASplitMethodIsItsOwnReference) {
  Experiment e = decode(300, "eager");
  const std::uint64_t flash2 = compute(e).digests.a;
  e.a.algorithm = Algorithm::split_kv;
  e.a.splits = 1;
  EXPECT_EQ(compute(e).digests.a, flash2);
  EXPECT_EQ(invariance(e).runs[0].digest, flash2);
  e.a.splits = 4;
  const Invariance found = invariance(e);
  EXPECT_EQ(found.runs[0].schedule.splits, 4);
  EXPECT_EQ(found.runs[0].digest, compute(e).digests.a);
  EXPECT_EQ(run_under(found, 1, 64).digest, flash2);
}

TEST(Invariance, NothingDependsOnMethodBAndOnTheBackwardPass) {
  const Experiment e = decode(200);
  Experiment other = with_backward(e);
  other.b.algorithm = Algorithm::flash4;
  EXPECT_EQ(invariance_question(e), invariance_question(other));
}

TEST(Invariance, SentenceCountsThoseWithTheBitsOfTheFirst) {
  const Invariance found =
      invariance(inexact_tile(), schedules(inexact_tile(), {.splits = {1, 4}, .block_k = {64, 32}, .reverse_keys = {false}}));
  EXPECT_EQ(invariance_sentence(found),
            "2 of 4 schedules give the bits of splits 1 with block_k 64 forward in the computed rows of these tensors.");
}

TEST(Invariance, SentenceOnOneSchedule) {
  const Invariance alone =
      invariance(inexact_tile(), schedules(inexact_tile(), {.splits = {1}, .block_k = {64}, .reverse_keys = {false}}));
  EXPECT_EQ(invariance_sentence(alone),
            "1 of 1 schedule gives the bits of splits 1 with block_k 64 forward in the computed rows of these tensors.");
}

TEST(Invariance, TableHasALineForEachSchedule) {
  const Invariance found = invariance(inexact_tile());
  const auto lines = csv_lines(csv_text(invariance_table(found)));
  ASSERT_EQ(lines.size(), 1 + found.runs.size());
  for (std::size_t i = 0; i < found.runs.size(); ++i) {
    EXPECT_EQ(lines[i + 1].size(), lines[0].size());
    EXPECT_EQ(lines[i + 1][0], std::to_string(found.runs[i].schedule.splits));
    EXPECT_EQ(lines[i + 1][5], std::to_string(found.runs[i].group));
    EXPECT_EQ(lines[i + 1][6], found.runs[i].same_bits() ? "1" : "0");
  }
}

TEST(Invariance, ReportsItsProgressAndStops) {
  double last = 0;
  invariance(decode(100), {.progress = [&](double share) { last = std::max(last, share); }, .threads = 1});
  EXPECT_GT(last, 0.9);
  EXPECT_LE(last, 1);
  EXPECT_THROW(invariance(decode(100), {.cancelled = [] { return true; }}), Stopped);
}

std::vector<std::string> texts(const std::vector<Schedule>& list) {
  std::vector<std::string> all;
  for (const Schedule& s : list) all.push_back(schedule_text(s));
  return all;
}

TEST(Schedules, UsualOnesFitTheKeys) {
  Experiment e = decode(100);
  EXPECT_THAT(texts(schedules(e)),
              ::testing::ElementsAre(
                  "splits 1 with block_k 64 forward", "splits 2 with block_k 64 forward", "splits 1 with block_k 32 forward",
                  "splits 2 with block_k 32 forward", "splits 4 with block_k 32 forward", "splits 1 with block_k 64 reverse",
                  "splits 2 with block_k 64 reverse", "splits 1 with block_k 32 reverse", "splits 2 with block_k 32 reverse",
                  "splits 4 with block_k 32 reverse", "splits 1 with block_k 64 forward in a100 sums",
                  "splits 1 with block_k 64 forward in h100 sums", "splits 1 with block_k 64 forward in b200 sums"));
  e.format = fp32;  // no tensor core multiplies fp32
  e.problem.n_k = 1 << 16;
  EXPECT_EQ(schedules(e).size(), 42u);
  e.a.block_k = 48;
  e.a.reverse_keys = true;
  EXPECT_EQ(schedule_text(schedules(e)[0]), "splits 1 with block_k 48 reverse");
  e.problem.n_k = 1;
  EXPECT_EQ(schedules(e).size(), 2u);
}

TEST(Schedules, OtherSumsAreThoseThatTheFormatsHave) {
  const auto sums = [](const Experiment& e, const ScheduleLists& lists = {}) {
    std::vector<std::string> names;
    for (const Schedule& s : schedules(e, lists))
      if (std::ranges::find(names, sums_name(s)) == names.end()) names.push_back(sums_name(s));
    return names;
  };
  using ::testing::ElementsAre;
  Experiment e = decode(100);
  EXPECT_THAT(sums(e), ElementsAre("fma", "a100", "h100", "b200"));
  e.format = e4m3;
  EXPECT_THAT(sums(e), ElementsAre("fma", "h100", "b200")) << "an A100 multiplies no fp8";
  e.format = bf16;
  e.a.accumulator = {Accumulator::h100, Accumulator::fma};
  EXPECT_THAT(sums(e), ElementsAre("h100/fma", "fma", "a100", "h100", "b200"));
  EXPECT_THAT(sums(e, {.sums = {Accumulator::f64}}), ElementsAre("f64"));
  EXPECT_THAT(schedule_text(schedules(e)[0]), "splits 1 with block_k 64 forward in h100/fma sums");
}

TEST(Schedules, OtherAlgorithmsHaveNoSplits) {
  Experiment e = decode(300);
  e.format = fp32;
  e.a.algorithm = Algorithm::three_pass;
  EXPECT_EQ(schedules(e).size(), 2u);
  e.a.algorithm = Algorithm::flash4;
  EXPECT_EQ(schedules(e).size(), 6u);
  const auto refusal = [&](const ScheduleLists& lists) {
    return testing::message_of<std::invalid_argument>([&] { schedules(e, lists); });
  };
  EXPECT_EQ(refusal({.splits = {1, 2}}), "method a is flash4, which has no splits, expected flash2 or split_kv");
  EXPECT_EQ(refusal({.splits = {1}}), "");
  e.a.algorithm = Algorithm::three_pass;
  EXPECT_EQ(refusal({.block_k = {8}}),
            "method a is three_pass, which takes all keys at once, expected an algorithm with tiles");
  e.a.algorithm = Algorithm::loaded;
  EXPECT_EQ(refusal({}), "method a is loaded, expected an algorithm that is emulated");
}

TEST(Schedules, ListsAreTakenAsTheyAreAndEachOnce) {
  const Experiment e = decode(100);
  EXPECT_THAT(texts(schedules(e, {.splits = {8, 1, 8}, .block_k = {128}, .reverse_keys = {true}})),
              ::testing::ElementsAre("splits 8 with block_k 128 reverse", "splits 1 with block_k 128 reverse"));
}

}  // namespace
}  // namespace attoscope
