/// Q, K, V of a model that was trained, as a file that Explore opens.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"
#include "kernels/train/model.h"
#include "kernels/train/plan/plan.h"

namespace attoscope::app {

/// The place in a training that Q, K, V come from.
struct CapturePlace {
  std::string run;  ///< its name: "a", "b in fp16"
  int layer = 0, head = 0, sequence = 0;
  int step = 0;  ///< steps that had been taken: it is what the next one sees

  friend bool operator==(const CapturePlace&, const CapturePlace&) = default;
};

/// "b in fp16, layer 1, head 0, sequence 2, after 400 steps"
std::string capture_title(const CapturePlace& place);

/// A .safetensors file: q, k, v in F32, which holds every narrower format's numbers, and where they come from as its metadata.
std::string capture_file(const CapturedHead& head, const CapturePlace& place, const TrainMethod& method);

/// The experiment of Explore on a head: causal, in the run's format, the run's method against the plan's b, or the plan's a if
/// the run computes as b does; without tensors. A method that is exact in that head rounds nothing but its input.
Experiment captured_experiment(const TrainPlan& plan, const RunPlan& run, const CapturePlace& place);

}  // namespace attoscope::app
