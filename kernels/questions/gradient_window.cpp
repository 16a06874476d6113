#include "kernels/questions/gradient_window.h"

#include <stdexcept>

namespace attoscope {

GradientWindow gradient_window(const ScoreQuestion&, const Options&) {
  throw std::invalid_argument("this is not computed yet");
}

}  // namespace attoscope
