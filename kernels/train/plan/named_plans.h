/// Training plans with a name.
#pragma once

#include <span>
#include <string_view>

#include "kernels/train/plan/plan.h"

namespace attoscope {

struct NamedPlan {
  std::string_view name, what;
  TrainPlan (*plan)();
};
std::span<const NamedPlan> named_plans();
/// The plan of that name. Throws std::invalid_argument that lists the known ones.
TrainPlan named_plan(std::string_view name);

}  // namespace attoscope
