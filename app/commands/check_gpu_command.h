/// `attoscope check-gpu`: does this GPU compute and add as is written down?
#pragma once

#include "app/commands/command.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope {

/// The options as typed.
struct CheckGpuArguments {
  std::string device = "cuda", count = "100000", seed = "1";
  Typed formats;     ///< with commas between them; none: all
  std::string json;  ///< "" nowhere, "-" to standard output
};

/// Checks the GPU, or a stand-in, tells every part as soon as it is known, and writes the file at the end: none if anything
/// fails. A signal stops it. Returns true if all is as written.
bool check_gpu(const CheckGpuArguments& arguments, const CheckedGpu& gpu, const Streams& streams);

}  // namespace attoscope
