/// The double loop of FlashAttention, step by step: the block of queries and the tile of keys of each step, with the bytes and
/// operations up to then.
#pragma once

#include <vector>

namespace attoscope {

struct Experiment;

/// queries: FlashAttention-2, blocks of queries outside. keys: FlashAttention-1, tiles of keys outside.
enum class LoopOrder { queries_outside, keys_outside };

/// One block of queries with one tile of keys.
struct LoopStep {
  int query_block = 0, key_tile = 0;
  bool outer_begins = false;  ///< the step loads the block or tile of the outer loop
  double bytes = 0;           ///< between HBM and the chip, from the first step to the end of this one
  double stored = 0;          ///< bytes of this step that leave the chip: O, with FlashAttention-1's l and m or the log-sum-exp
  double flops = 0;           ///< of Q.K and P.V, likewise: pairs of a tile count whether the mask hides them or not
};

/// The steps of method a's tiles, wholly masked ones skipped. The bytes of the last step are those of `traffic`.
std::vector<LoopStep> loop_steps(const Experiment& e, LoopOrder order);

/// Blocks of queries times tiles of keys.
long long loop_cells(const Experiment& e);

}  // namespace attoscope
