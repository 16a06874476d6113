#include <vector>

#include "kernels/gpu/gpu.h"
#include "tests/gpu/hog.h"

namespace attoscope::gpu_check {
namespace {

class Buffers final : public Hog {
 public:
  Buffers(int device, std::size_t spare) {
    use_device(device);
    for (std::size_t piece = std::size_t{1} << 36; piece >= std::size_t{1} << 20; piece /= 2)
      while (takes(piece, spare)) {
      }
  }

 private:
  bool takes(std::size_t piece, std::size_t spare) {
    std::size_t left = 0, all = 0;
    check(cudaMemGetInfo(&left, &all));
    if (left < spare + piece) return false;
    try {
      held_.emplace_back(piece);
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }

  std::vector<Buffer<char>> held_;
};

__global__ void trap_kernel() { __trap(); }

}  // namespace

void lose(int device) {
  ignore(cudaSetDevice(device));
  trap_kernel<<<1, 1>>>();
  ignore(cudaGetLastError());
  ignore(cudaDeviceSynchronize());
}

std::unique_ptr<Hog> hog(int device, std::size_t spare) { return std::make_unique<Buffers>(device, spare); }

}  // namespace attoscope::gpu_check
