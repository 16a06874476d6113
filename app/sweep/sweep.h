/// A sweep as a value: varied parameters and measure; and its points.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/sweep/axis.h"
#include "app/sweep/repeats.h"
#include "kernels/experiment/measures.h"

namespace attoscope {
struct Result;
}  // namespace attoscope

namespace attoscope::app {

/// Deviations of a method's dQ, dK and dV from golden, or of a's from b's.
struct GradientNumbers {
  DeviationNumbers dq, dk, dv;
  friend bool operator==(const GradientNumbers&, const GradientNumbers&) = default;
};

/// Numbers of a backward pass.
struct BackwardSummary {
  GradientNumbers a, b, a_minus_b;
  double golden_dq_rms = 0, golden_dk_rms = 0, golden_dv_rms = 0;
  double a_delta_max = 0, a_delta_rms = 0, a_delta_bias = 0, b_delta_max = 0, b_delta_rms = 0, b_delta_bias = 0;
  double golden_dsink = 0, a_dsink = 0, b_dsink = 0;
  double a_lost_ds = 0, b_lost_ds = 0;
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;

  friend bool operator==(const BackwardSummary&, const BackwardSummary&) = default;
};

/// Numbers of a Result that do not grow with N.
struct PointSummary {
  DeviationNumbers a, b, a_minus_b;
  double golden_rms = 0;
  double rescales = 0, expected_rescales = 0, nominal_rescales = 0;  ///< mean over rows
  double algorithm0 = 0, flash1 = 0, flash2 = 0;                     ///< HBM bytes
  /// RMS of the parts of the errors (see `ErrorParts`). Without scaled storage: storage is 0, arithmetic the whole error.
  double a_storage = 0, a_arithmetic = 0, b_storage = 0, b_arithmetic = 0;
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;
  std::optional<BackwardSummary> backward{};  ///< if the experiment has a backward pass

  friend bool operator==(const PointSummary&, const PointSummary&) = default;
};
PointSummary summary(const Result& result);
/// A summary of zeros, with or without a backward pass.
PointSummary empty_summary(bool backward);

/// A number of a summary that is no deviation.
template <class Summary>
struct NamedMeasure {
  std::string_view name, title;
  double Summary::* value;
};
inline constexpr std::array<NamedMeasure<PointSummary>, 11> plain_measures{{
    {"golden_rms", "RMS of golden", &PointSummary::golden_rms},
    {"rescales", "rescales per row", &PointSummary::rescales},
    {"expected_rescales", "H_T - 1", &PointSummary::expected_rescales},
    {"nominal_rescales", "tiles per row - 1", &PointSummary::nominal_rescales},
    {"algorithm0_bytes", "HBM bytes, Algorithm 0", &PointSummary::algorithm0},
    {"flash1_bytes", "HBM bytes, FlashAttention", &PointSummary::flash1},
    {"flash2_bytes", "HBM bytes, FlashAttention-2", &PointSummary::flash2},
    {"a.storage_rms", "RMS error of storage, a", &PointSummary::a_storage},
    {"a.arithmetic_rms", "RMS error of arithmetic, a", &PointSummary::a_arithmetic},
    {"b.storage_rms", "RMS error of storage, b", &PointSummary::b_storage},
    {"b.arithmetic_rms", "RMS error of arithmetic, b", &PointSummary::b_arithmetic},
}};

inline constexpr std::array<NamedMeasure<BackwardSummary>, 14> backward_measures{{
    {"golden_dq_rms", "RMS of golden dQ", &BackwardSummary::golden_dq_rms},
    {"golden_dk_rms", "RMS of golden dK", &BackwardSummary::golden_dk_rms},
    {"golden_dv_rms", "RMS of golden dV", &BackwardSummary::golden_dv_rms},
    {"a.delta.max_abs", "max |error of delta|, a", &BackwardSummary::a_delta_max},
    {"a.delta.rms", "RMS error of delta, a", &BackwardSummary::a_delta_rms},
    {"a.delta.bias", "mean error of delta, a", &BackwardSummary::a_delta_bias},
    {"b.delta.max_abs", "max |error of delta|, b", &BackwardSummary::b_delta_max},
    {"b.delta.rms", "RMS error of delta, b", &BackwardSummary::b_delta_rms},
    {"b.delta.bias", "mean error of delta, b", &BackwardSummary::b_delta_bias},
    {"golden_dsink", "gradient of the sink, golden", &BackwardSummary::golden_dsink},
    {"a_dsink", "gradient of the sink, a", &BackwardSummary::a_dsink},
    {"b_dsink", "gradient of the sink, b", &BackwardSummary::b_dsink},
    {"a.ds.lost", "share of dS rounded to 0, a", &BackwardSummary::a_lost_ds},
    {"b.ds.lost", "share of dS rounded to 0, b", &BackwardSummary::b_lost_ds},
}};

/// dQ, dK or dV: its name in measures and on axes, its numbers, and the RMS of golden's.
struct SweptGradient {
  std::string_view name, title;
  DeviationNumbers GradientNumbers::* numbers;
  double BackwardSummary::* golden_rms;
};
inline constexpr std::array<SweptGradient, 3> gradient_tensors{{
    {"dq", "dQ", &GradientNumbers::dq, &BackwardSummary::golden_dq_rms},
    {"dk", "dK", &GradientNumbers::dk, &BackwardSummary::golden_dk_rms},
    {"dv", "dV", &GradientNumbers::dv, &BackwardSummary::golden_dv_rms},
}};

/// `visit_summary` for a backward pass; S: BackwardSummary or const BackwardSummary.
template <class S, class F>
void visit_backward(S& s, F f) {
  const auto each = [&](const char* who, auto& gradients) {
    for (const SweptGradient& t : gradient_tensors)
      for (const DeviationMeasure& m : deviation_measures)
        f(std::string(who) + "." + std::string(t.name) + "." + std::string(m.key), gradients.*t.numbers.*m.value);
  };
  each("a", s.a);
  each("b", s.b);
  each("a_minus_b", s.a_minus_b);
  for (const auto& m : backward_measures) f(std::string(m.name), s.*m.value);
  f("golden_gradient_digest", s.golden_digest);
  f("a_gradient_digest", s.a_digest);
  f("b_gradient_digest", s.b_digest);
}

/// Calls f(name, number) for every number, then f(name, digest) for every digest, in the order of files; S: PointSummary or
/// const PointSummary. The backward pass, if any, comes last.
template <class S, class F>
void visit_summary(S& s, F f) {
  const auto each = [&](const char* who, auto& d) {
    for (const DeviationMeasure& m : deviation_measures) f(std::string(who) + "." + std::string(m.key), d.*m.value);
  };
  each("a", s.a);
  each("b", s.b);
  each("a_minus_b", s.a_minus_b);
  for (const auto& m : plain_measures) f(std::string(m.name), s.*m.value);
  f("golden_digest", s.golden_digest);
  f("a_digest", s.a_digest);
  f("b_digest", s.b_digest);
  if (s.backward) visit_backward(*s.backward, f);
}

/// A number of a summary: "a.mean_abs", "b.rms", "a_minus_b.max_abs", "ratio.mean_abs" (a over b); the first three also divided
/// by the RMS of golden ("a.mean_abs/golden"), and all of them for a gradient ("a.dq.mean_abs", "ratio.dk.rms"); "rescales",
/// "expected_rescales", "flash2_bytes", ...
struct Measure {
  std::string name;
  friend bool operator==(const Measure&, const Measure&) = default;
};
/// Throws std::invalid_argument with one sentence if the name is unknown.
Measure parse_measure(std::string_view text);
/// The measure's value; NaN if it needs a backward pass and the point has none.
double value_of(const Measure& measure, const PointSummary& summary);
/// True if the measure needs a backward pass.
bool is_of_backward(const Measure& measure);
/// "mean |error| of a", for axes and captions.
std::string title_of(const Measure& measure);

/// Every combination of the axes' values, each with seeds base.problem.seed, +1, ..., or with heads, layers or windows of
/// tokens.
struct Sweep {
  Experiment base;
  std::vector<Axis> axes;  ///< one or two
  int seeds = 1;           ///< number of repetitions
  Repeats over{};
  Measure measure{"a.mean_abs"};
  std::string like{};              ///< kernel whose tiles a has at every varied d and mask; "": its tiles stay
  std::vector<std::string> set{};  ///< settings of a method that axes replace and that stay, as of `--set`: "a.tau=8"
  std::vector<UsedHead> heads{};   ///< heads that repetitions use; empty for seeds, or if not looked up

