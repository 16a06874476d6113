/// A backward pass in parts, each with the bits of the whole: P, dP and dS of some rows and keys, and dQ, dK and dV on their
/// way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Some rows by some keys, row-major; NaN where the row does not see the key.
struct GradientPairs {
  std::vector<double> p, dp, ds;   ///< as they enter the products, dP after its step
  std::vector<char> lost;          ///< 1 where ds is 0 and the exact dS of the method's own P, dP and delta is not
  std::vector<double> lse, delta;  ///< of each row, as Gradients::lse and delta
};

/// One key tile in the order in which dQ takes them: what it adds, and the sum after it, both times dQ's factor and not
/// rounded by step dQ.
struct QueryTileSums {
  int tile = 0;
  std::vector<double> added, running;
};
struct QueryRun {
  GradientPairs pairs;               ///< of the query and all keys
  std::vector<QueryTileSums> tiles;  ///< in which the query sees a key
};

/// One query tile in the order in which dK and dV take them: the sums after it, dK's times its factor, not rounded by steps dK
/// and dV.
struct KeyTileSums {
  int tile = 0;
  std::vector<double> dk, dv;
};
struct KeyRun {
  GradientPairs pairs;             ///< of all queries and the key
  std::vector<KeyTileSums> tiles;  ///< in which a query sees the key
};

/// An order of dQ's key tiles.
struct TileSchedule {
  GradOrder order = GradOrder::ascending;
  std::uint64_t seed = 1;
  int buffers = 1;
};

/// Keeps its inputs and the forward pass as far as it was run. One thread asks at a time.
class PartialBackward {
 public:
  virtual ~PartialBackward() = default;
  /// Takes this sign from now on, of the same instruction set; it is to outlive every question.
  virtual void follow(const StopSign& stop) = 0;
  /// `rows` and `keys` ascend.
  virtual GradientPairs pairs(const std::vector<int>& rows, const std::vector<int>& keys) = 0;
  /// Golden's have no tiles: its products are not cut. For a key the forward pass of all queries is run once.
  virtual QueryRun of_query(int query) = 0;
  virtual KeyRun of_key(int key) = 0;
  /// dQ of some rows in each of these orders of the same products.
  virtual std::vector<Matrix> query_gradients(const std::vector<int>& rows, std::span<const TileSchedule> orders) = 0;
};

/// The passes of an experiment on the CPU; a and b are null for methods that are not emulated.
struct PartialPasses {
  std::shared_ptr<const Tensors> inputs;  ///< as rounded for all methods
  std::vector<double> d_o;                ///< n x d_v
  std::unique_ptr<PartialBackward> golden, a, b;
  void follow(const StopSign& stop) const {
    for (PartialBackward* pass : {golden.get(), a.get(), b.get()})
      if (pass != nullptr) pass->follow(stop);
  }
};
PartialPasses partial_passes(const Experiment& e, const StopSign& stop);

}  // namespace attoscope
