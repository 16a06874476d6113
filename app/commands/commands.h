/// The commands, each made by its own file. Its place among them, and in the help, is in `commands` of command_line.cpp.
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

/// No command: the window.
Command window_command();

/// The options as typed.
struct CheckGpuArguments {
  std::string device = "cuda", count = "100000", seed = "1";
  Typed formats;     ///< with commas between them; none: all
  std::string json;  ///< "" nowhere, "-" to standard output
};

/// Checks the GPU, or a stand-in, tells every part as soon as it is known, and writes the file at the end: none if anything
/// fails. A signal stops it. Returns true if all is as written.
bool check_gpu(const CheckGpuArguments& arguments, const CheckedGpu& gpu, const Streams& streams);

}  // namespace attoscope::app
