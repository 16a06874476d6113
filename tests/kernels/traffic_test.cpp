/// Traffic against tile loops that add up the moved elements, and against a walk that touches every element.
#include "kernels/experiment/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using testing::Dice;
using testing::with_seeds;

/// Elements moved by the tile loops of FlashAttention-1 and -2.
struct Moved {
  double flash1 = 0, flash2 = 0;
  std::int64_t tiles = 0, skipped = 0;
};

/// True if one of the rows sees one of the keys [key0, key1), counted from the last if they are reversed.
bool sees_a_key(const Problem& p, bool reversed, int row0, int row1, int key0, int key1) {
  for (int row = row0; row < row1; ++row) {
    Keys keys = visible_keys(p, row);
    if (reversed) keys = {key_count(p) - keys.end, key_count(p) - keys.first};
    if (!keys.empty() && keys.first < key1 && key0 < keys.end) return true;
  }
  return false;
}

Experiment small(Dice& dice) {
  Experiment e;
  Problem& p = e.problem;
  p.n = dice.between(1, 70);
  p.d = dice.between(1, 12);
  if (dice.one_in(2)) p.n_k = dice.between(1, 90);
  if (dice.one_in(2)) p.d_v = dice.between(1, 12);
  p.mask.top_left = dice.one_in(2);
  p.mask.kind = static_cast<Mask::Kind>(dice.between(0, 6));
  p.mask.window = dice.between(1, 90);
  p.mask.right = dice.between(0, 20);
  e.a.block_q = dice.between(1, 80);
  e.a.block_k = dice.between(1, 80);
  return e;
}

/// FlashAttention (arXiv 2205.14135, Algorithm 1, lines 5 to 15) and FlashAttention-2 (arXiv 2307.08691, Algorithm 1, lines 3
/// to 16).
Moved moved_by_loops(const Experiment& e) {
  const Problem& p = e.problem;
  Moved m;
  const int n_k = key_count(p), d_v = value_columns(p);
  m.flash1 = 1.0 * n_k * (p.d + d_v);        // K, V once
  m.flash2 = 1.0 * p.n * (p.d + d_v) + p.n;  // Q, O and the log-sum-exp once
  for (int row = 0; row < p.n; row += e.a.block_q)
    for (int key = 0; key < n_k; key += e.a.block_k) {
      const int row_end = std::min(p.n, row + e.a.block_q), key_end = std::min(n_k, key + e.a.block_k);
      ++m.tiles;
      if (!sees_a_key(p, e.a.reverse_keys, row, row_end, key, key_end)) {
        ++m.skipped;
        continue;
      }
      m.flash1 += (row_end - row) * (p.d + 2.0 * d_v + 4);  // Q, O, l, m in; O, l, m out
      m.flash2 += (key_end - key) * 1.0 * (p.d + d_v);      // K, V in
    }
  return m;
}

