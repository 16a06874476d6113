// Draws the picture of a field on the GPU that holds its matrices: kernel, launcher, and the functions of kernels/gpu/device.h
// around them.
#include <cuda_runtime.h>

#include "kernels/deviation/sample.h"
#include "kernels/experiment/experiment.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_matrices.h"
#include "kernels/gpu/gpu.h"

namespace attoscope {
namespace {

/// Writes pixels to a surface in a texture's order: the first row is the top of the picture.
struct IntoSurface {
  cudaSurfaceObject_t surface;
  __device__ void operator()(int x, int y, float value) const {
    surf2Dwrite(value, surface, x * static_cast<int>(sizeof(float)), y);
  }
};

/// Writes pixels row-major to memory.
struct IntoMemory {
  float* pixels;
  int width;
  __device__ void operator()(int x, int y, float value) const { pixels[static_cast<std::ptrdiff_t>(y) * width + x] = value; }
};

/// One block draws one row of pixels. One thread reads each cell under it once, coalesced along the head dimension: a picture
/// costs one reading of the two matrices that a field needs (16 bytes per cell; 4 MiB and some microseconds at N = 4096, d =
/// 64), whatever the number of pixels. A pixel then takes the ranks of its columns from shared memory.
template <class Into>
__global__ void __launch_bounds__(sample_threads) row_of_pixels(SampleTask task, Into into) {
  __shared__ std::uint32_t ranks[max_d];
  const int y = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  for (int column = thread; column < max_d; column += sample_threads) ranks[column] = least_rank;
  __syncthreads();
  pool_columns(task, y, thread, sample_threads, [&](int column, std::uint32_t rank) { atomicMax(&ranks[column], rank); });
  __syncthreads();
  pool_pixels(task, y, thread, sample_threads, ranks, [&](int x, float value) { into(x, y, value); });
}

template <class Into>
void launch(const SampleTask& task, Into into, cudaStream_t stream) {
  if (task.width <= 0 || task.height <= 0) return;
  row_of_pixels<<<static_cast<unsigned>(task.height), sample_threads, 0, stream>>>(task, into);
  check(cudaGetLastError());
}

SampleTask task_of(const DeviceMatrices& m, Field field, const CellRect& rect, int width, int height, float outside) {
  return {{field, m.format, 0.01 * m.golden_rms},
          {m.golden.get(), m.a.get(), m.b.get()},
          m.rows,
          m.cols,
          rect,
          width,
          height,
          outside};
}

}  // namespace

void load_pictures() { load_file_of(row_of_pixels<IntoSurface>); }

void sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height, float outside,
                      unsigned long long surface, void* stream) {
  use_device(matrices.device);
  launch(task_of(matrices, field, rect, width, height, outside), IntoSurface{surface}, static_cast<cudaStream_t>(stream));
}

std::vector<float> sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height,
                                    float outside) {
  use_device(matrices.device);
  const Stream stream;
  const Buffer<float> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  launch(task_of(matrices, field, rect, width, height, outside), IntoMemory{pixels.get(), width}, stream.get());
  std::vector<float> copied(pixels.size());
  pixels.download(copied.data(), 0, copied.size(), stream);
  stream.wait();
  return copied;
}

int device_index(const DeviceMatrices& matrices) { return matrices.device; }

}  // namespace attoscope
