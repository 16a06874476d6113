/// The commands, each made by its own file. Its place among them, and in the help, is in `commands` of command_line.cpp.
#pragma once

#include "app/commands/command.h"

namespace attoscope {

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

/// No command: the window.
Command window_command();

}  // namespace attoscope