TEST(Traffic, IsWhatTheTileLoopsMove) {
  for (int seed = 1; seed <= 500; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    Experiment e = seed <= 300 ? testing::random_experiment(dice) : small(dice);
    e.format = dice.any(std::array{bf16, fp32, e4m3});
    e.a.scaling = {};
    testing::drop_impossible_accumulators(e);
    const double bytes = e.format == bf16 ? 2 : e.format == fp32 ? 4 : 1;
    const Traffic t = traffic(e);
    const Moved m = moved_by_loops(e);
    const double n = e.problem.n, n_k = key_count(e.problem), columns = e.problem.d + value_columns(e.problem);
    ASSERT_EQ(t.element_bytes, bytes);
    ASSERT_EQ(t.tiles, m.tiles) << testing::describe(e);
    ASSERT_EQ(t.skipped_tiles, m.skipped) << testing::describe(e);
    ASSERT_EQ(t.flash1, m.flash1 * bytes) << testing::describe(e);
    ASSERT_EQ(t.flash2, m.flash2 * bytes) << testing::describe(e);
    ASSERT_EQ(t.algorithm0, ((n + n_k) * columns + 4 * n * n_k) * bytes);  // S and P go out and come back
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

/// Bytes that go through HBM, counted element by element.
class HbmBytes {
 public:
  void move(int row0, int row1, int columns, double size) {
    for (int row = row0; row < row1; ++row)
      for (int column = 0; column < columns; ++column) bytes_ += size;
  }
  double bytes() const { return bytes_; }

 private:
  double bytes_ = 0;
};

/// Bytes per number of each array of a backward pass.
struct GradSizes {
  double main, L, delta, sum, dQ, dK, dV;
};

/// The standard backward pass (arXiv 2205.14135, Algorithm 3), line by line.
double walk_stored_P(const Problem& p, const GradSizes& size) {
  HbmBytes hbm;
  const int n_k = key_count(p), d_v = value_columns(p);
  hbm.move(0, p.n, n_k, size.main);                                             // line 1: load P
  hbm.move(0, p.n, d_v, size.main);                                             // and dO
  hbm.move(0, n_k, d_v, size.dV);                                               // write dV
  hbm.move(0, p.n, d_v, size.main);                                             // line 2: load dO
  hbm.move(0, n_k, d_v, size.main);                                             // and V
  hbm.move(0, p.n, n_k, size.main);                                             // write dP
  for (int matrix = 0; matrix < 3; ++matrix) hbm.move(0, p.n, n_k, size.main);  // line 3: read P and dP, write dS
  hbm.move(0, p.n, n_k, size.main);                                             // line 4: load dS
  hbm.move(0, n_k, p.d, size.main);                                             // and K
  hbm.move(0, p.n, p.d, size.dQ);                                               // write dQ
  hbm.move(0, p.n, n_k, size.main);                                             // line 5: load dS
  hbm.move(0, p.n, p.d, size.main);                                             // and Q
  hbm.move(0, n_k, p.d, size.dK);                                               // write dK
  return hbm.bytes();
}

/// The backward passes that recompute P: K and V outside, queries inside. FlashAttention-2 (arXiv 2307.08691, Algorithm 2)
/// computes delta first; FlashAttention (arXiv 2205.14135, Algorithm 4) in every tile, from O.
double walk_recomputation(const Experiment& e, const GradSizes& size, bool first) {
  HbmBytes hbm;
  const Problem& p = e.problem;
  const GradMethod& m = e.backward.a;
  const int n_k = key_count(p), d_v = value_columns(p);
  if (!first) {
    for (int matrix = 0; matrix < 2; ++matrix) hbm.move(0, p.n, d_v, size.main);  // load O and dO
    hbm.move(0, p.n, 1, size.delta);                                              // write delta
  }
  for (int key = 0; key < n_k; key += m.block_k) {
    const int key_end = std::min(n_k, key + m.block_k);
    hbm.move(key, key_end, p.d, size.main);  // load K_j
    hbm.move(key, key_end, d_v, size.main);  // and V_j
    for (int row = 0; row < p.n; row += m.block_q) {
      const int row_end = std::min(p.n, row + m.block_q);
      if (!sees_a_key(p, false, row, row_end, key, key_end)) continue;
      hbm.move(row, row_end, p.d, size.main);                  // load Q_i
      hbm.move(row, row_end, d_v, size.main);                  // dO_i
      hbm.move(row, row_end, 1, size.L);                       // L_i, or m_i
      hbm.move(row, row_end, 1, first ? size.L : size.delta);  // delta_i, or l_i
      if (first) hbm.move(row, row_end, d_v, size.main);       // O_i
      hbm.move(row, row_end, p.d, size.sum);                   // dQ_i
      hbm.move(row, row_end, p.d, size.sum);                   // write dQ_i
    }
    hbm.move(key, key_end, p.d, size.dK);  // write dK_j
    hbm.move(key, key_end, d_v, size.dV);  // and dV_j
  }
  for (int buffer = 0; !first && buffer < (m.order == GradOrder::buffers ? m.buffers : 1); ++buffer)
    hbm.move(0, p.n, p.d, size.sum);           // read the sums
  if (!first) hbm.move(0, p.n, p.d, size.dQ);  // write dQ
  return hbm.bytes();
}

TEST(BackwardTraffic, IsWhatAWalkOverEveryElementTouches) {
  with_seeds(1, 200, [&](Dice& dice) {
    Experiment e = small(dice);
    GradMethod& m = e.backward.a;
    m.block_q = dice.between(1, 80);
    m.block_k = dice.between(1, 80);
    m.order = static_cast<GradOrder>(dice.between(0, 3));
    m.buffers = dice.between(1, 4);
    GradSizes size{2, 4, 4, 4, 4, 4, 4};  // numbers that are not rounded are fp32
    const auto rounded = [&](GradStep step, double& bytes, const Rounding& to, double of) {
      if (dice.one_in(2)) m.precision[step] = to, bytes = of;
    };
    rounded(GradStep::lse, size.L, to_main, 2);
    rounded(GradStep::delta, size.delta, to_main, 2);
    rounded(GradStep::dq_sum, size.sum, to_main, 2);
    rounded(GradStep::dQ, size.dQ, to_main, 2);
    rounded(GradStep::dK, size.dK, to_main, 2);
    rounded(GradStep::dV, size.dV, to_main, 2);
    const BackwardTraffic t = backward_traffic(e);
    ASSERT_EQ(total_bytes(t.stored_P), walk_stored_P(e.problem, size));
    ASSERT_EQ(total_bytes(t.flash1), walk_recomputation(e, size, true));
    ASSERT_EQ(total_bytes(t.flash2), walk_recomputation(e, size, false));
  });
}

/// The papers' formulas, without a mask and with as many keys as queries.
TEST(BackwardTraffic, HasTheFormulasOfItsDescription) {
  Experiment e{.problem = {.n = 96, .d = 16}};
  e.backward.a.block_q = 32, e.backward.a.block_k = 16;
  const double n = 96, d = 16, tiles = 6;
  const auto elements = [](const std::vector<TrafficPart>& parts) {
    double sum = 0;
    for (const TrafficPart& part : parts) sum += part.elements;
    return sum;
  };
  const BackwardTraffic t = backward_traffic(e);
  EXPECT_EQ(elements(t.stored_P), 8 * n * d + 7 * n * n);
  EXPECT_EQ(elements(t.flash1), 4 * n * d + tiles * n * (5 * d + 2));
  EXPECT_EQ(elements(t.flash2), 8 * n * d + n + tiles * n * (4 * d + 2));
  EXPECT_EQ(t.tiles, 18);
  e.problem.mask.kind = Mask::Kind::causal;
  const BackwardTraffic causal = backward_traffic(e);
  EXPECT_EQ(elements(causal.stored_P), elements(t.stored_P)) << "N x N, masked or not";
  EXPECT_EQ(causal.skipped_tiles, 6);
  EXPECT_EQ(elements(causal.flash2), 8 * n * d + n + 12 * 32 * (4 * d + 2));
}

TEST(BackwardTraffic, CountsTensorsAsTheyAreStored) {
  Experiment e{.problem = {.n = 64, .d = 16}};
  e.a.scaling.K = parse_scaling("int8/token");
  e.backward.a.scaling.dO = parse_scaling("int8/token");
  const BackwardTraffic t = backward_traffic(e);
  const auto bytes = [&](std::string_view what) { return std::ranges::find(t.flash2, what, &TrafficPart::what)->bytes; };
  EXPECT_EQ(bytes("K in"), 1.25);
  EXPECT_EQ(bytes("V in"), 2);
  EXPECT_EQ(bytes("dO in"), 1.25);
  EXPECT_EQ(bytes("O, dO in for delta"), 2) << "delta takes dO as it is given";
}

TEST(UsefulFlops, OfTheBackwardPassAreOneOfEachProductButTheScores) {
  with_seeds(1, 50, [&](Dice& dice) {
    const Problem p = small(dice).problem;
    const double d = p.d, d_v = value_columns(p);
    EXPECT_EQ(useful_backward_flops(p), visible_pairs(p) * (2 * d_v + 2 * d_v + 2 * d + 2 * d));
  });
}

TEST(UsefulFlops, AreFourDForEveryPairThatMeets) {
  with_seeds(1, 200, [&](Dice& dice) {
    const Problem p = small(dice).problem;
    double flops = 0;
    for (int row = 0; row < p.n; ++row)
      for (int key = visible_keys(p, row).first; key < visible_keys(p, row).end; ++key) flops += 2 * (p.d + value_columns(p));
    ASSERT_EQ(useful_flops(p), flops);
    ASSERT_EQ(visible_pairs(p) * 2 * (p.d + value_columns(p)), flops);
  });
}

TEST(OnChip, HoldsTheTilesOfOneStep) {
  with_seeds(1, 200, [&](Dice& dice) {
    const Experiment e = small(dice);
    const int rows = std::min(e.a.block_q, e.problem.n), keys = std::min(e.a.block_k, key_count(e.problem));
    const OnChip c = on_chip(e.problem, e.a);
    ASSERT_EQ(c.Q, rows * e.problem.d);
    ASSERT_EQ(c.O, rows * value_columns(e.problem));
    ASSERT_EQ(c.K, keys * e.problem.d);
    ASSERT_EQ(c.V, keys * value_columns(e.problem));
    ASSERT_EQ(c.S, rows * keys);
    ASSERT_EQ(c.m_and_l, 2 * rows);
    ASSERT_EQ(c.total(), c.Q + c.K + c.V + c.O + c.S + c.m_and_l);
    ASSERT_EQ(static_cast<double>(traffic(e).on_chip_elements), c.Q + c.K + c.V + c.O);
  });
}

TEST(OnChip, TheFourTilesOfThePapersRuleShareM) {
  for (const int d : {16, 64, 128})
    for (int quarter = 1; quarter <= 64; ++quarter) {
      const int elements = 4 * d * quarter;  // divisible by the rule without a rest
      Experiment e{.problem = {.n = 1 << 20, .d = d}};
      const TileSizes t = tiles_for_memory(elements, d);
      e.a.block_q = t.block_q, e.a.block_k = t.block_k;
      EXPECT_LE(traffic(e).on_chip_elements, elements);
    }
}

TEST(ElementBytes, AreWhole) {
  EXPECT_EQ(element_bytes(e4m3), 1);
  EXPECT_EQ(element_bytes(bf16), 2);
  EXPECT_EQ(element_bytes({5, 3}), 2);
  EXPECT_EQ(element_bytes(tf32), 3);
  EXPECT_EQ(element_bytes(fp32), 4);
  EXPECT_EQ(element_bytes(fp64), 8);
}

TEST(Roofline, BendsAtTheRidge) {
  for (const DataSheet& machine : data_sheets) {
    const double bend = ridge(machine);
    EXPECT_DOUBLE_EQ(attainable(machine, bend), machine.tera_flops) << machine.name;
    EXPECT_DOUBLE_EQ(attainable(machine, bend / 8), machine.tera_flops / 8) << machine.name;
    EXPECT_EQ(attainable(machine, bend * 8), machine.tera_flops) << machine.name;
    EXPECT_DOUBLE_EQ(attainable(machine, 1) * 1e12, machine.giga_bytes * 1e9) << machine.name;
  }
  EXPECT_NEAR(ridge(data_sheets[0]), 153, 0.1);  // 312 Tflop/s over 2.039 TB/s
}

std::vector<Experiment> looped_experiments() {
  std::vector<Experiment> all;
  for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window, Mask::Kind::padding})
    for (const auto& [block_q, block_k] : {std::pair{64, 64}, {16, 64}, {64, 16}, {50, 7}, {4096, 4096}, {1, 300}})
      for (const bool reversed : {false, true}) {
        Experiment e = testing::sized_experiment(300, 32);
        e.problem.mask = {mask, 70};
        e.a.block_q = block_q;
        e.a.block_k = block_k;
        e.a.reverse_keys = reversed;
        all.push_back(e);
      }
  return all;
}

