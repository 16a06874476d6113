/// This program's code on the GPUs of this machine whose drivers have to compile it.
#pragma once

#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/gpu/code_loader.h"

namespace attoscope {

/// The code for a kind of work on a GPU.
using CodeFor = std::vector<CodePart>(int gpu);

/// The code of emulated kernels, their deviations and their pictures.
CodeFor attention_code;

/// The loader of the code on a GPU; null if the program holds code for it, which takes no time to load. It lives as long as the
/// program.
CodeLoader* code_to_compile(int gpu, CodeFor* code = attention_code);
/// The first of these GPUs' loaders whose code is not all loaded; null: all is.
CodeLoader* missing_code(const std::vector<int>& gpus, CodeFor* code = attention_code);

/// Waits until all of it is loaded. Throws DeviceFailure if it cannot be loaded or somebody stopped it, and what `stop` throws.
void wait_for_code(const std::vector<int>& gpus, const StopSign& stop, CodeFor* code = attention_code);

/// True if a driver is compiling just now. It cannot be interrupted: a program must end without waiting for it.
bool is_compiling();

}  // namespace attoscope
