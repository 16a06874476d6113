// Two methods compared: counts equal the differences of their outputs, and a row first differs in the tile of the cause.
#include "kernels/questions/methods_apart.h"

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope::methods_apart_test {
namespace {

constexpr int n = 24, d = 32, block = 8;  // three tiles

/// One kernel on two GPUs.
Experiment two_gpus() {
  Experiment e{.problem = {.n = n, .d = d}, .format = fp16};
  e.a.precision = policy("hw").precision;
  e.a.block_k = e.a.block_q = block;
  e.b = e.a;
  e.a.accumulator = {Accumulator::h100, Accumulator::h100};
  e.b.accumulator = {Accumulator::v100_f16, Accumulator::v100_f16};
  return e;
}

/// Tensors whose sums are all exact except in one tile of keys.
Experiment parting_in(int tile, bool in_scores) {
  Experiment e = two_gpus();
  e.a.precision[Step::output] = e.b.precision[Step::output] = exact;  // rounding would hide small differences
  Tensors t{.n = n, .n_k = n, .d = d, .d_v = d, .q = std::vector<double>(n * d, 1), .k = std::vector<double>(n * d), .v = t.k};
  std::vector<double>& values = in_scores ? t.k : t.v;
  for (int key = tile * block; key < (tile + 1) * block; ++key)
    for (int c = 0; c < d; ++c)
      values[static_cast<std::size_t>(key * d + c)] =
          (in_scores ? c == 0 : key == tile * block) ? 3.25 : 0.000701904296875 * (1 + c % 3);
  e.problem.input = testing::given(std::move(t));
  return e;
}

MethodsApart found(const Experiment& e) { return methods_apart(compute(e)); }

TEST(MethodsApart, OneMethodTwiceHasTheSameBits) {
  Experiment e = two_gpus();
  e.b = e.a;
  const MethodsApart apart = found(e);
  EXPECT_EQ(apart.numbers, n * d);
  EXPECT_EQ(apart.differing, 0);
  EXPECT_EQ(apart.row, -1);
  EXPECT_FALSE(apart.parting);
  EXPECT_EQ(apart.why_no_tile, "");
}

TEST(MethodsApart, CountsTheNumbersThatDiffer) {
  const Result answer = compute(two_gpus());
  const MethodsApart apart = methods_apart(answer);
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < answer.a.values.size(); ++i)
    differing += std::memcmp(&answer.a.values[i], &answer.b.values[i], sizeof(double)) != 0;
  EXPECT_GT(differing, 0);
  EXPECT_EQ(apart.differing, differing);
  EXPECT_EQ(apart.max_ulp, answer.a_minus_b.max_ulp);
  EXPECT_NE(answer.a(apart.row, apart.column), answer.b(apart.row, apart.column));
  for (int i = 0; i < apart.row * d + apart.column; ++i) EXPECT_EQ(answer.a(i / d, i % d), answer.b(i / d, i % d));
}

TEST(MethodsApart, OfSomeRowsTheFirstIsNamedAsARowOfQ) {
  Experiment e = two_gpus();
  e.problem.rows = 5;
  const Result answer = compute(e);
  const MethodsApart apart = methods_apart(answer);
  EXPECT_EQ(apart.numbers, 5 * d);
  EXPECT_THAT(answer.rows, ::testing::Contains(apart.row));
}

TEST(MethodsApart, ARowPartsInTheTileInWhichTheSumsDiffer) {
  for (const int tile : {0, 1, 2}) {
    const MethodsApart scores = found(parting_in(tile, true)), sums = found(parting_in(tile, false));
    ASSERT_TRUE(sums.parting) << tile << " " << sums.why_no_tile << sums.differing;
    EXPECT_EQ(sums.parting->tile, tile);
    EXPECT_EQ(sums.parting->quantity, "O");
    EXPECT_EQ(sums.parting->first_key, tile * block);
    EXPECT_EQ(sums.parting->tiles, n / block);
    EXPECT_EQ(scores.differing, 0) << "V is 0 there: no number of O can differ";
  }
  for (const int tile : {0, 1, 2}) {
    Experiment e = parting_in(tile, true);
    Tensors t = *e.problem.input.tensors;
    for (int i = 0; i < n * d; ++i) t.v[static_cast<std::size_t>(i)] = 1 + i / (block * d);
    e.problem.input = testing::given(std::move(t));
    const MethodsApart scores = found(e);
    ASSERT_TRUE(scores.parting) << tile << " " << scores.why_no_tile << scores.differing;
    EXPECT_EQ(scores.parting->tile, tile);
    EXPECT_EQ(scores.parting->quantity, "S");
  }
}

TEST(MethodsApart, RoundingAtTheEndAloneIsSaid) {
  Experiment e = two_gpus();
  e.b = e.a;
  e.b.precision[Step::output] = to_format(e5m2);
  const MethodsApart apart = found(e);
  EXPECT_GT(apart.differing, 0);
  EXPECT_FALSE(apart.parting);
  EXPECT_THAT(apart.why_no_tile, ::testing::HasSubstr("at the end"));
}

TEST(MethodsApart, OtherTilesCannotBeCompared) {
  Experiment e = two_gpus();
  e.b.block_k = 5;
  EXPECT_THAT(found(e).why_no_tile, ::testing::HasSubstr("other tiles"));
  e.b.block_k = e.a.block_k;
  e.b.reverse_keys = true;
  EXPECT_THAT(found(e).why_no_tile, ::testing::HasSubstr("other tiles"));
}

TEST(MethodsApart, OtherKernelsHaveNoTiles) {
  Experiment e = two_gpus();
  e.b.algorithm = Algorithm::loaded;
  e.loaded = {.file = "o.npy", .n = n, .d = d, .values = std::make_shared<const std::vector<double>>(n * d, 2.0)};
  const MethodsApart apart = found(e);
  EXPECT_EQ(apart.differing, n * d);
  EXPECT_EQ(apart.why_no_tile, "b is not emulated, so that its tiles are not known.");
}

TEST(MethodsApart, StopsWhenNobodyWantsItAnyMore) {
  const Result answer = compute(two_gpus());
  EXPECT_THROW(methods_apart(answer, {.cancelled = [] { return true; }}), Stopped);
}

}  // namespace
}  // namespace attoscope::methods_apart_test
