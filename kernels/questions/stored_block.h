/// Numbers that share one scale, as they are stored: the elements and scales whose bits are shown.
#pragma once

#include <span>
#include <vector>

#include "kernels/experiment/scaling.h"

namespace attoscope {

/// One scale and its elements.
struct StoredBlock {
  float head_scale = 1;         ///< of nvfp4: the scale of the whole head, over which `scale_code` stands; else 1
  float scale = 1;              ///< an element stands for element * scale; the head's scale is in it
  float scale_code = 1;         ///< as it is stored in the scale's format: scale / head_scale
  std::vector<float> elements;  ///< as stored
  /// The number that the element stands for.
  float value(std::size_t i) const { return elements[i] * scale; }
};

/// The numbers as `s`, which is on, stores numbers that share a scale, whatever its granularity. `head_amax`: the largest
/// magnitude of their head, for nvfp4.
StoredBlock stored_block(std::span<const float> numbers, const Scaling& s, float head_amax);

}  // namespace attoscope
