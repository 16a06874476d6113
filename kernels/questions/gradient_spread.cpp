#include "kernels/questions/gradient_spread.h"

#include <stdexcept>

namespace attoscope {

OrderSpread order_spread(const Experiment&, const Options&) { throw std::invalid_argument("this is not computed yet"); }

}  // namespace attoscope
