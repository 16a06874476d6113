/// Interface of a device that computes passes of the backward pass over rows instead of the CPU, with the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/backward/gradient_rule.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/gradients.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Query rows, ascending, cut into blocks that fill an instruction set's lanes. `cuts`: no block has rows of two query tiles;
/// `last_first`: query tiles come last to first, the blocks of each ascending.
class RowBlocks {
 public:
  RowBlocks(const std::vector<int>& rows, int height, int block_q, bool cuts, bool last_first)
      : rows_(rows), places_(numbers(static_cast<int>(rows.size()))), block_q_(block_q) {
    const int count = static_cast<int>(rows.size());
    for (int first = 0; first < count;) {
      const int tile = row(first) / block_q;
      int end = std::min(count, first + height);
      while (cuts && row(end - 1) / block_q != tile) --end;
      blocks_.push_back({rows_.data() + first, end - first, first});
      first = end;
    }
    const auto tile_of = [&](const RowBlock& block) { return block.rows[0] / block_q; };
    if (last_first) std::ranges::stable_sort(blocks_, std::ranges::greater{}, tile_of);
    for (const RowBlock& block : blocks_) first_rows_.push_back(tile_of(block) * block_q);
  }
  RowBlocks(RowBlocks&&) = delete;

  int count() const { return static_cast<int>(blocks_.size()); }
  const RowBlock& operator[](int i) const { return blocks_[static_cast<std::size_t>(i)]; }
  /// Query tile of the block's first row.
  int tile(int i) const { return first_rows_[static_cast<std::size_t>(i)] / block_q_; }
  /// [block]: first row of its query tile.
  const int* first_rows() const { return first_rows_.data(); }
  /// Places of the block's rows: their indices in the list, or the places that were set.
  const int* places(int i) const { return places_.data() + (*this)[i].first; }
  void set_places(std::vector<int> places) { places_ = std::move(places); }
  /// Places of all rows, and the rows.
  const std::vector<int>& all_places() const { return places_; }
  const std::vector<int>& rows() const { return rows_; }

 private:
  int row(int i) const { return rows_[static_cast<std::size_t>(i)]; }

  std::vector<int> rows_, places_, first_rows_;
  int block_q_;
  std::vector<RowBlock> blocks_;
};

/// Rows of one block of a device.
inline constexpr int device_rows = 32;

/// Input of one pass over the rows; arrays lie on the host.
template <class T>
struct GradientPass {
  const GradientRule<T>& rule;
  const RowBlocks& blocks;  ///< of at most device_rows rows each
  std::vector<int> cuts;    ///< blocks at which the sums of dK and dV may be interrupted, from 0 to the last block's end
  int block_q = 1;          ///< rows of a query tile
  KeyList keys{};
  int queries = 0;                     ///< queries of the problem
  bool has_queries = false;            ///< compute dQ at the blocks' places
  bool has_sums = false;               ///< compute delta, L, dK and dV
  std::int64_t* lost_count = nullptr;  ///< [row]: receives the number of keys whose dS is lost; null: not wanted
};

class GradientDevice {
 public:
  virtual ~GradientDevice() = default;
  /// Computes outputs and states of rows 0 .. queries - 1. Every member throws DeviceFailure if the device fails, and what
  /// `stop` throws.
  virtual void forward(const Job<float>& job, int queries, Matrix& output, RowStates<float>& states, const StopSign& stop) = 0;
  virtual void forward(const Job<double>& job, int queries, Matrix& output, RowStates<double>& states,
                       const StopSign& stop) = 0;
  /// Computes the pass into `g`, whose arrays have their sizes. Reports a row once its sums of dK and dV are done.
  virtual void run(const GradientPass<float>& pass, Gradients& g, const StopSign& stop) = 0;
  virtual void run(const GradientPass<double>& pass, Gradients& g, const StopSign& stop) = 0;
};

}  // namespace attoscope