  friend bool operator==(const Sweep&, const Sweep&) = default;
};
/// True if its points have a backward pass: the base has one, or an axis varies it.
bool has_backward(const Sweep& sweep);
inline constexpr int max_seeds = 10000;
inline constexpr std::size_t max_points = 1000000;

/// Indices of a point in its sweep.
struct PointPlace {
  std::array<int, 2> at{};  ///< index of each axis' value
  int seed = 0;             ///< the repetition, 0 .. seeds - 1
};

/// True if a value of this axis replaces what a setting of a method has set: a main format replaces "a.tau=8", d and mask the
/// tiles of "a.gradient=grad_fa3", a policy "a.O=fp32".
bool replaces(std::string_view axis, std::string_view setting);

/// One sentence on why seeds change no point; "" if they change one.
std::string why_no_seeds(const Sweep& sweep);

/// Number of points. Throws std::invalid_argument with one sentence if the sweep is invalid or has too many.
std::size_t point_count(const Sweep& sweep);
/// Place of point `index` of 0 .. point_count - 1; points with the same golden value are adjacent.
PointPlace place_of(const Sweep& sweep, std::size_t index);
/// Index of a point's combination of values, the last axis fastest.
std::size_t combination(const Sweep& sweep, const PointPlace& place);
/// True if a varied head is read with all of its tokens, as the base's is.
bool has_whole_heads(const Sweep& sweep);
/// The base with these values of the axes, and with `like` and `set`. Reads no file. Throws as `vary`.
Experiment with_values(const Sweep& sweep, const std::array<int, 2>& at);
/// Places of every value of each axis, with the first value of the other; at most `most` of an axis.
std::vector<std::array<int, 2>> single_values(const Sweep& sweep, std::size_t most = max_axis_values);
/// Experiment of a point, with tensors read. Throws as `vary`, `load_tensors` and `validate`.
Experiment experiment_of(const Sweep& sweep, std::size_t index);

}  // namespace attoscope::app
