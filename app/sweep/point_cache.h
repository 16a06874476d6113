/// Cache of finished points on disk, keyed by their experiment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/sweep/kept_values.h"
#include "app/sweep/sweep.h"
#include "kernels/experiment/arithmetic_version.h"

namespace attoscope::app {

/// Several threads and processes may use one directory. Only programs of the same version and arithmetic find a point.
class PointCache {
 public:
  /// Largest number of files.
  static constexpr std::size_t files = KeptValues::files;

  /// `directory` empty: caches nothing. If the cache exceeds `limit_bytes`, a write removes the oldest points of its file
  /// except points that this object found or kept since `begin_sweep`.
  explicit PointCache(const std::string& directory, std::uint64_t limit_bytes = 256 << 20, int arithmetic = arithmetic_version);

  /// The cached point of the experiment; none: not cached.
  std::optional<PointSummary> find(const Experiment& experiment) const;
  /// True if points of the experiment are cached. False without a directory, for `hardware` (another GPU or driver may round
  /// differently), and for a scale over all heads (the input's digest does not cover it).
  bool keeps(const Experiment& experiment) const;
  /// Begins another sweep: points found or kept so far may be removed.
  void begin_sweep();
  /// Caches a point if `keeps`. A failure, such as a full or read-only disk, only sets `remark`.
  void keep(const Experiment& experiment, const PointSummary& summary);
  /// One sentence on the first failure; "" if none.
  std::string remark() const;

 private:
  std::string question_of(const Experiment& experiment) const;

  const KeptValues& values_of(const Experiment& experiment) const;
  KeptValues& values_of(const Experiment& experiment);

  int arithmetic_;
  KeptValues values_, backward_values_;  ///< points without and with a backward pass: their sizes differ
};

/// Converts a summary to 8 bytes per number, and back; none if the size is wrong.
std::string packed_summary(const PointSummary& summary);
std::optional<PointSummary> unpacked_summary(std::string_view bytes);

}  // namespace attoscope::app
