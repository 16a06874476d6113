/// What of an answer somebody looks at.
#pragma once

namespace attoscope {

/// Parts that are only computed where they are wanted; nothing else of the answer depends on them.
struct Wanted {
  bool wasserstein = true;  ///< `Deviation::wasserstein`, for which all values are sorted
  bool trace = true;        ///< `Result::trace`

  bool covers(const Wanted& other) const { return (wasserstein || !other.wasserstein) && (trace || !other.trace); }
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

}  // namespace attoscope
