/// Rounding by a plan that is data, decided as it rounds: one code for all formats. Nothing is stochastic.
#pragma once

#include "kernels/rounders.h"

namespace attoscope {

/// Of the kinds that cost much: one copy of their code.
template <class T>
ATTOSCOPE_APART T rounded_at_length(const RounderPlan<T>& plan, T x) {
  return round(plan.format, x);
}

/// use(rounder) with the functor that the plan asks for.
template <class T, class Use>
ATTOSCOPE_HD void with_plan(const RounderPlan<T>& plan, Use&& use) {
  switch (plan.kind) {
    case RounderKind::none:
      return use(NoRounder{});
    case RounderKind::bits:
      return use(BitsRounder<T>(plan));
    case RounderKind::half:
    case RounderKind::magic:
      return use(MagicRounder<T>(plan));
    case RounderKind::slow:
    case RounderKind::stochastic:
      return use([&](T x) { return rounded_at_length(plan, x); });
  }
}

/// The functor that decides anew for every number.
template <class T>
struct PlanRounder {
  const RounderPlan<T>& plan;

  ATTOSCOPE_HD T operator()(T x) const {
    with_plan(plan, [&](auto rounder) { x = rounder(x); });
    return x;
  }
};

template <class T>
ATTOSCOPE_HD T rounded(const RounderPlan<T>& plan, T x) {
  return PlanRounder<T>{plan}(x);
}

}  // namespace attoscope