TEST(LoopSteps, MoveWhatTrafficCounts) {
  for (const Experiment& e : looped_experiments()) {
    const Traffic t = traffic(e);
    const auto queries = loop_steps(e, LoopOrder::queries_outside), keys = loop_steps(e, LoopOrder::keys_outside);
    ASSERT_FALSE(queries.empty());
    EXPECT_EQ(queries.back().bytes, t.flash2);
    EXPECT_EQ(keys.back().bytes, t.flash1);
    EXPECT_EQ(static_cast<std::int64_t>(queries.size()), t.tiles - t.skipped_tiles);
    EXPECT_EQ(queries.size(), keys.size());
    EXPECT_EQ(loop_cells(e), t.tiles);
  }
}

/// Bytes of an element of the stored tensors: 9/8, 9/16 and 1.
TEST(LoopSteps, CountTensorsAsTheyAreStored) {
  for (Experiment e : looped_experiments()) {
    const double plain = traffic(e).flash2;
    e.a.scaling = {
        .Q = parse_scaling("int8/token"), .K = parse_scaling("e2m1/block:16/e4m3"), .V = parse_scaling("e4m3/head/x256")};
    const Traffic t = traffic(e);
    EXPECT_LT(t.flash2, plain);
    EXPECT_EQ(loop_steps(e, LoopOrder::queries_outside).back().bytes, t.flash2);
    EXPECT_EQ(loop_steps(e, LoopOrder::keys_outside).back().bytes, t.flash1);
  }
}

