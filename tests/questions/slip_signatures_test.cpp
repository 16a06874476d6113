/// Lesson 11's statements about the rows that a mistake changes, tested by planting each mistake at arbitrary seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/questions/planted_slips.h"

namespace attoscope::slip_signatures_test {
namespace {

using namespace planted;

constexpr int rows = 256, columns = 32, tile = 16;

/// Calls check(problem, inputs) at 20 seeds.
void at_seeds(Mask mask, const std::function<void(const Problem&, const Seen&)>& check, int n = rows) {
  constexpr std::uint64_t first = 580219;  // any number
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = problem(n, columns, mask, seed);
    check(p, seen(p));
  }
}

/// The largest distance of each row of `o` from the same row of `from`.
Values distances(const Values& o, const Values& from) {
  Values largest(o.size() / columns);
  for (std::size_t i = 0; i < o.size(); ++i) largest[i / columns] = std::max(largest[i / columns], std::abs(o[i] - from[i]));
  return largest;
}

double mean_of(const Values& x, std::size_t first, std::size_t end) {
  double sum = 0;
  for (std::size_t i = first; i < end; ++i) sum += x[i];
  return sum / static_cast<double>(end - first);
}

/// Rows that differ in exact arithmetic.
std::vector<bool> changed(const Values& o, const Values& from) {
  std::vector<bool> all;
  for (const double x : distances(o, from)) all.push_back(x > 1e-9);
  return all;
}

/// The share of rows whose error, stored in bf16, is more than twice the error of the right row stored in bf16.
double share_seen(const Values& o, const Values& from) {
  const Values wrong = distances(*stored(o, bf16), from), rounded = distances(*stored(from, bf16), from);
  double count = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) count += wrong[i] > 2 * rounded[i];
  return count / static_cast<double>(wrong.size());
}

double share(const std::vector<bool>& all) {
  double count = 0;
  for (const bool x : all) count += x;
  return count / static_cast<double>(all.size());
}

/// True for rows whose max moves after their first tile of keys.
std::vector<bool> moves(const Seen& x) {
  std::vector<bool> all;
  for (int i = 0; i < x.t.n; ++i) {
    double first = -infinity, most = -infinity;
    for (int j = 0; j < x.t.n; ++j) (j < tile ? first : most) = std::max(j < tile ? first : most, x.score(i, j));
    all.push_back(most > first);
  }
  return all;
}

TEST(SlipSignatures, AWrongScaleOrAMissingLog2EChangesAllRows) {
  at_seeds({}, [](const Problem& p, const Seen& x) {
    for (const double factor : {std::sqrt(double{columns}), std::log(2.0)}) {
      const Values o = rescored(x, [&](int i, int j) { return x.dot(i, j) * scale_of(p) * factor; });
      EXPECT_EQ(share(changed(o, right(x))), 1);
      EXPECT_GT(share_seen(o, right(x)), 0.99) << factor;
    }
  });
}

TEST(SlipSignatures, AMissingRescaleChangesTheRowsWhoseMaxMoves) {
  double mean = 0;
  at_seeds({}, [&](const Problem&, const Seen& x) {
    for (const auto& [o_too, l_too] : {std::pair{false, true}, std::pair{true, false}})
      EXPECT_EQ(changed(stale(x, tile, o_too, l_too), right(x)), moves(x)) << "these and no others";
    mean += share(moves(x)) / 20;
    EXPECT_GT(share_seen(stale(x, tile, false, true), right(x)), 0.75);
  });
  EXPECT_NEAR(mean, 1 - 1.0 / 16, 0.01) << "16 tiles of random keys";
}

TEST(SlipSignatures, ACausalMaskOneKeyTooWideChangesNearlyAllRowsAndTheFirstMost) {
  at_seeds(causal, [](const Problem&, const Seen& x) {
    const Values o = masked(x, [](int i, int j) { return j <= i + 1; }), truth = right(x), off = distances(o, truth);
    const std::vector<bool> rows_changed = changed(o, truth);
    for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(rows_changed[i], i + 1 < rows) << "the last row has no key more";
    EXPECT_GT(share_seen(o, truth), 0.9);
    EXPECT_GT(mean_of(off, 0, rows / 16), 5 * mean_of(off, rows / 16, rows));
    EXPECT_LT(std::ranges::max_element(off) - off.begin(), rows / 16);
  });
}

TEST(SlipSignatures, AMissingPartialTileOfKeysChangesEveryRowThatSeesIt) {
  constexpr int n = rows - 6, whole = n / tile * tile;
  const auto left_out = [](int, int j) { return j < whole; };
  at_seeds({}, [&](const Problem&, const Seen& x) { EXPECT_EQ(share(changed(masked(x, left_out), right(x))), 1); }, n);
  at_seeds(
      causal,
      [&](const Problem&, const Seen& x) {
        const std::vector<bool> all = changed(masked(x, [&](int i, int j) { return j <= i && left_out(i, j); }), right(x));
        for (int i = 0; i < n; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i >= whole);
      },
      n);
}

TEST(SlipSignatures, ARowThatSeesNoKeyIsNaNWhereTheRightOutputIsZero) {
  constexpr int hidden = 9;
  at_seeds({Mask::Kind::padding, hidden}, [](const Problem& p, const Seen& x) {
    const Values divided = right(x);
    const Result shown = compute(with_output(p, divided));
    for (std::size_t i = 0; i < divided.size(); ++i)
      EXPECT_EQ(std::isnan(divided[i]), i < hidden * columns) << "zero divided by zero";
    for (int c = 0; c < columns; ++c) EXPECT_EQ((*shown.golden)(0, c), 0);
    EXPECT_EQ(shown.a_error.nonfinite, hidden * columns);
    EXPECT_EQ(shown.b_error.nonfinite, 0);
  });
}

TEST(SlipSignatures, AnErrorOfAMistakeStaysWhereRoundingHalvesWithEveryBit) {
  const auto error = [](const Values& o, const Values& truth, int bits) {
    return mean_of(distances(*stored(o, Format{8, bits}), truth), 0, rows);
  };
  at_seeds(causal, [&](const Problem&, const Seen& x) {
    const Values truth = right(x), wrong = masked(x, [](int i, int j) { return j <= i + 1; });
    EXPECT_NEAR(error(wrong, truth, 14) / error(wrong, truth, 8), 1, 0.02);
    EXPECT_NEAR(std::log2(error(truth, truth, 8) / error(truth, truth, 14)), 6, 0.2) << "one bit, one half";
  });
}

}  // namespace
}  // namespace attoscope::slip_signatures_test
