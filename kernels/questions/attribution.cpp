#include "kernels/questions/attribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/experiment/experiment.h"

namespace attoscope {
namespace {

std::vector<Step> rounding_steps(const Precision& p) {
  std::vector<Step> steps;
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    if (step != Step::input && p[step] != exact) steps.push_back(step);
  }
  return steps;
}

/// The method with all steps exact but the input's.
Method without_rounding(Method m) {
  for (const Step step : rounding_steps(m.precision)) m.precision[step] = exact;
  return m;
}

/// a, a without rounding, then for each step a without it and a with it alone.
std::vector<Method> variants(const Method& a, const std::vector<Step>& steps) {
  const Method bare = without_rounding(a);
  std::vector<Method> methods{a, bare};
  for (const Step step : steps) {
    methods.push_back(a);
    methods.back().precision[step] = exact;
    methods.push_back(bare);
    methods.back().precision[step] = a.precision[step];
  }
  return methods;
}

StepError weighed(const Deviation& d) { return {d.mean_abs, d.rms, d.nonfinite}; }

/// An error without a single finite element is larger than any number.
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

Attribution attribute(const Experiment& experiment, const Options& options) {
  const std::vector<Step> steps =
      is_emulated(experiment.a.algorithm) ? rounding_steps(experiment.a.precision) : std::vector<Step>{};
  const std::vector<Deviation> errors = errors_of(experiment, variants(experiment.a, steps), options);
  Attribution a{.total = weighed(errors[0]), .floor = weighed(errors[1]), .steps = {}, .combined_rms = 0, .interaction = 0};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepShare share{.step = steps[i], .without = weighed(errors[2 + 2 * i]), .alone = weighed(errors[3 + 2 * i]), .relief = 0};
    share.relief = a.total.mean_abs - share.without.mean_abs;
    a.steps.push_back(share);
  }
  sort_by_relief(a.steps);
  a.combined_rms = combined(a.floor, a.steps);
  a.interaction = a.total.rms - a.combined_rms;
  return a;
}

}  // namespace attoscope
