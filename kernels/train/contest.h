/// All runs of a plan side by side: each step is taken by every run, on the same batch, then measured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/train/record.h"

namespace attoscope {

/// A contest at the end of a step: together with its record all that is needed to go on with the same bits.
struct ContestState {
  int step = 0;
  std::vector<TrainState> runs;
  std::vector<std::vector<double>> paths;  ///< of each pair's DeviationMeter

  friend bool operator==(const ContestState&, const ContestState&) = default;
};

/// Makes the device of one run.
using MakePrimitives = std::function<std::unique_ptr<Primitives<float>>()>;

/// MakePrimitives of "cpu", "cuda", "cuda:K" or "auto" (a GPU where there is one). Throws std::invalid_argument in a sentence.
MakePrimitives primitives_on(const std::string& device, int threads);

class Contest {
 public:
  /// From the first step. Throws std::invalid_argument as `validate` does, or where the plan's corpus is missing or too short.
  Contest(const TrainPlan& plan, MakePrimitives make);
  /// From a state of an earlier record, perhaps under another plan, whose text, model, batch and data seed are the record's;
  /// its runs go on from the states of the runs with the same name, new ones from b's. What changed is noted as a Fork, but for
  /// what changes no number (`measure_every`, `checkpoint_every`). A state that is older than the record's end takes it back to
  /// there. Throws std::invalid_argument in a sentence where they do not fit.
  Contest(const TrainPlan& plan, const TrainRecord& record, const ContestState& state, MakePrimitives make);
  ~Contest();
  Contest(Contest&&) noexcept;
  Contest& operator=(Contest&&) noexcept;

  /// The next step of every run that goes on; false when the plan is done or has ended (see kernels/train/ending.h). A run that
  /// diverges stops alone; where that ends the training all stop before that step. Measured are the first step, the last, and
  /// every `measure_every`-th; of kind replay a takes those alone. Throws Stopped between two runs' steps: the step then begins
  /// anew.
  bool step(const Cancelled& cancelled = {});
  const TrainRecord& record() const;
  /// Only between steps.
  ContestState state() const;
  /// The newest weights of a run, on the host.
  const std::vector<float>& weights(int run) const;
  /// What a head of a run sees in the next step's batch.
  CapturedHead captured(int run, int layer, int head, int sequence);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attoscope
