/// A backward pass in parts, each with the bits of the whole: P, dP and dS of some rows and keys, and the running sums of dQ,
/// dK and dV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Some rows by some keys, row-major; NaN if the row does not see the key.
struct GradientPairs {
  std::vector<double> p, dp, ds;   ///< as the products read them; dP after its step
  std::vector<char> lost;          ///< 1 if ds is 0 but the exact dS of the method's own P, dP and delta is not
  std::vector<double> lse, delta;  ///< [row], as Gradients::lse and delta
};

/// One key tile, in the order in which dQ adds them: its sum and the sum after it, both times dQ's factor, before step dQ.
struct QueryTileSums {
  int tile = 0;
  std::vector<double> added, running;
};
struct QueryRun {
  GradientPairs pairs;               ///< of the query and all keys
  std::vector<QueryTileSums> tiles;  ///< tiles with a key that the query sees
};

/// One query tile, in the order in which dK and dV add them: the sums after it, dK's times its factor, before steps dK and dV.
struct KeyTileSums {
  int tile = 0;
  std::vector<double> dk, dv;
};
struct KeyRun {
  GradientPairs pairs;             ///< of all queries and the key
  std::vector<KeyTileSums> tiles;  ///< tiles with a query that sees the key
};

/// Order of dQ's key tiles.
struct TileSchedule {
  GradOrder order = GradOrder::ascending;
  std::uint64_t seed = 1;
  int buffers = 1;
};

/// Computes parts of one backward pass; keeps its inputs and the finished rows of the forward pass. Not thread-safe.
class PartialBackward {
 public:
  virtual ~PartialBackward() = default;
  /// Sets the stop sign of later calls; it must have the same instruction set and outlive those calls.
  virtual void follow(const StopSign& stop) = 0;
  /// `rows` and `keys` ascend.
  virtual GradientPairs pairs(const std::vector<int>& rows, const std::vector<int>& keys) = 0;
  /// Golden's results have no tiles, since its products are not cut. of_key runs the forward pass of all queries once.
  virtual QueryRun of_query(int query) = 0;
  virtual KeyRun of_key(int key) = 0;
  /// dQ of some rows in each of these orders; all orders add the same products.
  virtual std::vector<Matrix> query_gradients(const std::vector<int>& rows, std::span<const TileSchedule> orders) = 0;
};

/// The passes of an experiment on the CPU; a or b is null if the method is not emulated.
struct PartialPasses {
  std::shared_ptr<const Tensors> inputs;  ///< rounded for all methods
  std::vector<double> d_o;                ///< n x d_v
  std::unique_ptr<PartialBackward> golden, a, b;
  void follow(const StopSign& stop) const {
    for (PartialBackward* pass : {golden.get(), a.get(), b.get()})
      if (pass != nullptr) pass->follow(stop);
  }
};
PartialPasses partial_passes(const Experiment& e, const StopSign& stop);

}  // namespace attoscope
