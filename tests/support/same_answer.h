/// Expects that two results are equal bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/experiment/measures.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/trace.h"
#include "tests/support/support.h"

namespace attoscope::testing {

inline void expect_same(double x, double y, const char* what) { EXPECT_TRUE(same(x, y)) << what << ": " << x << " and " << y; }

inline void expect_same_errors(const Deviation& x, const Deviation& y) {
  const DeviationNumbers u = numbers_of(x), v = numbers_of(y);
  for (const DeviationMeasure& m : deviation_measures) expect_same(u.*m.value, v.*m.value, m.key.data());
  EXPECT_EQ(x.worst_row, y.worst_row);
  EXPECT_EQ(x.worst_col, y.worst_col);
  EXPECT_EQ(x.ulps.counts, y.ulps.counts);
}

template <class List>
void expect_same_numbers(const List& x, const List& y, const char* what) {
  ASSERT_EQ(x.size(), y.size()) << what;
  for (std::size_t i = 0; i < x.size(); ++i) expect_same(x[i], y[i], what);
}

inline void expect_same_recurrence(const Result& x, const Result& y) {
  EXPECT_EQ(x.rescales.tiles, y.rescales.tiles);
  EXPECT_EQ(x.rescales.per_tile, y.rescales.per_tile);
  expect_same(x.rescales.effective_mean, y.rescales.effective_mean, "effective_mean");
  expect_same_numbers(x.rescales.expected_per_tile, y.rescales.expected_per_tile, "expected_per_tile");
  ASSERT_EQ(x.rescales.max_quantiles.size(), y.rescales.max_quantiles.size());
  for (std::size_t t = 0; t < x.rescales.max_quantiles.size(); ++t)
    expect_same_numbers(x.rescales.max_quantiles[t], y.rescales.max_quantiles[t], "max_quantiles");
  EXPECT_EQ(x.rescale_map.row_step, y.rescale_map.row_step);
  expect_same_numbers(x.rescale_map.m, y.rescale_map.m, "rescale map");
  EXPECT_EQ(x.trace.row, y.trace.row);
  ASSERT_EQ(x.trace.tiles.size(), y.trace.tiles.size());
  for (std::size_t i = 0; i < x.trace.tiles.size(); ++i) {
    std::vector<double> expected;
    visit_tile(y.trace.tiles[i], [&](const char*, auto number) { expected.push_back(static_cast<double>(number)); });
    std::size_t at = 0;
    visit_tile(x.trace.tiles[i],
               [&](const char* key, auto number) { expect_same(static_cast<double>(number), expected[at++], key); });
  }
}

/// Names of the parts (golden, a, b) with a time in `timing`: computed, not reused.
inline std::string computed_parts(const auto& timing) {
  std::string parts;
  for (const auto& [ms, name] : {std::pair{timing.golden, "golden"}, {timing.a, "a"}, {timing.b, "b"}})
    if (ms > 0) parts += (parts.empty() ? "" : " ") + std::string(name);
  return parts;
}

/// Compares matrices, digests, every deviation, rescales, map and trace.
inline void expect_same_answer(const Result& x, const Result& y) {
  EXPECT_EQ(x.digests.golden, y.digests.golden);
  EXPECT_EQ(x.digests.a, y.digests.a);
  EXPECT_EQ(x.digests.b, y.digests.b);
  ASSERT_EQ(x.backward.has_value(), y.backward.has_value());
  if (x.backward) {
    EXPECT_EQ(x.backward->golden_digest, y.backward->golden_digest);
    EXPECT_EQ(x.backward->a_digest, y.backward->a_digest);
    EXPECT_EQ(x.backward->b_digest, y.backward->b_digest);
    EXPECT_EQ(x.backward->a.lost_ds, y.backward->a.lost_ds);
    EXPECT_EQ(x.backward->b.lost_ds, y.backward->b.lost_ds);
  }
  expect_same_numbers(x.golden->values, y.golden->values, "golden");
  expect_same_numbers(x.a.values, y.a.values, "a");
  expect_same_numbers(x.b.values, y.b.values, "b");
  expect_same_numbers(x.golden_lse, y.golden_lse, "golden L");
  expect_same_numbers(x.a_lse, y.a_lse, "L of a");
  expect_same_numbers(x.b_lse, y.b_lse, "L of b");
  expect_same(x.golden_rms, y.golden_rms, "golden_rms");
  EXPECT_EQ(x.golden_nonfinite, y.golden_nonfinite);
  expect_same_errors(x.a_error, y.a_error);
  expect_same_errors(x.b_error, y.b_error);
  expect_same_errors(x.a_minus_b, y.a_minus_b);
  expect_same_recurrence(x, y);
}

}  // namespace attoscope::testing
