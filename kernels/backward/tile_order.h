/// The order in which the key tiles' products are added to dQ.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/arithmetic/random.h"
#include "kernels/experiment/gradient.h"

namespace attoscope {

/// tiles = the permutation of 0 .. count - 1 for query tile u.
template <class Tiles>
ATTOSCOPE_HOST_DEVICE inline void shuffle_tiles(Tiles tiles, int count, int query_tile, std::uint64_t seed) {
  for (int i = 0; i < count; ++i) tiles[i] = i;
  for (int x = count - 1; x >= 0; --x) {
    const Philox<std::uint64_t> p =
        philox<std::uint64_t>(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(query_tile), 0, seed);
    const int other = static_cast<int>(p.x[0] % (static_cast<std::uint64_t>(x) + 1)), tile = tiles[x];
    tiles[x] = tiles[other];
    tiles[other] = tile;
  }
}

/// Tiles 0 .. count - 1 in the order of `order`; shuffled: the permutation of query tile u.
class TileOrder {
 public:
  TileOrder(GradOrder order, std::uint64_t seed, int query_tile, int count)
      : descends_from_(order == GradOrder::descending ? count - 1 : -1) {
    if (order != GradOrder::shuffled) return;
    shuffled_.resize(static_cast<std::size_t>(count));
    shuffle_tiles(shuffled_.data(), count, query_tile, seed);
  }

  int operator[](int i) const {
    return !shuffled_.empty() ? shuffled_[static_cast<std::size_t>(i)] : descends_from_ >= 0 ? descends_from_ - i : i;
  }

 private:
  int descends_from_;
  std::vector<int> shuffled_;
};

}  // namespace attoscope
