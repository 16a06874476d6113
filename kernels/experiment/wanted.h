/// Optional parts of an answer.
#pragma once

namespace attoscope {

/// Parts that are computed only if they are wanted; nothing else of the answer depends on them.
struct Wanted {
  bool wasserstein = true;  ///< `Deviation::wasserstein`, for which all values are sorted
  bool trace = true;        ///< `Result::trace`

  bool covers(const Wanted& other) const { return (wasserstein || !other.wasserstein) && (trace || !other.trace); }
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

}  // namespace attoscope
