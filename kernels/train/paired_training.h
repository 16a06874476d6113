/// All runs of a plan side by side: every run takes each step on the same batch, then the step is measured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/train/record.h"

namespace attoscope {

/// A paired training at the end of a step: together with its record all that is needed to continue with the same bits.
struct PairedTrainingState {
  int step = 0;
  std::vector<TrainState> runs;
  std::vector<std::vector<double>> paths;  ///< of each pair's DeviationMeter

  friend bool operator==(const PairedTrainingState&, const PairedTrainingState&) = default;
};

/// Makes the device of one run.
using MakePrimitives = std::function<std::unique_ptr<Primitives<float>>()>;

/// MakePrimitives of "cpu", "cuda", "cuda:K" or "auto" (a GPU where there is one). Throws std::invalid_argument in a sentence.
MakePrimitives primitives_on(const std::string& device, int threads);

/// Trains the runs of a plan, above all a and b, in step with each other.
class PairedTraining {
 public:
  /// From the first step. Throws std::invalid_argument as `validate` does, or where the plan's corpus is missing or too short.
  PairedTraining(const TrainPlan& plan, MakePrimitives make);
  /// From a state of an earlier record, perhaps under another plan with the same text, model, batch and data seed. Its runs
  /// continue from the states of the runs with the same name, new ones from b's. Changes are recorded as a Fork, except those
  /// that change no number (`measure_every`, `checkpoint_every`). If the state is older than the record's end, the record is
  /// cut back to it. Throws std::invalid_argument in a sentence where they do not fit.
  PairedTraining(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state, MakePrimitives make);
  ~PairedTraining();
  PairedTraining(PairedTraining&&) noexcept;
  PairedTraining& operator=(PairedTraining&&) noexcept;

  /// The next step of every run that has not stopped; false when the plan is done or has ended (see kernels/train/ending.h). A
  /// run that diverges stops alone; if that ends the training, all runs stop before that step. The first step, the last, and
  /// every `measure_every`-th are measured; with kind replay, a takes only these. Throws Stopped between the steps of two runs:
  /// the step is then repeated from its beginning.
  bool step(const Cancelled& cancelled = {});
  const TrainRecord& record() const;
  /// Only between steps.
  PairedTrainingState state() const;
  /// The newest weights of a run, on the host.
  const std::vector<float>& weights(int run) const;
  /// The inputs of a head of a run in the next step's batch.
  CapturedHead captured(int run, int layer, int head, int sequence);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attoscope