/// FlashAttention-2 stores O and the log-sum-exp of each row once, FlashAttention-1 O, l and m of each row for every tile.
TEST(LoopSteps, StoreWhatTheAlgorithmsStore) {
  Experiment e = testing::sized_experiment(300, 32);
  const auto stored = [&](LoopOrder order) {
    double sum = 0;
    for (const LoopStep& s : loop_steps(e, order)) sum += s.stored;
    return sum / element_bytes(e.format);
  };
  EXPECT_EQ(stored(LoopOrder::queries_outside), 300 * (32 + 1));
  EXPECT_EQ(stored(LoopOrder::keys_outside), 5 * 300 * (32 + 2));
  EXPECT_EQ(loop_steps(e, LoopOrder::queries_outside)[0].stored, 0) << "the block's O stays on the chip until its last tile";
}

TEST(LoopSteps, ComputeEveryPairWithoutAMask) {
  Experiment e = default_experiment();
  e.problem.n = 300;
  for (const LoopOrder order : {LoopOrder::queries_outside, LoopOrder::keys_outside})
    EXPECT_EQ(loop_steps(e, order).back().flops, useful_flops(e.problem));
}

TEST(LoopSteps, GoInTheOrderOfTheirLoops) {
  Experiment e = default_experiment();
  e.problem.n = 128;
  const auto queries = loop_steps(e, LoopOrder::queries_outside), keys = loop_steps(e, LoopOrder::keys_outside);
  ASSERT_EQ(queries.size(), 4u);
  EXPECT_EQ(queries[1].query_block, 0);
  EXPECT_EQ(queries[1].key_tile, 1);
  EXPECT_FALSE(queries[1].outer_begins);
  EXPECT_TRUE(queries[2].outer_begins);
  EXPECT_EQ(keys[1].query_block, 1);
  EXPECT_EQ(keys[1].key_tile, 0);
  for (const auto& steps : {queries, keys})
    for (std::size_t i = 1; i < steps.size(); ++i) {
      EXPECT_GT(steps[i].bytes, steps[i - 1].bytes);
      EXPECT_GT(steps[i].flops, steps[i - 1].flops);
    }
}

}  // namespace
}  // namespace attoscope
