#include "kernels/questions/gradient_trace.h"

#include <stdexcept>

namespace attoscope {

GradientTrace gradient_trace(const GradientTraceQuestion&, const Options&) {
  throw std::invalid_argument("this is not computed yet");
}

}  // namespace attoscope
