/// A device that computes passes of the backward pass over the rows instead of the CPU, with the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backward/gradient_rule.h"
#include "kernels/backward/row_blocks.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/gradients.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Rows of a device's blocks.
inline constexpr int device_rows = 32;

/// One pass over the rows, and what comes of it; arrays lie on the host.
template <class T>
struct GradientPass {
  const GradientRule<T>& rule;
  const RowBlocks& blocks;  ///< of at most device_rows rows
  std::vector<int> cuts;    ///< the blocks at which the sums of dK and dV may be interrupted, from 0 to the last one's end
  int block_q = 1;          ///< rows of a query tile
  KeyList keys{};
  int queries = 0;                     ///< of the problem
  bool has_queries = false;            ///< dQ of the blocks' places is wanted
  bool has_sums = false;               ///< delta, L, dK and dV are
  std::int64_t* lost_count = nullptr;  ///< [row]: becomes the number of keys whose dS is lost; null: not wanted
};

/// Checks as the whole does; its rows, as those of the forward pass, do not count.
struct UncountedSign final : StopSign {
  explicit UncountedSign(const StopSign& all) : whole(all) { isa = all.isa; }
  void check() const override { whole.check(); }
  void worked(double ms) const override { whole.worked(ms); }
  const StopSign& whole;
};

class GradientDevice {
 public:
  virtual ~GradientDevice() = default;
  /// The forward pass of rows 0 .. queries - 1, and its states. Both throw DeviceFailure if the device fails, and what `stop`
  /// throws.
  virtual void forward(const Job<float>& job, int queries, Matrix& output, RowStates<float>& states, const StopSign& stop) = 0;
  virtual void forward(const Job<double>& job, int queries, Matrix& output, RowStates<double>& states,
                       const StopSign& stop) = 0;
  /// Computes the pass into `g`, whose arrays have their sizes. Rows count once their sums of dK and dV are done.
  virtual void run(const GradientPass<float>& pass, Gradients& g, const StopSign& stop) = 0;
  virtual void run(const GradientPass<double>& pass, Gradients& g, const StopSign& stop) = 0;
};

}  // namespace attoscope
