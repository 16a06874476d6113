/// That two results are one answer, to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "kernels/result.h"
#include "tests/support.h"

namespace attoscope::testing {

inline void expect_same(double x, double y, const char* what) { EXPECT_TRUE(same(x, y)) << what << ": " << x << " and " << y; }

inline void expect_same_errors(const Deviation& x, const Deviation& y) {
  expect_same(x.max_abs, y.max_abs, "max_abs");
  expect_same(x.mean_abs, y.mean_abs, "mean_abs");
  expect_same(x.rms, y.rms, "rms");
  expect_same(x.std, y.std, "std");
  expect_same(x.bias, y.bias, "bias");
  expect_same(x.rel_rms, y.rel_rms, "rel_rms");
  expect_same(x.cosine, y.cosine, "cosine");
  expect_same(x.wasserstein, y.wasserstein, "wasserstein");
  expect_same(x.max_ulp, y.max_ulp, "max_ulp");
  EXPECT_EQ(x.nonfinite, y.nonfinite);
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
    const TraceTile &s = x.trace.tiles[i], &t = y.trace.tiles[i];
    for (const auto& [p, q] : {std::pair{s.max_true, t.max_true},
                               {s.max_used, t.max_used},
                               {s.alpha, t.alpha},
                               {s.l, t.l},
                               {s.o_norm, t.o_norm},
                               {s.p_max, t.p_max},
                               {s.error, t.error}})
      expect_same(p, q, "trace");
    EXPECT_EQ(s.tile, t.tile);
    EXPECT_EQ(s.moved, t.moved);
    EXPECT_EQ(s.saturated, t.saturated);
    EXPECT_EQ(s.underflowed, t.underflowed);
    EXPECT_EQ(s.ties, t.ties);
  }
}

/// Matrices, digests, every deviation, rescales, map and trace.
inline void expect_same_answer(const Result& x, const Result& y) {
  EXPECT_EQ(x.digests.golden, y.digests.golden);
  EXPECT_EQ(x.digests.a, y.digests.a);
  EXPECT_EQ(x.digests.b, y.digests.b);
  expect_same_numbers(x.golden->values, y.golden->values, "golden");
  expect_same_numbers(x.a.values, y.a.values, "a");
  expect_same_numbers(x.b.values, y.b.values, "b");
  expect_same(x.golden_rms, y.golden_rms, "golden_rms");
  EXPECT_EQ(x.golden_nonfinite, y.golden_nonfinite);
  expect_same_errors(x.a_error, y.a_error);
  expect_same_errors(x.b_error, y.b_error);
  expect_same_errors(x.a_minus_b, y.a_minus_b);
  expect_same_recurrence(x, y);
}

}  // namespace attoscope::testing
