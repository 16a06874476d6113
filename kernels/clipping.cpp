#include "kernels/clipping.h"

namespace attoscope {

Clipping clipping(const Experiment& experiment, int, const Options&) { return {.experiment = experiment, .saturated = {}, .underflowed = {}}; }

}  // namespace attoscope
