/// `attoscope train --seeds`: one plan at several seeds.
#pragma once

#include "app/commands/train_command.h"

namespace attoscope {

/// A training that is run at every seed.
struct SeedTask {
  TrainPlan plan;  ///< with its text; of the first seed
  int seeds = 1, until = 0, threads = 0;
};

/// The number that `--seeds` asks for; 0: it is not given. Throws std::invalid_argument in a sentence, also beside an option
/// that keeps or needs the state of one training.
int seed_count(const TrainArguments& arguments);

/// Trains one seed after the other and writes what was asked for. Where it is stopped, or a or b of a seed diverges, everything
/// computed is written all the same, and a std::runtime_error then says so.
void train_seeds(const TrainArguments& arguments, const SeedTask& task, const TrainStreams& streams);

}  // namespace attoscope
