/// The commands, one file each. `commands` of command_line.cpp has their order in the help.
#pragma once

#include "app/commands/command.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope::app {

Command run_command();
Command sweep_command();
Command train_command();
Command figure_command();
Command presets_command();
Command bench_command();
Command render_command();
Command lessons_command();
Command dot_command();
Command check_gpu_command();
Command judge_command();
Command heads_command();
Command kv_command();
Command invariance_command();
Command model_command();
Command open_command();
Command pack_command();

/// The window, which opens if no command is given.
Command window_command();

/// The options as typed.
struct CheckGpuArguments {
  std::string device = "cuda", count = "100000", seed = "1";
  Typed formats;     ///< comma-separated; empty: all
  std::string json;  ///< "" is none, "-" standard output
};

/// Checks the GPU, or a stand-in of tests; prints every part when it is done, and writes the file at the end unless something
/// fails. A signal stops it. Returns true if all digests and sums agree.
bool check_gpu(const CheckGpuArguments& arguments, const CheckedGpu& gpu, const Streams& streams);

}  // namespace attoscope::app
