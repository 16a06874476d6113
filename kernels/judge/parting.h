/// The tile of a loop over keys in which a row of a wrong output parts from what it should be.
#pragma once

#include <vector>

#include "kernels/judge/call_judgement.h"

namespace attoscope {

struct Result;

/// The exact output of a row whose loop ends early: of its first `tiles` tiles of keys, counted from key 0 on.
struct RowPrefix {
  int row = -1, tiles = 0;
  std::vector<double> output{};  ///< d_v values; empty: the row sees no key, or has a single tile
};

/// The prefix of the traced row, other than the whole, to which the loaded output is nearest. a of `followed` has tiles.
RowPrefix nearest_prefix(const Result& followed);

/// The tile, and what tells it.
struct Parting {
  enum class By : std::uint8_t { nothing, keys, prefix } by = By::nothing;
  int tile = -1;  ///< from key 0 on
  int key = -1;   ///< the first wrong key that the row meets
};

/// The tile in which the traced row of a wrong output parts: that of the first key that the named slip says is wrong, or behind
/// the prefix that its output is rounded from.
Parting parting_of(const CallJudgement& call, const Result& followed, const RowPrefix& prefix);

}  // namespace attoscope
