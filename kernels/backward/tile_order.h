/// The order in which the key tiles' products are added to dQ.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/arithmetic/random.h"
#include "kernels/experiment/gradient.h"

namespace attoscope {

/// Tiles 0 .. count - 1 in the order of `order`; shuffled: the permutation of query tile u.
class TileOrder {
 public:
  TileOrder(GradOrder order, std::uint64_t seed, int query_tile, int count)
      : descends_from_(order == GradOrder::descending ? count - 1 : -1) {
    if (order != GradOrder::shuffled) return;
    shuffled_.resize(static_cast<std::size_t>(count));
    std::iota(shuffled_.begin(), shuffled_.end(), 0);
    for (int x = count - 1; x >= 0; --x) {
      const Philox<std::uint64_t> p =
          philox<std::uint64_t>(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(query_tile), 0, seed);
      std::swap(shuffled_[static_cast<std::size_t>(x)],
                shuffled_[static_cast<std::size_t>(p.x[0] % (static_cast<std::uint64_t>(x) + 1))]);
    }
  }

  int operator[](int i) const {
    return !shuffled_.empty() ? shuffled_[static_cast<std::size_t>(i)] : descends_from_ >= 0 ? descends_from_ - i : i;
  }

 private:
  int descends_from_;
  std::vector<int> shuffled_;
};

}  // namespace attoscope
