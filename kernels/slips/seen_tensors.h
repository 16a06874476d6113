/// Q, K and V as a kernel sees them: rounded to the format that it loads them in.
#pragma once

#include <memory>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// The tensors with all numbers rounded to `format`; the same ones where they hold nothing else, as most files' do.
std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors);

}  // namespace attoscope
