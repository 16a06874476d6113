/// A training with its history: the current state, and states of earlier steps to go back to. Single-threaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/train/checkpoint.h"
#include "app/train/train_capture.h"
#include "kernels/train/paired_training.h"

namespace attoscope::app {

/// States of steps, in ascending order, in bounded memory.
class KeptStates {
 public:
  /// A state, and the plan under which training continues from it.
  struct Moment {
    std::shared_ptr<const TrainPlan> plan;
    PairedTrainingState state;
    bool lasting = false;  ///< not replaced by a newer state
    bool pinned = false;   ///< not dropped to save memory
    /// The record of `plan` when training continued under another one; null: it has not.
    std::shared_ptr<const TrainRecord> record = nullptr;
  };

  explicit KeptStates(std::size_t bytes) : most_bytes_(bytes) {}

  /// Adds a state, or replaces the state of the same step. Drops the newest earlier state if it is not `lasting`. While over
  /// the memory limit, drops the state whose neighbours are closest to each other, but never the first, the newest or a pinned
  /// one.
  void keep(Moment moment);
  /// Gives the states that have no record `record`, of the plan that ends there.
  void end_plan(const std::shared_ptr<const TrainRecord>& record);
  /// Forgets all states of later steps.
  void drop_after(int step);
  /// `at`: the state of a step; `before`: the nearest one at or before it. Null if there is none.
  const Moment* at(int step) const;
  const Moment* before(int step) const;
  std::vector<int> steps() const;
  std::size_t bytes() const;

 private:
  void thin();

  std::size_t most_bytes_;
  std::vector<Moment> moments_;
};

/// The bytes of a state in memory.
std::size_t bytes_of(const PairedTrainingState& state);

/// Sentence on why `plan` cannot continue from states of `record`; "" if it can.
std::string why_no_fork(const TrainRecord& record, const TrainPlan& plan);

/// Requested Q, K, V; `run` is an index into the record's runs. `step` < 0: the newest step.
struct HeadAt {
  int run = 0, layer = 0, head = 0, sequence = 0, step = -1;
};

/// Q, K, V and their origin.
struct Captured {
  CapturedHead tensors;
  CapturePlace place;
  RunPlan run;
  TrainPlan plan;  ///< plan of that step
};

class TrainingHistory {
 public:
  static constexpr std::size_t usual_memory = std::size_t{512} << 20;

  /// Begins with the first step. Throws as PairedTraining does, and then leaves the history unchanged.
  void start(const TrainPlan& plan, const TrainDevice& device);
  /// Continues from a checkpoint whose plan has its corpus.
  void open(const Checkpoint& checkpoint, const TrainDevice& device);
  /// Goes back to a kept step under its own plan and forgets later ones. Throws std::invalid_argument in a sentence if the step
  /// is not kept.
  void go_back(int step);
  /// Goes back to a kept step, and continues under another plan.
  void fork(int step, const TrainPlan& plan);

  bool begun() const { return training_ != nullptr; }
  const TrainDevice& device() const { return device_; }
  /// True if no step is left: the plan is done, or a or b diverged.
  bool over() const;
  bool diverged() const;
  /// Takes the next step, if there is one. Throws Stopped as PairedTraining does.
  void step(const Cancelled& cancelled = {});
  /// Keeps the newest state until a newer one is kept.
  void keep_newest();

  const TrainRecord& record() const { return training_->record(); }
  const std::vector<float>& weights(int run) const { return training_->weights(run); }
  PairedTrainingState state() const { return training_->state(); }
  const KeptStates& kept() const { return kept_; }

  /// Q, K, V of a head after a number of steps, trained again from the nearest kept state; the training itself is unchanged.
  /// Throws std::invalid_argument in a sentence if there is no such place, Stopped when cancelled.
  Captured captured(const HeadAt& at, const Cancelled& cancelled = {}) const;

 private:
  void begin_with(std::unique_ptr<PairedTraining> training, const TrainPlan& plan, const PairedTrainingState* state,
                  const TrainDevice& device);
  void go_on_from(int step, const TrainPlan* fork);

  TrainDevice device_;
  std::shared_ptr<const TrainPlan> plan_;
  std::unique_ptr<PairedTraining> training_;
  KeptStates kept_{usual_memory};
};

}  // namespace attoscope::app
