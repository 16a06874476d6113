/// Finished points on disk, found again by their experiment: nothing is computed twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/sweep/kept_values.h"
#include "app/sweep/sweep.h"
#include "kernels/experiment/arithmetic_version.h"

namespace attoscope {

/// Many threads and many processes may use one directory. A point is known only to programs of the version and the arithmetic
/// that computed it.
class PointCache {
 public:
  /// How many files there are at most.
  static constexpr std::size_t files = KeptValues::files;

  /// `directory` empty: remembers nothing. Older points go away, file by file as these are written, where all together exceed
  /// `limit_bytes`; but none that this object found or kept since `begin_sweep`.
  explicit PointCache(const std::string& directory, std::uint64_t limit_bytes = 256 << 20, int arithmetic = arithmetic_version);

  /// What is kept of the experiment; none where it is not known.
  std::optional<PointSummary> find(const Experiment& experiment) const;
  /// Whether it keeps points of the experiment: not where a or b is `hardware`, since another GPU, or another driver, may round
  /// otherwise, nor where a scale is of all heads, which the input's digest does not tell apart, and not without a directory.
  bool keeps(const Experiment& experiment) const;
  /// What was found and kept until now may go away: another sweep begins.
  void begin_sweep() { values_.spare_none(); }
  /// Keeps it, where it `keeps` such points. A disk that is full or read-only is remembered in `remark`, and nothing else
  /// happens.
  void keep(const Experiment& experiment, const PointSummary& summary);
  /// One sentence about the first thing that went wrong; empty: nothing did.
  std::string remark() const { return values_.remark(); }

 private:
  std::string question_of(const Experiment& experiment) const;

  int arithmetic_;
  KeptValues values_;
};

/// A summary as JSON text, and back; none where the text is not one.
std::string summary_text(const PointSummary& summary);
std::optional<PointSummary> parse_summary(std::string_view text);

}  // namespace attoscope
