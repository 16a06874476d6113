/// Q, K, V of a trained model, as a file that Explore opens.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"
#include "kernels/train/model.h"
#include "kernels/train/plan/plan.h"

namespace attoscope::app {

/// Origin of Q, K, V in a training.
struct CapturePlace {
  std::string run;  ///< name: "a", "b in fp16"
  int layer = 0, head = 0, sequence = 0;
  int step = 0;  ///< steps taken before: Q, K, V belong to the next step

  friend bool operator==(const CapturePlace&, const CapturePlace&) = default;
};

/// "b in fp16, layer 1, head 0, sequence 2, after 400 steps"
std::string capture_title(const CapturePlace& place);

/// A .safetensors file: q, k, v in F32, exact for every narrower format, with their origin as metadata.
std::string capture_file(const CapturedHead& head, const CapturePlace& place, const TrainMethod& method);

/// The experiment of Explore on a head, without tensors: causal, in the run's format; a is the run's method (the plan's a if
/// the run computes as b), b the plan's b. A method that is exact in that head rounds only its input.
Experiment captured_experiment(const TrainPlan& plan, const RunPlan& run, const CapturePlace& place);

}  // namespace attoscope::app
