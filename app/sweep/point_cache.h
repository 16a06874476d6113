/// Finished points on disk, found again by their experiment: nothing is computed twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/point_pack.h"
#include "app/sweep/sweep.h"
#include "kernels/experiment/arithmetic_version.h"

namespace attoscope {

/// $XDG_CACHE_HOME/attoscope/points, else ~/.cache/attoscope/points; empty where there is no home.
std::string default_point_cache();

/// Many threads and many processes may use one directory. It holds a few files of many points each: "3f-472.points" those whose
/// hash begins with 3f, of 472 bytes. What is torn or damaged counts as absent. A point is known only to programs of the
/// version and the arithmetic that computed it.
class PointCache {
 public:
  /// How many files there are at most.
  static constexpr std::size_t files = 64;

  /// `directory` empty: remembers nothing. Older points go away, file by file as these are written, where all together exceed
  /// `limit_bytes`; but none that this object found or kept since `begin_sweep`.
  explicit PointCache(std::string directory, std::uint64_t limit_bytes = 256 << 20, int arithmetic = arithmetic_version);
  ~PointCache();

  /// What is kept of the experiment; none where it is not known.
  std::optional<PointSummary> find(const Experiment& experiment) const;
  /// Whether it keeps points of the experiment: not where a or b is `hardware`, since another GPU, or another driver, may round
  /// otherwise, and not without a directory.
  bool keeps(const Experiment& experiment) const;
  /// What was found and kept until now may go away: another sweep begins.
  void begin_sweep();
  /// Keeps it, where it `keeps` such points. A disk that is full or read-only is remembered in `remark`, and nothing else
  /// happens.
  void keep(const Experiment& experiment, const PointSummary& summary);
  /// One sentence about the first thing that went wrong; empty: nothing did.
  std::string remark() const;

 private:
  struct File;
  File& file_of(const PackKey& key) const;
  PackKey key_of(const Experiment& experiment) const;
  void remove_older(std::size_t file) const;

  std::string directory_;
  int arithmetic_;
  std::vector<std::unique_ptr<File>> files_;
  std::atomic<int> failure_{0};  ///< errno of the first failure
};

/// A summary as JSON text, and back; none where the text is not one.
std::string summary_text(const PointSummary& summary);
std::optional<PointSummary> parse_summary(std::string_view text);

}  // namespace attoscope
