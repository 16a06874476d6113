/// Traffic against tile loops that add up what they move.
#include "kernels/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/presets.h"
#include "tests/support.h"

namespace attoscope {
namespace {

using testing::Dice;

/// Elements moved by the tile loops of FlashAttention-1 and -2.
struct Moved {
  double flash1 = 0, flash2 = 0;
  std::int64_t tiles = 0, skipped = 0;
};

/// Whether one of the rows sees one of the keys [key0, key1), counted from the last where they are reversed.
bool sees_a_key(const Problem& p, bool reversed, int row0, int row1, int key0, int key1) {
  for (int row = row0; row < row1; ++row) {
    Keys keys = visible_keys(p.mask, row, p.n);
    if (reversed) keys = {p.n - keys.end, p.n - keys.first};
    if (!keys.empty() && keys.first < key1 && key0 < keys.end) return true;
  }
  return false;
}

Moved moved_by_loops(const Experiment& e) {
  const Problem& p = e.problem;
  Moved m;
  m.flash1 = 2.0 * p.n * p.d;        // K, V once
  m.flash2 = 2.0 * p.n * p.d + p.n;  // Q, O and the log-sum-exp once
  for (int row = 0; row < p.n; row += e.a.block_q)
    for (int key = 0; key < p.n; key += e.a.block_k) {
      const int row_end = std::min(p.n, row + e.a.block_q), key_end = std::min(p.n, key + e.a.block_k);
      ++m.tiles;
      if (!sees_a_key(p, e.a.reverse_keys, row, row_end, key, key_end)) {
        ++m.skipped;
        continue;
      }
      m.flash1 += (row_end - row) * (3.0 * p.d + 4);  // Q, O, l, m in; O, l, m out
      m.flash2 += (key_end - key) * 2.0 * p.d;        // K, V in
    }
  return m;
}

TEST(Traffic, IsWhatTheTileLoopsMove) {
  for (int seed = 1; seed <= 300; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    Experiment e = testing::random_experiment(dice);
    e.format = dice.any(std::array{bf16, fp32, e4m3});
    const double bytes = e.format == bf16 ? 2 : e.format == fp32 ? 4 : 1;
    const Traffic t = traffic(e);
    const Moved m = moved_by_loops(e);
    const double n = e.problem.n, d = e.problem.d;
    ASSERT_EQ(t.element_bytes, bytes);
    ASSERT_EQ(t.tiles, m.tiles) << testing::describe(e);
    ASSERT_EQ(t.skipped_tiles, m.skipped) << testing::describe(e);
    ASSERT_EQ(t.flash1, m.flash1 * bytes) << testing::describe(e);
    ASSERT_EQ(t.flash2, m.flash2 * bytes) << testing::describe(e);
    ASSERT_EQ(t.algorithm0, (4 * n * d + 4 * n * n) * bytes);
  }
}

TEST(Traffic, AtALargeSizeFlashMovesFarLess) {
  const Traffic t = traffic(default_experiment());
  EXPECT_LT(t.flash2, t.flash1);
  EXPECT_LT(t.flash1, t.algorithm0);
  EXPECT_EQ(t.on_chip_elements, 2 * 64 * 64 + 2 * 64 * 64);
}

TEST(TilesForMemory, FollowFlashAttention1) {
  const auto expect_tiles = [](double elements, int d, int block_q, int block_k) {
    const TileSizes t = tiles_for_memory(elements, d);
    EXPECT_EQ(t.block_q, block_q) << elements << ' ' << d;
    EXPECT_EQ(t.block_k, block_k) << elements << ' ' << d;
  };
  expect_tiles(25'600, 64, 64, 100);
  expect_tiles(25'601, 64, 64, 101);
  expect_tiles(8'192, 128, 16, 16);
  expect_tiles(1, 64, 1, 1);
}

}  // namespace
}  // namespace attoscope
