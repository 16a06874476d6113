/// Measures of the deviation of one matrix from another and of a traced tile, listed once: keys in files and options, names,
/// and display.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/experiment/trace.h"

namespace attoscope {

/// Bins of the histogram of signed ulps: quarter ulps from -8 to 8, and one bin beyond either end.
struct UlpHistogram {
  static constexpr int per_ulp = 4, reach = 8, inner = 2 * reach * per_ulp;
  std::array<std::int64_t, inner + 2> counts{};  ///< [0]: below -reach; [1 + k]: from -reach + k/per_ulp; last: from reach on
};

/// Deviation of x from a reference y, over the elements in which both are finite. NaN if there are none; see `nonfinite`.
struct Deviation {
  double max_abs = 0;      ///< max |x - y|
  double mean_abs = 0;     ///< mean |x - y|
  double rms = 0;          ///< sqrt(mean (x - y)^2)
  double std = 0;          ///< standard deviation of x - y
  double bias = 0;         ///< mean (x - y)
  double rel_rms = 0;      ///< rms / RMS of y
  double cosine = 0;       ///< x.y / (|x| |y|)
  double wasserstein = 0;  ///< Wasserstein-1: mean |sorted x - sorted y|
  double max_ulp = 0;      ///< max |x - y| in ulps of the main format at |y|, or at 1 % of the RMS of y where |y| is smaller
  std::int64_t nonfinite = 0;
  int worst_row = 0, worst_col = 0;  ///< where max_abs is: row of the matrix (not of Q), column
  UlpHistogram ulps{};
};

/// The numbers of a Deviation, all in double, for lists of them.
struct DeviationNumbers {
  double max_abs = 0, mean_abs = 0, rms = 0, std = 0, bias = 0, rel_rms = 0, cosine = 0, wasserstein = 0, max_ulp = 0;
  double nonfinite = 0;

  friend bool operator==(const DeviationNumbers&, const DeviationNumbers&) = default;
};
inline DeviationNumbers numbers_of(const Deviation& d) {
  return {.max_abs = d.max_abs,
          .mean_abs = d.mean_abs,
          .rms = d.rms,
          .std = d.std,
          .bias = d.bias,
          .rel_rms = d.rel_rms,
          .cosine = d.cosine,
          .wasserstein = d.wasserstein,
          .max_ulp = d.max_ulp,
          .nonfinite = static_cast<double>(d.nonfinite)};
}

/// A member of DeviationNumbers.
using DeviationNumber = double DeviationNumbers::*;

struct DeviationMeasure {
  enum class Unit : std::uint8_t { output, none, ulps, elements };
  /// Display in tables: as it is, with its sign, as 1 - x, or as a count.
  enum class Form : std::uint8_t { magnitude, signed_value, from_one, count };

  std::string_view key;    ///< in JSON, in CSV, and after the dot of `--measure a.max_abs`
  std::string_view title;  ///< on axes and in captions
  std::string_view row;    ///< in the report of `run`
  std::string_view label;  ///< in the window's table
  std::string_view what;   ///< definition in a sentence
  std::string_view formula;
  DeviationNumber value;
  Unit unit = Unit::output;
  Form form = Form::magnitude;
};
inline constexpr auto deviation_measures = std::to_array<DeviationMeasure>({
    {"max_abs", "max |error|", "max |x - y|", "max", "The largest error.", "max |x - y|", &DeviationNumbers::max_abs},
    {"mean_abs", "mean |error|", "mean |x - y|", "mean", "The mean error.", "mean |x - y|", &DeviationNumbers::mean_abs},
    {"rms", "RMS error", "rms", "RMS", "The root mean square error.", "sqrt(mean (x - y)^2)", &DeviationNumbers::rms},
    {"std", "std of the error", "standard deviation", "std", "Standard deviation of the error: its spread about the bias.",
     "sqrt(RMS^2 - bias^2)", &DeviationNumbers::std},
    {"bias", "mean error", "bias (mean x - y)", "bias", "Signed mean error: what does not average out.", "mean (x - y)",
     &DeviationNumbers::bias, DeviationMeasure::Unit::output, DeviationMeasure::Form::signed_value},
    {"rel_rms", "RMS error / RMS", "rms / rms of golden", "rel. RMS", "RMS error over the RMS of the reference.",
     "RMS(x - y) / RMS(y)", &DeviationNumbers::rel_rms, DeviationMeasure::Unit::none},
    {"cosine", "cosine", "1 - cosine", "1−cos", "The difference of the two outputs' directions.", "1 - x.y / (|x| |y|)",
     &DeviationNumbers::cosine, DeviationMeasure::Unit::none, DeviationMeasure::Form::from_one},
    {"wasserstein", "Wasserstein-1", "Wasserstein-1", "W1",
     "Wasserstein-1 distance of the sorted values. It hides permutations, so never read it alone.", "mean |sort(x) - sort(y)|",
     &DeviationNumbers::wasserstein},
    {"max_ulp", "max error, ulps", "max ulp", "max ulp",
     "The largest error in ulps of the main format at |y|; at 1 % of the RMS of y where |y| is smaller.",
     "max |x - y| / ulp(max(|y|, RMS/100))", &DeviationNumbers::max_ulp, DeviationMeasure::Unit::ulps},
    {"nonfinite", "NaN and infinite elements", "not finite", "NaN, inf",
     "Elements that are NaN or infinite; every other number of this table leaves them out.", "", &DeviationNumbers::nonfinite,
     DeviationMeasure::Unit::elements, DeviationMeasure::Form::count},
});

/// True if the measure has the output's unit, so that it can be divided by the RMS of golden.
constexpr bool is_divisible(const DeviationMeasure& m) { return m.unit == DeviationMeasure::Unit::output; }

/// The measure with this key; null: none.
inline const DeviationMeasure* deviation_measure(std::string_view key) {
  const auto* const found = std::ranges::find(deviation_measures, key, &DeviationMeasure::key);
  return found == deviation_measures.end() ? nullptr : found;
}

/// f(key, number) for every number of a traced tile, in the order of files.
template <class F>
void visit_tile(const TraceTile& t, F f) {
  f("tile", t.tile);
  f("max_true", t.max_true);
  f("max_used", t.max_used);
  f("alpha", t.alpha);
  f("l", t.l);
  f("o_norm", t.o_norm);
  f("p_max", t.p_max);
  f("saturated", t.saturated);
  f("underflowed", t.underflowed);
  f("ties", t.ties);
  f("moved", t.moved);
  f("error", t.error);
}

/// 1 - x for a cosine, at least 0 despite rounding; x for every other measure.
constexpr double shown_number(const DeviationMeasure& m, double x) {
  if (m.form != DeviationMeasure::Form::from_one) return x;
  return x > 1 ? 0 : 1 - x;  // NaN stays: an output of zeros has no direction
}

}  // namespace attoscope
