/// Numbers that share one scale, as they are stored: what the bits of a block look at.
#pragma once

#include <span>
#include <vector>

#include "kernels/experiment/scaling.h"

namespace attoscope {

/// One scale and its elements.
struct StoredBlock {
  float head_scale = 1;         ///< of nvfp4: the scale of the whole head, over which `scale_code` stands; else 1
  float scale = 1;              ///< what an element stands for is element * scale; the head's scale is in it
  float scale_code = 1;         ///< as it is stored in the scale's format: scale / head_scale
  std::vector<float> elements;  ///< as stored
  /// The number that the element stands for.
  float value(std::size_t i) const { return elements[i] * scale; }
};

/// The numbers as `s`, which is on, stores those that share a scale, whichever these are. `head_amax`: the largest magnitude of
/// the head that they are from, of nvfp4.
StoredBlock stored_block(std::span<const float> numbers, const Scaling& s, float head_amax);

}  // namespace attoscope
