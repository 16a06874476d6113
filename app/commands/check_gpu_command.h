/// `attoscope check-gpu`: does this GPU compute and add as is written down?
#pragma once

#include <ostream>
#include <string>

#include "app/session/experiment_options.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope {

/// The options as typed.
struct CheckGpuArguments {
  std::string device = "cuda", count = "100000", seed = "1";
  Typed formats;     ///< with commas between them; none: all
  std::string json;  ///< "" nowhere, "-" to standard output
  bool quiet = false;
};

/// Where the command writes; `terminal` null: no progress is shown.
struct CheckGpuOutput {
  std::ostream& out;
  std::ostream* terminal = nullptr;
};

/// Checks the GPU, tells every part as soon as it is known, and writes the file at the end: none if anything fails. A signal
/// stops it. Returns whether all is as written.
bool check_gpu(const CheckGpuArguments& arguments, const CheckGpuOutput& output);

/// The same of what stands in for a GPU.
bool check_gpu(const CheckGpuArguments& arguments, const CheckedGpu& gpu, const CheckGpuOutput& output);

}  // namespace attoscope
