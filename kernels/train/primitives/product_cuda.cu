// Matrix products on a GPU: the kernel, which gives each thread its place, and the launch.
#include "kernels/train/primitives/gpu_primitives.h"

namespace attoscope {
namespace {

/// The block as seen by one thread: each thread calls it with its own ProductThread.
template <class Tile>
class DeviceBlock {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE DeviceBlock(ProductThread<Tile>& me, float* stages) : me_(me), stages_(stages) {}

  template <class Work>
  ATTOSCOPE_HOST_DEVICE_INLINE void each(Work work) const {
    work(me_);
  }
  ATTOSCOPE_HOST_DEVICE_INLINE void sync() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
  ATTOSCOPE_HOST_DEVICE_INLINE float* stage(int i) const { return stages_ + i * Tile::stage_size; }

 private:
  ProductThread<Tile>& me_;
  float* stages_;
};

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks) product_kernel(const __grid_constant__ ProductTask task) {
  __shared__ Quad stages[2 * Tile::stage_size / 4];
  const ProductPlace place{static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.z)};
  ProductThread<Tile> me(task, place, static_cast<int>(threadIdx.x));
  multiply_block<Tile>(task, place, DeviceBlock<Tile>(me, reinterpret_cast<float*>(stages)));
}

template <class Tile>
void launch(const ProductTask& task, const Stream& stream) {
  const ProductPlace blocks = blocks_of<Tile>(task);
  const dim3 grid(static_cast<unsigned>(blocks.n), static_cast<unsigned>(blocks.m), static_cast<unsigned>(blocks.piece));
  product_kernel<Tile><<<grid, Tile::threads, 0, stream.get()>>>(task);
  check(cudaGetLastError());
}

}  // namespace

void load_products() { load_file_of(product_kernel<LargeTile>); }

void launch_product(const ProductTask& task, bool large, const Stream& stream) {
  large ? launch<LargeTile>(task, stream) : launch<SmallTile>(task, stream);
}

}  // namespace attoscope
