/// A sweep computed by the processes of one mpirun.
#pragma once

#include <functional>
#include <vector>

#include "app/sweep/runner.h"

namespace attoscope::app {

/// The processes of one mpirun while this object exists; a single process is rank 0 of 1.
class Ranks {
 public:
  /// Throws std::runtime_error with one sentence if several processes were started and the program was built without MPI.
  Ranks();
  ~Ranks();
  Ranks(Ranks&&) = delete;

  int count() const { return count_; }
  bool is_root() const { return rank_ == 0; }
  /// Runs `preparation` on the root, then, unless it threw there, on the other ranks. If it throws on some ranks, these throw,
  /// and all others return false.
  bool agree(const std::function<void()>& preparation) const;

  /// Distributes the points among all ranks. Returns the answers of `run_sweep` on the root, nothing on other ranks. If one
  /// rank dies, mpirun ends the others.
  std::vector<SweepAnswer> run(const Sweep& sweep, const SweepOptions& options);

 private:
  int rank_ = 0, count_ = 1;
  bool started_ = false;  ///< this object has started MPI
};

}  // namespace attoscope::app
