/// One run: weights, optimiser, step after step.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/train/model.h"

namespace attoscope {

/// A run diverged: what() is one sentence that names the run, the step, the layer and the tensor.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The complete state of a run at the end of a step: a run restored from it continues with the same bits.
struct TrainState {
  int step = 0;  ///< steps taken
  double loss_scale = 1;
  int steps_since_overflow = 0;
  int updates = 0;        ///< steps that were not skipped
  double first_loss = 0;  ///< NaN before the first step
  std::vector<float> weights, m, v;

  friend bool operator==(const TrainState&, const TrainState&) = default;
};

/// Report of a step.
struct StepReport {
  int step = 0;  ///< counts from 1
  double loss = 0;
  double gradient_norm = 0;  ///< before clipping; infinite if it overflowed
  double rate = 0, loss_scale = 1;
  bool skipped = false;                 ///< the gradient overflowed: the loss scale was halved, the weights stay
  std::vector<HeadStatistics> heads{};  ///< [layer * heads + head]; empty unless requested
};

/// The learning rate of a step (from 1).
double rate_at(const Recipe& recipe, int step);
/// True if gradients in this format need a scaled loss: formats with fewer exponent bits than fp32. If the format saturates,
/// overflow cannot be detected, and the scale never changes.
bool scales_loss(const Format& format);

/// Trains one run of a plan on a device.
class Trainer {
 public:
  /// Requires a valid plan with its corpus.
  Trainer(const TrainPlan& plan, const RunPlan& run, std::unique_ptr<Primitives<float>> on);
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  const Parameters& parameters() const;
  std::string device() const;
  int step_count() const;  ///< steps taken
  /// Computes everything of the next step except its update: loss, gradient and report. The state does not change, not even if
  /// it throws Diverged or DeviceFailure; `restore` and `captured` discard the prepared step.
  StepReport prepare(bool with_statistics);
  /// Applies (or skips) the prepared update. Runs that are trained side by side all prepare, then all commit, so that nothing
  /// has to be undone if one of them stops in between.
  void commit();
  /// Takes the next step: prepare, then commit.
  StepReport step(bool with_statistics);
  /// The weights, on the host.
  std::vector<float> weights() const;
  /// Copies the weights into `x`, which has the same size.
  void read_weights(std::span<float> x) const;
  TrainState state() const;
  /// Throws std::invalid_argument if `state` is no state of this model.
  void restore(const TrainState& state);
  /// The loss of the present weights on the held-out text: the mean over evenly spaced pieces, at least 64. NaN if nothing is
  /// held out. The state does not change; discards the prepared step.
  double heldout_loss();
  /// The inputs of a head in the next step's batch; the state does not change.
  CapturedHead captured(int layer, int head, int sequence);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attoscope
