#include "kernels/questions/gradient_attribution.h"

#include <stdexcept>

namespace attoscope {

GradAttribution attribute_gradients(const Experiment&, const Options&) {
  throw std::invalid_argument("this is not computed yet");
}

}  // namespace attoscope
