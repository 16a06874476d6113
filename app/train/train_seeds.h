/// One plan trained at several seeds, as tables, JSON and a figure: every number's least, mean and greatest.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/figures/figure.h"
#include "app/json/json.h"
#include "app/train/trained.h"
#include "kernels/train/record.h"
#include "ui/session/session.h"  // max_train_seeds

namespace attoscope::app {

/// The plan at the i-th of its seeds, from 0 on: the seeds of weights and batches are i further.
TrainPlan at_seed(TrainPlan plan, int i);

/// The plan trained at each of its seeds but the first, `seeds` being all of them. Throws as `trained` does.
std::vector<std::shared_ptr<const TrainRecord>> trained_further(const TrainPlan& plan, int seeds, const TrainOptions& options);

/// A line for each seed; below it every number over the seeds. All records are of one plan but for its seeds.
std::string seeds_report(std::span<const TrainRecord> records);
/// The lines of `train_csv` with the seed before them.
std::string seeds_csv(std::span<const TrainRecord> records);
/// "seeds": each with its steps, skipped steps and held-out loss (those of a, and of every run), and its distances in the end;
/// "bands": curves of losses and distances. `attoscope.train_seeds/1`.
Json seeds_json(std::span<const TrainRecord> records);
/// Wasserstein-1 and relative L2 of every comparison over steps, with their bands.
Figure seeds_figure(std::span<const TrainRecord> records);

}  // namespace attoscope::app
