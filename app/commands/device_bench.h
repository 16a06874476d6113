/// `attoscope bench --device cuda`: the emulated stages against the GPU's own FMA peak, and the tensor-core kernel.
#pragma once

#include "app/commands/bench.h"

namespace attoscope {

/// What GPU number `gpu` reaches. Throws std::runtime_error where it refuses.
BenchReport device_bench(int gpu);

}  // namespace attoscope
