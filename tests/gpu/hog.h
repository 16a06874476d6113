/// Blocks a GPU for other work: takes most of its memory, or makes all its calls fail for good.
#pragma once

#include <cstddef>
#include <memory>

namespace attoscope::gpu_check {

class Hog {
 public:
  virtual ~Hog() = default;
};

/// Takes the free memory of GPU `device` but for about `spare` bytes. Plain allocations, freed with the hog.
std::unique_ptr<Hog> hog(int device, std::size_t spare);

/// Runs a kernel that traps: from then on every call on the GPU fails in this process, as if it were lost.
void lose(int device);

}  // namespace attoscope::gpu_check
