/// Heads with other numbers of keys than of queries, and of columns of V than of Q and K.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using testing::Dice;

Tensors normal_tensors(const AttentionShape& shape, std::uint64_t seed) {
  Dice dice(seed);
  return testing::drawn_tensors(shape, [&] { return dice.normal(); });
}

Experiment on(Tensors t, Algorithm algorithm, Mask::Kind mask) {
  Experiment e = testing::small_experiment(bf16, t.n, t.d);
  e.problem = with_shape(e.problem, t.shape());
  e.problem.input = testing::given(std::move(t));
  e.problem.mask = {mask, 20};
  e.a.algorithm = algorithm;
  e.a.splits = 3;
  return e;
}

/// The last rows of Q alone.
Tensors last_rows(const Tensors& t, int rows) {
  Tensors few = t;
  few.n = rows;
  few.q.erase(few.q.begin(), few.q.end() - static_cast<std::ptrdiff_t>(rows) * t.d);
  return few;
}

TEST(Shapes, TheLastQueriesSeeWhatTheySawAmongAll) {
  const Tensors whole = normal_tensors(AttentionShape::square(90, 16), 1);
  for (const Algorithm algorithm : emulated_algorithms)
    for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window, Mask::Kind::padding})
      for (const int rows : {1, 7}) {
        const Result all = compute(on(whole, algorithm, mask)), few = compute(on(last_rows(whole, rows), algorithm, mask));
        ASSERT_EQ(few.a.rows, rows);
        for (int row = 0; row < rows; ++row)
          for (int c = 0; c < 16; ++c) {
            ASSERT_EQ(few.a(row, c), all.a(90 - rows + row, c)) << name(algorithm) << ' ' << row << ' ' << c;
            ASSERT_EQ((*few.golden)(row, c), (*all.golden)(90 - rows + row, c)) << name(algorithm) << ' ' << row << ' ' << c;
          }
      }
}

TEST(Shapes, AlibiCountsFromWhereTheQueryStands) {
  const Tensors whole = normal_tensors(AttentionShape::square(40, 8), 2);
  Experiment all = on(whole, Algorithm::flash2, Mask::Kind::causal),
             few = on(last_rows(whole, 3), Algorithm::flash2, Mask::Kind::causal);
  all.problem.alibi = few.problem.alibi = 0.25;
  const Result of_all = compute(all), of_few = compute(few);
  for (int row = 0; row < 3; ++row)
    for (int c = 0; c < 8; ++c) EXPECT_EQ(of_few.a(row, c), of_all.a(37 + row, c));
  few.problem.mask.top_left = true;
  EXPECT_NE(compute(few).a(0, 0), of_all.a(37, 0));
}

TEST(Shapes, MasksStandBottomRightOrTopLeft) {
  Problem p;
  p.n = 3, p.n_k = 5, p.mask.kind = Mask::Kind::causal;
  const auto ends = [&] { return std::array{visible_keys(p, 0).end, visible_keys(p, 1).end, visible_keys(p, 2).end}; };
  EXPECT_EQ(ends(), (std::array{3, 4, 5}));
  p.mask.top_left = true;
  EXPECT_EQ(ends(), (std::array{1, 2, 3}));
  p.n_k = 2;
  EXPECT_EQ(ends(), (std::array{1, 2, 2}));
  p.mask.top_left = false;  // the first query's position is before the first key
  EXPECT_EQ(ends(), (std::array{0, 1, 2}));
  EXPECT_TRUE(visible_keys(p, 0).empty());
  p.mask = {Mask::Kind::window, 1, true};
  EXPECT_TRUE(visible_keys(p, 2).empty());  // the last query's position is after the last key
  EXPECT_EQ(visible_keys(p, 1).first, 1);
}

TEST(Shapes, QueriesBeforeTheFirstKeyGiveZeros) {
  const Experiment e = on(normal_tensors({6, 4, 8, 8}, 3), Algorithm::flash2, Mask::Kind::causal);
  const Result r = compute(e);
  EXPECT_EQ(r.rows_without_keys, 2);
  for (int row = 0; row < 2; ++row)
    for (int c = 0; c < 8; ++c) EXPECT_EQ(r.a(row, c), 0);
  EXPECT_NE(r.a(2, 0), 0);
}

/// The first columns of V.
Tensors first_columns(const Tensors& t, int columns) {
  Tensors narrow = t;
  narrow.d_v = columns;
  narrow.v.clear();
  for (int key = 0; key < t.n_k; ++key)
    for (int c = 0; c < columns; ++c) narrow.v.push_back(t.v[static_cast<std::size_t>(key * t.d_v + c)]);
  return narrow;
}

TEST(Shapes, ColumnsOfVDoNotKnowEachOther) {
  const Tensors wide = normal_tensors({30, 50, 12, 40}, 4);
  for (const Algorithm algorithm : emulated_algorithms) {
    const Result all = compute(on(wide, algorithm, Mask::Kind::causal)),
                 some = compute(on(first_columns(wide, 9), algorithm, Mask::Kind::causal));
    ASSERT_EQ(all.a.cols, 40);
    ASSERT_EQ(some.a.cols, 9);
    for (int row = 0; row < 30; ++row)
      for (int c = 0; c < 9; ++c) ASSERT_EQ(some.a(row, c), all.a(row, c)) << name(algorithm);
  }
}

TEST(Shapes, TensorsMustFit) {
  Experiment e = on(normal_tensors({4, 9, 8, 6}, 6), Algorithm::flash2, Mask::Kind::none);
  EXPECT_NO_THROW(validate(e));
  e.problem.n_k = 10;
  EXPECT_THROW(validate(e), std::invalid_argument);
  e.problem.n_k = 5;
  EXPECT_NO_THROW(validate(e));
  e.problem.d_v = 0;
  EXPECT_THROW(validate(e), std::invalid_argument);
}

}  // namespace
}  // namespace attoscope
