/// A sweep as a value: what is varied, what is measured; and the points that it consists of.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/sweep/axis.h"
#include "kernels/result.h"

namespace attoscope {

/// The numbers of a Deviation that a point keeps.
struct DeviationNumbers {
  double max_abs = 0, mean_abs = 0, rms = 0, std = 0, bias = 0, rel_rms = 0, cosine = 0, wasserstein = 0, max_ulp = 0;
  double nonfinite = 0;

  friend bool operator==(const DeviationNumbers&, const DeviationNumbers&) = default;
};
struct DeviationField {
  std::string_view name, title;
  double DeviationNumbers::* value;
  bool has_unit;  ///< of the output: can be divided by the RMS of golden
};
inline constexpr std::array<DeviationField, 10> deviation_fields{{
    {"max_abs", "max |error|", &DeviationNumbers::max_abs, true},
    {"mean_abs", "mean |error|", &DeviationNumbers::mean_abs, true},
    {"rms", "RMS error", &DeviationNumbers::rms, true},
    {"std", "std of the error", &DeviationNumbers::std, true},
    {"bias", "mean error", &DeviationNumbers::bias, true},
    {"rel_rms", "RMS error / RMS", &DeviationNumbers::rel_rms, false},
    {"cosine", "cosine", &DeviationNumbers::cosine, false},
    {"wasserstein", "Wasserstein-1", &DeviationNumbers::wasserstein, true},
    {"max_ulp", "max error, ulps", &DeviationNumbers::max_ulp, false},
    {"nonfinite", "NaN and infinite elements", &DeviationNumbers::nonfinite, false},
}};

/// What is kept of a Result: its size does not depend on N.
struct PointSummary {
  DeviationNumbers a, b, a_minus_b;
  double golden_rms = 0;
  double rescales = 0, expected_rescales = 0, nominal_rescales = 0;  ///< mean over rows
  double algorithm0 = 0, flash1 = 0, flash2 = 0;                     ///< HBM bytes
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;

  friend bool operator==(const PointSummary&, const PointSummary&) = default;
};
PointSummary summary(const Result& result);

/// One number of a summary: "a.mean_abs", "b.rms", "a_minus_b.max_abs", "ratio.mean_abs" (a over b), the first three also over
/// the RMS of golden ("a.mean_abs/golden"); "rescales", "expected_rescales", "flash2_bytes", ...
struct Measure {
  std::string name;
  friend bool operator==(const Measure&, const Measure&) = default;
};
/// Throws std::invalid_argument in a sentence.
Measure parse_measure(std::string_view text);
double value_of(const Measure& measure, const PointSummary& summary);
/// "mean |error| of a", for axes and captions.
std::string title_of(const Measure& measure);

/// Every combination of the axes' values, each with seeds base.problem.seed, +1, ...
struct Sweep {
  Experiment base;
  std::vector<Axis> axes;  ///< one or two
  int seeds = 1;
  Measure measure{"a.mean_abs"};

  friend bool operator==(const Sweep&, const Sweep&) = default;
};
inline constexpr int max_seeds = 10000;
inline constexpr std::size_t max_points = 1000000;

/// Where a point stands in its sweep.
struct PointPlace {
  std::array<int, 2> at{};  ///< which value of each axis
  int seed = 0;             ///< 0 .. seeds - 1
};

/// How many points there are. Throws std::invalid_argument in a sentence where the sweep makes no sense or has too many.
std::size_t point_count(const Sweep& sweep);
/// The place of point `index` of 0 .. point_count - 1: points that share a truth stand together.
PointPlace place_of(const Sweep& sweep, std::size_t index);
/// Its experiment, tensors read. Throws as `vary`, `load_tensors` and `validate` do.
Experiment experiment_of(const Sweep& sweep, std::size_t index);

}  // namespace attoscope
