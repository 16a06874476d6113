/// Finished points on disk, found again by their experiment: nothing is computed twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "app/sweep/sweep.h"
#include "kernels/experiment/arithmetic_version.h"

namespace attoscope {

/// $XDG_CACHE_HOME/attoscope/points, else ~/.cache/attoscope/points; empty where there is no home.
std::string default_point_cache();

/// Many threads and many processes may use one directory: a file appears whole or not at all. A damaged file counts as absent.
/// A point is known only to programs of the version and the arithmetic that computed it.
class PointCache {
 public:
  /// `directory` empty: remembers nothing. Older files go away where all together exceed `limit_bytes`.
  explicit PointCache(std::string directory, std::uint64_t limit_bytes = 256 << 20, int arithmetic = arithmetic_version);

  /// What is kept of the experiment; none where it is not known.
  std::optional<PointSummary> find(const Experiment& experiment) const;
  /// Whether it keeps points of the experiment: not where a or b is `hardware`, since another GPU, or another driver, may round
  /// otherwise, and not without a directory.
  bool keeps(const Experiment& experiment) const;
  /// Keeps it, where it `keeps` such points. A disk that is full or read-only is remembered in `remark`, and nothing else
  /// happens.
  void keep(const Experiment& experiment, const PointSummary& summary);
  /// One sentence about the first thing that went wrong; empty: nothing did.
  std::string remark() const;

 private:
  std::string key_of(const Experiment& experiment) const;
  std::string path_of(const std::string& key) const;
  void make_room() const;

  std::string directory_;
  std::uint64_t limit_;
  int arithmetic_;
  std::atomic<int> failure_{0};  ///< errno of the first failure
};

/// A summary as JSON text, and back; none where the text is not one.
std::string summary_text(const PointSummary& summary);
std::optional<PointSummary> parse_summary(std::string_view text);

}  // namespace attoscope
