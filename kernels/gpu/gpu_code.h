/// This program's code on the GPUs of this machine whose drivers have to compile it.
#pragma once

#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/gpu/code_loader.h"

namespace attoscope {

/// The code for a kind of work on a GPU.
using CodeFor = std::vector<CodePart>(int gpu);

/// For the outputs of emulated kernels, their deviations and their pictures.
CodeFor attention_code;

/// What loads the code on a GPU; null where the program holds code for it, which takes no time to load. It lives as long as the
/// program.
CodeLoader* code_to_compile(int gpu, CodeFor* code = attention_code);
/// The first of these GPUs' whose code is not all there; null: it is.
CodeLoader* missing_code(const std::vector<int>& gpus, CodeFor* code = attention_code);

/// Waits until all of it is there. Throws DeviceFailure where it cannot be had or somebody stopped it, and what `stop` throws.
void wait_for_code(const std::vector<int>& gpus, const StopSign& stop, CodeFor* code = attention_code);

/// Whether a driver is compiling just now. It cannot be interrupted: a program that ends has to do so without waiting for it.
bool is_compiling();

}  // namespace attoscope
