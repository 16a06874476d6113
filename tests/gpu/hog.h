/// All but a little of a GPU's memory, held so that somebody else runs out of it.
#pragma once

#include <cstddef>
#include <memory>

namespace attoscope::gpu_check {

class Hog {
 public:
  virtual ~Hog() = default;
};

/// Takes what GPU `device` has left, but for about `spare` bytes. Plain allocations, freed with the hog.
std::unique_ptr<Hog> hog(int device, std::size_t spare);

}  // namespace attoscope::gpu_check
