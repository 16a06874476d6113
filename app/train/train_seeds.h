/// One plan trained at several seeds: least, mean and greatest of every number as tables, JSON and a figure.
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

/// The plan at its i-th seed, from 0 on: adds i to the seeds of weights and batches.
TrainPlan at_seed(TrainPlan plan, int i);

/// Trains the plan at seeds 1 to `seeds` - 1 (not at 0, its own). Throws as `trained`.
std::vector<std::shared_ptr<const TrainRecord>> trained_further(const TrainPlan& plan, int seeds, const TrainOptions& options);

/// A line for each seed, then every number over the seeds. Records differ only in their seeds.
std::string seeds_report(std::span<const TrainRecord> records);
/// Lines of `train_csv` with a first column "seed".
std::string seeds_csv(std::span<const TrainRecord> records);
/// `attoscope.train_seeds/1`. "seeds": for each its steps, skipped steps and held-out loss (of a, and of every run), and its
/// final distances. "bands": curves of losses and distances.
Json seeds_json(std::span<const TrainRecord> records);
/// Figure of Wasserstein-1 and relative L2 of every comparison over steps, with bands.
Figure seeds_figure(std::span<const TrainRecord> records);

}  // namespace attoscope::app
