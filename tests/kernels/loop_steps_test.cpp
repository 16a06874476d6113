// The double loop, step by step: its bytes are those of traffic(), its operations those of the visited tiles.
#include "kernels/experiment/loop_steps.h"

#include <gtest/gtest.h>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/traffic.h"

namespace attoscope {
namespace {

std::vector<Experiment> experiments() {
  std::vector<Experiment> all;
  for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window, Mask::Kind::padding})
    for (const auto& [block_q, block_k] : {std::pair{64, 64}, {16, 64}, {64, 16}, {50, 7}, {4096, 4096}, {1, 300}})
      for (const bool reversed : {false, true}) {
        Experiment e = default_experiment();
        e.problem.n = 300;
        e.problem.d = 32;
        e.problem.mask = {mask, 70};
        e.a.block_q = block_q;
        e.a.block_k = block_k;
        e.a.reverse_keys = reversed;
        all.push_back(e);
      }
  return all;
}

TEST(LoopSteps, MoveWhatTrafficCounts) {
  for (const Experiment& e : experiments()) {
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

/// FlashAttention-2 stores O and the log-sum-exp of each row once, FlashAttention-1 O, l and m of each row for every tile.
TEST(LoopSteps, StoreWhatTheAlgorithmsStore) {
  Experiment e = default_experiment();
  e.problem.n = 300;
  e.problem.d = 32;
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
