#include <algorithm>
#include <vector>

#include "kernels/bench/stages.h"
#include "kernels/gpu/gpu.h"

namespace attoscope {
namespace {

constexpr int chains = 8, steps = 512, threads_per_block = 256;

__device__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

/// Runs chains * steps * rounds fma in every thread.
template <class T>
__global__ void only_fma(T factor, int rounds, T* out) {
  T x[chains];
  for (int i = 0; i < chains; ++i) x[i] = static_cast<T>(threadIdx.x + i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 16
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 0; i < chains; ++i) x[i] = fused(x[i], factor, factor);
    }
  }
  T sum = 0;
  for (int i = 0; i < chains; ++i) sum += x[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// Milliseconds of f(stream), the best of several.
template <class F>
float best_ms(int repeats, F f) {
  const Stream stream;
  Event before, after;
  float best = 1e30f;
  for (int i = 0; i <= repeats; ++i) {
    before.record(stream);
    f(stream);
    after.record(stream);
    after.wait();
    if (i > 0) best = std::min(best, after.since(before));  // the first run warms up
  }
  return best;
}

template <class T>
double fma_rate(int device) {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int blocks = 8 * multiprocessors, rounds = 8;
  Buffer<T> out(static_cast<std::size_t>(blocks) * threads_per_block);
  const float ms = best_ms(20, [&](const Stream& stream) {
    only_fma<T><<<blocks, threads_per_block, 0, stream.get()>>>(T(0.5), rounds, out.get());
    check(cudaGetLastError());
  });
  return 2.0 * chains * steps * rounds * blocks * threads_per_block / (ms * 1e-3);
}

}  // namespace

double device_fma_peak(bool in_double, int device) {
  use_device(device);
  return in_double ? fma_rate<double>(device) : fma_rate<float>(device);
}

double device_copy_ms(std::size_t bytes, bool to_device, int device) {
  use_device(device);
  std::vector<char> host(bytes);
  Buffer<char> there(bytes);
  return best_ms(10, [&](const Stream& stream) {
    to_device ? there.upload(host.data(), bytes, stream) : there.download(host.data(), 0, bytes, stream);
  });
}

}  // namespace attoscope
