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

/// A paired training at the end of a step: with its record, the complete state to continue with the same bits.
struct PairedTrainingState {
  int step = 0;
  std::vector<TrainState> runs;
  std::vector<std::vector<double>> paths;  ///< of each pair's DeviationMeter

  friend bool operator==(const PairedTrainingState&, const PairedTrainingState&) = default;
};

/// Makes the device of one run.
using MakePrimitives = std::function<std::unique_ptr<Primitives<float>>()>;

/// A device that trains, and its substitute if it fails: with the same bits.
struct TrainDevice {
  MakePrimitives make;
  MakePrimitives instead{};  ///< empty: nothing takes its place
  std::string why{};         ///< of "auto" without a GPU: why there is none, in one sentence; else empty
  std::string compiles{};  ///< a sentence: what is made first takes long, since the driver has to compile its code; else empty
};

/// The device that "cpu", "cuda", "cuda:K" or "auto" (a GPU if there is one) names; the CPU is the substitute of a GPU. Throws
/// std::invalid_argument in a sentence.
TrainDevice primitives_on(const std::string& device, int threads);
/// Makes the device of a name: `primitives_on`, or a test's stand-in.
using MakeDevice = std::function<TrainDevice(const std::string& device, int threads)>;

/// work(make) with the device; where that fails, with what takes its place.
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
/// If the device fails, its substitute continues from the last whole step, and the record's remark says so: a state that is a
/// few steps old lies on the host, and these steps are repeated. Everything throws DeviceFailure if there is no substitute; the
/// record is then that of the last whole step.
class PairedTraining {
 public:
  /// Starts from the first step. Throws std::invalid_argument as `validate` does, or if the plan's corpus is missing or too
  /// short.
  PairedTraining(const TrainPlan& plan, const TrainDevice& device);
  /// Starts from a state of an earlier record, perhaps under another plan with the same text, model, batch, data seed and
  /// held-out part. Its runs continue from the states of the runs with the same name, new ones from b's. Changes are recorded
  /// as a Fork, except those that change no number (`measure_every`, `checkpoint_every`). If the state is older than the
  /// record's end, the record is cut back to it. Throws std::invalid_argument in a sentence if they do not fit.
  PairedTraining(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state, const TrainDevice& device);
  ~PairedTraining();
  PairedTraining(PairedTraining&&) noexcept;
  PairedTraining& operator=(PairedTraining&&) noexcept;

  /// The next step of every run that has not stopped; false when the plan is done or has ended (see kernels/train/ending.h). A
  /// run that diverges stops alone; if that ends the training, all runs stop before that step. The first step, the last, and
  /// every `measure_every`-th are measured; with kind replay, a takes only these. Throws Stopped between the steps of two runs:
  /// the step is then repeated from its beginning.
  bool step(const Cancelled& cancelled = {});
  const TrainRecord& record() const;
  /// Call it only between steps.
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

  mutable std::unique_ptr<Parts> parts_;  ///< mutable, since the substitute has the same numbers
  std::unique_ptr<Spare> spare_;
};

}  // namespace attoscope
