/// Rounding by a plan chosen at run time: one piece of code for all formats, except stochastic rounding.
#pragma once

#include "kernels/arithmetic/rounders.h"

namespace attoscope {

/// The expensive kinds of rounding, not inlined: one copy of the code.
template <class T>
ATTOSCOPE_HOST_DEVICE_NOINLINE T rounded_at_length(const RounderPlan<T>& plan, T x) {
  return round(plan.format, x);
}

/// Calls use(rounder) with the rounder of the plan's kind.
template <class T, class Use>
ATTOSCOPE_HOST_DEVICE_INLINE void with_plan(const RounderPlan<T>& plan, Use&& use) {
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

/// Rounder that dispatches on the plan for every number.
template <class T>
struct PlanRounder {
  const RounderPlan<T>& plan;

  ATTOSCOPE_HOST_DEVICE_INLINE T operator()(T x) const {
    with_plan(plan, [&](auto rounder) { x = rounder(x); });
    return x;
  }
};

template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE T rounded(const RounderPlan<T>& plan, T x) {
  return PlanRounder<T>{plan}(x);
}

}  // namespace attoscope
