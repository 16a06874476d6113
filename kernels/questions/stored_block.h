/// Numbers that share one scale, as stored: elements and scales, whose bits are shown.
#pragma once

#include <span>
#include <vector>

#include "kernels/experiment/scaling.h"

namespace attoscope {

/// One scale and its elements.
struct StoredBlock {
  float head_scale = 1;         ///< nvfp4: the scale of the whole head, a factor beside `scale_code`; else 1
  float scale = 1;              ///< an element represents element * scale; includes the head's scale
  float scale_code = 1;         ///< the scale as stored in its format: scale / head_scale
  std::vector<float> elements;  ///< as stored
  /// The number that element i represents.
  float value(std::size_t i) const { return elements[i] * scale; }
};

/// The numbers as `s`, which must be on, stores numbers that share a scale; ignores its granularity. `head_amax` is the largest
/// magnitude of their head, for nvfp4.
StoredBlock stored_block(std::span<const float> numbers, const Scaling& s, float head_amax);

}  // namespace attoscope
