// The meter on a GPU: a thread follows one chain of one chunk, in the CPU's own lines; chains and chunks are added by the CPU.
#define ATTOSCOPE_SIMT simt_cuda

#include <cub/device/device_radix_sort.cuh>

#include "kernels/deviation_cuda.h"
#include "kernels/deviation_lanes.h"
#include "kernels/meter.h"

namespace attoscope {
namespace {

constexpr int threads_per_block = 128;

unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + threads_per_block - 1) / threads_per_block);
}

/// The calling thread's place: a chunk and a chain of it.
struct Place {
  std::size_t chunk = 0;
  int chain = 0;
};
__device__ Place place() {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return {thread / chains, static_cast<int>(thread % chains)};
}

__global__ void moments_kernel(const double* x, std::size_t count, std::size_t chunks, double* squares,
                               unsigned long long* totals) {
  const auto [chunk, chain] = place();
  if (chunk >= chunks) return;
  const ChainMoments m = chain_moments(x, count, chunk, chain);
  squares[chunk * chains + chain] = m.squares;
  if (m.nonfinite != 0) atomicAdd(&totals[0], m.nonfinite);
  atomicAdd(&totals[1], m.digest);
}

/// parts[chunk * chains + chain]: what that chain alone gives.
__global__ void sums_kernel(const double* x, const double* y, std::size_t count, std::size_t chunks, DeviationRule rule,
                            DeviationSums* parts) {
  const auto [chunk, chain] = place();
  if (chunk >= chunks) return;
  const std::size_t first = chunk * chunk_size;
  const int here = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
  parts[chunk * chains + chain] = simt_cuda::DeviationChunk(rule, chain).sums(x + first, y + first, here);
}

/// wholes[chunk]: its chains together.
__global__ void join_kernel(const DeviationSums* parts, std::size_t chunks, DeviationSums* wholes) {
  const std::size_t chunk = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (chunk >= chunks) return;
  DeviationSums whole = parts[chunk * chains];
  for (int chain = 1; chain < chains; ++chain) join(whole, parts[chunk * chains + chain]);
  wholes[chunk] = whole;
}

__global__ void gaps_kernel(const std::uint64_t* x, const std::uint64_t* y, std::size_t count, std::size_t chunks,
                            double* gaps) {
  const auto [chunk, chain] = place();
  if (chunk < chunks) gaps[chunk * chains + chain] = chain_gap(x, y, count, chunk, chain);
}

__global__ void keys_kernel(const double* x, std::size_t count, std::uint64_t* keys) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) keys[i] = key_of(x[i]);
}

template <class T>
std::vector<T> downloaded(const Buffer<T>& x, std::size_t count, const Stream& stream) {
  std::vector<T> y(count);
  x.download(y.data(), 0, count, stream);
  stream.wait();
  return y;
}

}  // namespace

Moments DeviceMeter::moments(const double* x, std::size_t count, const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  chains_.reserve(chunks * chains);
  totals_.reserve(2);
  totals_.clear(stream);
  moments_kernel<<<blocks_for(chunks * chains), threads_per_block, 0, stream.get()>>>(x, count, chunks, chains_.get(),
                                                                                      totals_.get());
  check(cudaGetLastError());
  const std::vector<unsigned long long> totals = downloaded(totals_, 2, stream);
  return {downloaded(chains_, chunks * chains, stream), static_cast<std::int64_t>(totals[0]), totals[1]};
}

std::vector<DeviationSums> DeviceMeter::sums(const double* x, const double* y, std::size_t count, const DeviationRule& rule,
                                             const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  parts_.reserve(chunks * chains);
  wholes_.reserve(chunks);
  sums_kernel<<<blocks_for(chunks * chains), threads_per_block, 0, stream.get()>>>(x, y, count, chunks, rule, parts_.get());
  check(cudaGetLastError());
  join_kernel<<<blocks_for(chunks), threads_per_block, 0, stream.get()>>>(parts_.get(), chunks, wholes_.get());
  check(cudaGetLastError());
  return downloaded(wholes_, chunks, stream);
}

std::vector<double> DeviceMeter::gaps(const std::uint64_t* x, const std::uint64_t* y, std::size_t count, const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  chains_.reserve(chunks * chains);
  gaps_kernel<<<blocks_for(chunks * chains), threads_per_block, 0, stream.get()>>>(x, y, count, chunks, chains_.get());
  check(cudaGetLastError());
  return downloaded(chains_, chunks * chains, stream);
}

void DeviceMeter::sort(const double* x, std::size_t count, Buffer<std::uint64_t>& sorted, const Stream& stream) {
  keys_.reserve(count);
  sorted.reserve(count);
  keys_kernel<<<blocks_for(count), threads_per_block, 0, stream.get()>>>(x, count, keys_.get());
  check(cudaGetLastError());
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys_.get(), sorted.get(), count, 0, 64, stream.get()));
  scratch_.reserve(bytes);
  check(cub::DeviceRadixSort::SortKeys(scratch_.get(), bytes, keys_.get(), sorted.get(), count, 0, 64, stream.get()));
}

}  // namespace attoscope
