/// The numbers of a training record by name, once: JSON, CSV and the window's tables go through these lists.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/train/record.h"

namespace attoscope {

template <class Of, class T>
using NamedNumber = std::pair<std::string_view, T Of::*>;

/// Numbers of two models' weights; the first five are shown in tables and curves.
inline constexpr std::array<NamedNumber<WeightDeviation, double>, 6> weight_numbers{
    {{"max_abs", &WeightDeviation::max_abs},
     {"wasserstein", &WeightDeviation::wasserstein},
     {"rel_l2", &WeightDeviation::rel_l2},
     {"update_cosine", &WeightDeviation::update_cosine},
     {"directionality", &WeightDeviation::directionality},
     {"step_size", &WeightDeviation::step_size}}};
inline constexpr std::size_t shown_weight_numbers = 5;

/// Numbers of a run's step, without `skipped`.
inline constexpr std::array<NamedNumber<StepReport, double>, 4> step_numbers{{{"loss", &StepReport::loss},
                                                                              {"gradient_norm", &StepReport::gradient_norm},
                                                                              {"rate", &StepReport::rate},
                                                                              {"loss_scale", &StepReport::loss_scale}}};

/// Counts of a head.
inline constexpr std::array<NamedNumber<HeadStatistics, std::int64_t>, 7> head_counts{
    {{"rows", &HeadStatistics::rows},
     {"tied_rows", &HeadStatistics::tied_rows},
     {"weights", &HeadStatistics::weights},
     {"saturated", &HeadStatistics::saturated},
     {"underflowed", &HeadStatistics::underflowed},
     {"lost_dS", &HeadStatistics::lost_dS},
     {"overflowed_dS", &HeadStatistics::overflowed_dS}}};

}  // namespace attoscope
