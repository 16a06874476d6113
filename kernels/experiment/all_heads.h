/// Largest magnitudes over all heads of a call, for scales that the heads share.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "kernels/experiment/scaling.h"

namespace attoscope {

struct StopSign;

/// The largest finite magnitudes of Q, K and V over all heads of a call, computed on demand and cached.
class AllHeads {
 public:
  using Find = std::function<double(ScaledTensor, const StopSign&)>;
  explicit AllHeads(Find find) : find_(std::move(find)) {}

  /// Largest magnitude in Q, K or V. Thread-safe; throws what `find` throws.
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

/// The largest magnitude over all heads if the storage has one scale for them; 0 if it has not, or without other heads.
inline double largest_of_all(const AllHeads* all, const Scaling& s, ScaledTensor t, const StopSign& stop) {
  return all != nullptr && s.granularity == Granularity::tensor && s.rule != ScaleRule::fixed ? all->largest(t, stop) : 0;
}

}  // namespace attoscope
