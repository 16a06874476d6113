/// Query rows cut into the blocks that fill an instruction set's lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/lanes/job.h"

namespace attoscope {

/// Blocks of ascending rows. `cuts`: none has rows of two query tiles; `last_first`: then the tiles come from the last to the
/// first, each with its blocks in ascending order.
class RowBlocks {
 public:
  RowBlocks(const std::vector<int>& rows, int height, int block_q, bool cuts, bool last_first)
      : rows_(rows), places_(rows.size()), block_q_(block_q) {
    std::iota(places_.begin(), places_.end(), 0);
    const int count = static_cast<int>(rows.size());
    for (int first = 0; first < count;) {
      const int tile = row(first) / block_q;
      int end = std::min(count, first + height);
      while (cuts && row(end - 1) / block_q != tile) --end;
      blocks_.push_back({rows_.data() + first, end - first, first});
      first_rows_.push_back(tile * block_q);
      first = end;
    }
    if (last_first) turn_tiles();
  }
  RowBlocks(RowBlocks&&) = delete;

  int count() const { return static_cast<int>(blocks_.size()); }
  const RowBlock& operator[](int i) const { return blocks_[static_cast<std::size_t>(i)]; }
  /// The query tile of the block's first row.
  int tile(int i) const { return first_rows_[static_cast<std::size_t>(i)] / block_q_; }
  /// [block]: the first row of that tile.
  const int* first_rows() const { return first_rows_.data(); }
  /// The places of the block's rows in the list, or those that were set.
  const int* places(int i) const { return places_.data() + (*this)[i].first; }
  void set_places(std::vector<int> places) { places_ = std::move(places); }
  /// The places of all rows, and the rows.
  const std::vector<int>& all_places() const { return places_; }
  const std::vector<int>& rows() const { return rows_; }

 private:
  int row(int i) const { return rows_[static_cast<std::size_t>(i)]; }
  void turn_tiles() {
    std::vector<RowBlock> blocks;
    std::vector<int> tiles;
    for (std::size_t end = first_rows_.size(); end > 0;) {
      std::size_t first = end - 1;
      while (first > 0 && first_rows_[first - 1] == first_rows_[end - 1]) --first;
      blocks.insert(blocks.end(), blocks_.begin() + static_cast<std::ptrdiff_t>(first),
                    blocks_.begin() + static_cast<std::ptrdiff_t>(end));
      tiles.insert(tiles.end(), end - first, first_rows_[first]);
      end = first;
    }
    blocks_ = blocks;
    first_rows_ = tiles;
  }

  std::vector<int> rows_, places_, first_rows_;
  int block_q_;
  std::vector<RowBlock> blocks_;
};

}  // namespace attoscope
