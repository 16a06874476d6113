/// A GPU newer than the program: its driver compiles the code before a command begins.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/gpu/gpu_code.h"

namespace attoscope {

/// Waits until the code is there, and says how far it is once that takes longer than a second: on `terminal` in a line that is
/// written over itself; where that is null, in one line on `err`. Throws what `stop` throws. What fails is left to whoever
/// needs the code.
void watch_compiling(CodeLoader& code, const StopSign& stop, std::ostream* terminal, std::ostream& err);

/// The same for code that is missing, or none. Throws std::runtime_error in a sentence after Ctrl-C.
void compile_code(CodeLoader* missing);
/// The same for what these GPUs need to compute.
void compile_code(const std::vector<int>& gpus);
/// The same for a command's device; nothing for "auto", of which `compute` decides by the question.
void compile_code(const std::string& device);

}  // namespace attoscope
