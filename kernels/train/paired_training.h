/// All runs of a plan side by side: every run takes each step on the same batch, then the step is measured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/gpu/device.h"
#include "kernels/train/record.h"

namespace attoscope {

/// A paired training at the end of a step; together with its record, the complete state to continue with the same bits.
struct PairedTrainingState {
  int step = 0;
  std::vector<TrainState> runs;
  std::vector<std::vector<double>> paths;  ///< of each pair's DeviationMeter

  friend bool operator==(const PairedTrainingState&, const PairedTrainingState&) = default;
};

/// Makes the device of one run.
using MakePrimitives = std::function<std::unique_ptr<Primitives<float>>()>;

/// A device that trains, and its substitute with the same bits if it fails.
struct TrainDevice {
  MakePrimitives make;
  MakePrimitives instead{};  ///< empty: no substitute
  std::string why{};         ///< for "auto" without a GPU: one sentence that says why there is none; else empty
  std::string compiles{};  ///< a sentence if making the device takes long, since the driver compiles its code first; else empty
  int threads = 0;         ///< of this machine, for the statistics and comparisons; 0: all
};

/// The device for "cpu", "cuda", "cuda:K" or "auto" (a GPU if there is one); the CPU is the substitute of a GPU. Throws
/// std::invalid_argument in a sentence.
TrainDevice primitives_on(const std::string& device, int threads);
/// Makes the device of a name: `primitives_on`, or a test's replacement.
using MakeDevice = std::function<TrainDevice(const std::string& device, int threads)>;

/// Returns work(make) with the device, or with its substitute if the device fails.
template <class Work>
auto with_either(const TrainDevice& device, Work work) {
  try {
    return work(device.make);
  } catch (const DeviceFailure&) {
    if (!device.instead) throw;
  }
  return work(device.instead);
}

/// Trains the runs of a plan, above all a and b, in step with each other.
///
/// If the device fails, its substitute continues from the last whole step, and the record's remark says so: the host keeps a
/// state that is at most a few steps old, and the substitute repeats these steps. Everything throws DeviceFailure if there is
/// no substitute; the record then ends with the last whole step.
class PairedTraining {
 public:
  /// Starts from the first step. Throws std::invalid_argument as `validate` does, or if the plan's corpus is missing or too
  /// short.
  PairedTraining(const TrainPlan& plan, const TrainDevice& device);
  /// Starts from a state of an earlier record, optionally under another plan with the same text, model, batch, data seed and
  /// held-out part. Its runs continue from the states of the runs with the same name, new ones from b's state. Changes are
  /// recorded as a Fork, except those that change no number (`measure_every`, `checkpoint_every`). A record that goes beyond
  /// the state is cut back to it. Throws std::invalid_argument in a sentence if they do not fit.
  PairedTraining(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state, const TrainDevice& device);
  ~PairedTraining();
  PairedTraining(PairedTraining&&) noexcept;
  PairedTraining& operator=(PairedTraining&&) noexcept;

  /// Takes the next step of every run that has not stopped; false if the plan is done or has ended (see `ended`). A run that
  /// diverges stops alone; if that ends the training, all runs stop before that step. The first step, the last, and every
  /// `measure_every`-th are measured; with kind replay, a takes only these. Throws Stopped between the steps of two runs; the
  /// next call then repeats the step from its beginning.
  bool step(const Cancelled& cancelled = {});
  const TrainRecord& record() const;
  /// To be called only between steps.
  PairedTrainingState state() const;
  /// The newest weights of a run, on the host.
  const std::vector<float>& weights(int run) const;
  /// The inputs of a head of a run in the next step's batch.
  CapturedHead captured(int run, int layer, int head, int sequence);

 private:
  struct Parts;
  struct Spare;

  template <class Begin>
  void begin(const TrainDevice& device, Begin begin);
  template <class Work>
  auto surviving(const Cancelled& cancelled, Work work) const;

  mutable std::unique_ptr<Parts> parts_;  ///< mutable: const calls may switch to the substitute, which has the same numbers
  std::unique_ptr<Spare> spare_;
  int threads_ = 0;
};

}  // namespace attoscope
