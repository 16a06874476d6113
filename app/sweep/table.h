/// A sweep's answers as a table, one row for each combination of values, over seeds; and its points as CSV.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/sweep/runner.h"
#include "kernels/experiment/table.h"

namespace attoscope::app {

/// A measure over the seeds of one combination.
struct SweepRow {
  std::vector<std::string> values;             ///< one of each axis
  int count = 0;                               ///< seeds with an answer
  double mean = 0, std = 0, min = 0, max = 0;  ///< std: of the sample (n - 1), 0 for one seed; NaN if a seed's value is
  std::string error;                           ///< error of a seed without an answer
};

/// Numbers over the seeds' values: mean and standard deviation in two passes, without cancellation; the mean is clamped to
/// [min, max], so that equal values have a spread of exactly 0. NaN without values.
SweepRow row_of(std::span<const double> values);

/// Rows in the order of the axes' values, the last axis fastest; combinations without answers are left out.
std::vector<SweepRow> rows(const Sweep& sweep, const Measure& measure, std::span<const SweepAnswer> answers);

/// One line for each point: the axes' values, the seed, every number of its summary, its digests.
std::string points_csv(const Sweep& sweep, std::span<const SweepAnswer> answers);
/// Parses `points_csv`. Throws std::runtime_error with the line if `text` is not a table of this sweep.
std::vector<SweepAnswer> parse_points_csv(const Sweep& sweep, const std::string& text);

/// One hash over the digests of all points in the order of `answers`; `before`: hash of the points of earlier sweeps.
std::uint64_t points_digest(std::span<const SweepAnswer> answers, std::uint64_t before = 0);

/// One row for each combination: the values of the axes, then mean, spread, least and largest of the measure, and seeds. In
/// tables for people, the error replaces a missing mean.
Table rows_table(const Sweep& sweep, const Measure& measure, std::span<const SweepRow> rows);

}  // namespace attoscope::app
