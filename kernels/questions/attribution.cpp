#include "kernels/questions/attribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attoscope {
namespace {

std::vector<ErrorSource> sources_of(const Method& m) {
  std::vector<ErrorSource> sources;
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    if (step != Step::input && m.precision[step] != exact) sources.push_back({.step = step});
  }
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv})
    if (is_tensor_core(m.accumulator[product])) sources.push_back({.sums = product});
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P})
    if (m.scaling[t].is_on()) sources.push_back({.stored = t});
  if (m.scaling.smooths() && m.scaling.smoothed != exact) sources.push_back({.smoothed = true});
  if (m.algorithm == Algorithm::split_kv && m.partial != exact) sources.push_back({.partial = true});
  return sources;
}

/// `m` with `source` taken from `from`.
Method with_one(Method m, const Method& from, const ErrorSource& source) {
  if (source.stored)
    m.scaling[*source.stored] = from.scaling[*source.stored];
  else if (source.sums)
    m.accumulator[*source.sums] = from.accumulator[*source.sums];
  else if (source.smoothed)
    m.scaling.smoothed = from.scaling.smoothed;
  else if (source.partial)
    m.partial = from.partial;
  else
    m.precision[source.step] = from.precision[source.step];
  return m;
}

StepError weighed(const Deviation& d) { return {d.mean_abs, d.rms, d.nonfinite}; }

/// Treats an error without any finite element as infinite.
double or_infinity(double error) { return std::isnan(error) ? std::numeric_limits<double>::infinity() : error; }

void sort_by_relief(std::vector<StepShare>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const StepShare& x, const StepShare& y) {
    if (x.without.nonfinite != y.without.nonfinite) return x.without.nonfinite < y.without.nonfinite;
    return or_infinity(x.without.mean_abs) < or_infinity(y.without.mean_abs);
  });
}

/// See Attribution::combined_rms.
double combined(const StepError& floor, const std::vector<StepShare>& steps) {
  double square = floor.rms * floor.rms;
  for (const StepShare& s : steps) square += s.alone.rms * s.alone.rms - floor.rms * floor.rms;
  return std::sqrt(square < 0 ? 0 : square);
}

}  // namespace

std::string_view name(const ErrorSource& source) {
  constexpr std::array<std::string_view, 4> stored{"Q stored", "K stored", "V stored", "P stored"};
  if (source.stored) return stored[static_cast<std::size_t>(*source.stored)];
  if (source.smoothed) return "smoothed";
  if (source.partial) return "partial O";
  if (!source.sums) return name(source.step);
  return *source.sums == AttentionProduct::qk ? "q.k sums" : "P.V sums";
}

std::string_view what(const ErrorSource& source) {
  if (source.stored) return "elements and scales of the tensor; exact: as given, P in the working type";
  if (source.smoothed) return "means, Q, K and V less their means or rotated, and mean . K";
  if (source.partial) return "O/l of each run, as it is stored before the merge";
  if (!source.sums) return info(source.step).what;
  return *source.sums == AttentionProduct::qk ? "q.k as tensor cores add it; exact: in fp64, rounded to fp32 once"
                                              : "P.V as tensor cores add it; exact: in fp64, rounded to fp32 after 64 keys";
}

Method made_exact(Method m, const ErrorSource& source) {
  return with_one(std::move(m), {.accumulator = {Accumulator::f64, Accumulator::f64}}, source);
}

Method without_rounding(Method m) {
  for (const ErrorSource& source : sources_of(m)) m = made_exact(m, source);
  return m;
}

Attribution attribute(const Experiment& experiment, const Options& options) {
  const Method& a = experiment.a;
  const Method bare = without_rounding(a);
  const std::vector<ErrorSource> sources = is_emulated(a.algorithm) ? sources_of(a) : std::vector<ErrorSource>{};
  std::vector<Method> methods{a, bare};
  for (const ErrorSource& source : sources) methods.insert(methods.end(), {made_exact(a, source), with_one(bare, a, source)});
  const std::vector<Deviation> errors = errors_of(experiment, methods, options);
  Attribution all{.experiment = experiment, .total = weighed(errors[0]), .floor = weighed(errors[1])};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const StepError without = weighed(errors[2 + 2 * i]), alone = weighed(errors[3 + 2 * i]);
    all.steps.push_back({sources[i], without, alone, all.total.mean_abs - without.mean_abs});
  }
  sort_by_relief(all.steps);
  all.combined_rms = combined(all.floor, all.steps);
  all.interaction = all.total.rms - all.combined_rms;
  return all;
}

std::vector<NamedShare> named_shares(const Attribution& all) {
  std::vector<NamedShare> shares;
  for (const StepShare& s : all.steps) shares.push_back({name(s.source), s.without, s.alone, s.relief});
  return shares;
}

Table shares_table(const StepError& total, std::span<const NamedShare> shares) {
  using Share = NamedShare;
  const auto change = [&total](const Share& s) { return std::round(-1000 * s.relief / total.mean_abs) / 10 + 0.0; };  // no -0
  const std::vector<TableColumn<Share>> columns{
      table_column<Share>({.key = "step"}, [](const Share& s) { return s.name; }),
      table_column<Share>({.key = "change",
                           .title = "change, %",
                           .meaning = "Change of the mean error if the step alone were exact.",
                           .shown = ColumnFor::people},
                          change),
      table_column<Share>(
          {.key = "mean_without", .title = "if exact", .digits = 3, .meaning = "The mean error if the step alone were exact."},
          [](const Share& s) { return s.without.mean_abs; }),
      table_column<Share>({.key = "mean_alone",
                           .title = "alone",
                           .digits = 3,
                           .meaning = "The mean error if no other step rounded.",
                           .minor = true},
                          [](const Share& s) { return s.alone.mean_abs; }),
      table_column<Share>({.key = "mean_now", .shown = ColumnFor::files}, [&total](const Share&) { return total.mean_abs; })};
  return table_of(columns, shares);
}

Table attribution_table(const Attribution& all) { return shares_table(all.total, named_shares(all)); }

}  // namespace attoscope
