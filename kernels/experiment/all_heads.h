/// The heads beside the one that is computed.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "kernels/experiment/scaling.h"

namespace attoscope {

struct StopSign;

/// The largest finite magnitudes of Q, K and V over all heads of a call. Each is found on demand, and kept.
class AllHeads {
 public:
  using Find = std::function<double(ScaledTensor, const StopSign&)>;
  explicit AllHeads(Find find) : find_(std::move(find)) {}

  /// Largest magnitude in Q, K or V; from any thread. Throws what finding it throws.
  double largest(ScaledTensor t, const StopSign& stop) const {
    const std::lock_guard lock(mutex_);
    std::optional<double>& known = known_[static_cast<std::size_t>(t)];
    if (!known) known = find_(t, stop);
    return *known;
  }

 private:
  Find find_;
  mutable std::mutex mutex_;
  mutable std::array<std::optional<double>, 3> known_;
};

/// The largest magnitude of all heads if the storage has one scale for them; 0 if it has not, or there is no other head.
inline double largest_of_all(const AllHeads* all, const Scaling& s, ScaledTensor t, const StopSign& stop) {
  return all != nullptr && s.granularity == Granularity::tensor && s.rule != ScaleRule::fixed ? all->largest(t, stop) : 0;
}

}  // namespace attoscope
