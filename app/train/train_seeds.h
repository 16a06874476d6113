/// One plan trained at several seeds, as tables, JSON and a figure: every number's least, mean and greatest.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/figures/figure.h"
#include "app/json/json.h"
#include "kernels/train/record.h"

namespace attoscope {

inline constexpr std::string_view train_seeds_schema = "attoscope.train_seeds/1";
inline constexpr int most_train_seeds = 1000;

/// The plan at the i-th of its seeds, from 0 on: the seeds of weights and batches are i further.
TrainPlan at_seed(TrainPlan plan, int i);

/// A line for each seed; below it every number over the seeds. All records are of one plan but for its seeds.
std::string seeds_report(std::span<const TrainRecord> records);
/// The lines of `train_csv` with the seed before them.
std::string seeds_csv(std::span<const TrainRecord> records);
/// "seeds": each with its steps, skipped steps and held-out loss (those of a, and of every run), and its distances in the end;
/// "bands": curves of losses and distances. `attoscope.train_seeds/1`.
Json seeds_json(std::span<const TrainRecord> records);
/// Wasserstein-1 and relative L2 of every comparison over steps, with their bands.
Figure seeds_figure(std::span<const TrainRecord> records);

}  // namespace attoscope
