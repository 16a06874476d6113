// Comparison on a GPU: a thread computes one chain of one chunk with the CPU's code; the CPU adds chains and chunks.
#define ATTOSCOPE_SIMT simt_cuda

#include <cub/device/device_radix_sort.cuh>

#include "kernels/deviation/meter.h"
#include "kernels/gpu/deviation_cuda.h"
#include "kernels/lanes/deviation_lanes.h"

namespace attoscope {
namespace {

constexpr int threads_per_block = 128;

unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + threads_per_block - 1) / threads_per_block);
}

/// Calls launch(first, end) for pieces of 0 .. count, so that none holds a GPU for long: 2^24 elements take some 3 ms of one
/// with few units for double.
template <class Launch>
void in_pieces(std::size_t count, std::size_t piece, Launch launch) {
  for (std::size_t first = 0; first < count; first += piece) {
    launch(first, std::min(count, first + piece));
    check(cudaGetLastError());
  }
}
constexpr std::size_t most_elements = std::size_t{1} << 24, most_chunks = most_elements / chunk_size;

/// The calling thread's place: a chunk, `first` the launch's first, and a chain of it.
struct Place {
  std::size_t chunk = 0;
  int chain = 0;
};
__device__ Place place(std::size_t first) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return {first + thread / chains, static_cast<int>(thread % chains)};
}

__global__ void moments_kernel(const double* x, std::size_t count, std::size_t begin, std::size_t end, double* squares,
                               unsigned long long* totals) {
  const auto [chunk, chain] = place(begin);
  if (chunk >= end) return;
  const ChainMoments m = chain_moments(x, count, chunk, chain);
  squares[chunk * chains + chain] = m.squares;
  if (m.nonfinite != 0) atomicAdd(&totals[0], m.nonfinite);
  atomicAdd(&totals[1], m.digest);
}

/// parts[chunk * chains + chain]: the sums of that chain alone.
__global__ void sums_kernel(const double* x, const double* y, std::size_t count, std::size_t begin, std::size_t end,
                            DeviationRule rule, DeviationSums* parts) {
  const auto [chunk, chain] = place(begin);
  if (chunk >= end) return;
  const std::size_t first = chunk * chunk_size;
  const int here = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
  parts[chunk * chains + chain] = simt_cuda::DeviationChunk(rule, chain).sums(x + first, y + first, here);
}

/// wholes[chunk]: the sums of all its chains.
__global__ void join_kernel(const DeviationSums* parts, std::size_t chunks, DeviationSums* wholes) {
  const std::size_t chunk = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (chunk >= chunks) return;
  DeviationSums whole = parts[chunk * chains];
  for (int chain = 1; chain < chains; ++chain) join(whole, parts[chunk * chains + chain]);
  wholes[chunk] = whole;
}

__global__ void gaps_kernel(const std::uint64_t* x, const std::uint64_t* y, std::size_t count, std::size_t begin,
                            std::size_t end, double* gaps) {
  const auto [chunk, chain] = place(begin);
  if (chunk < end) gaps[chunk * chains + chain] = chain_gap(x, y, count, chunk, chain);
}

__global__ void keys_kernel(const double* x, std::size_t begin, std::size_t end, std::uint64_t* keys) {
  const std::size_t i = begin + static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < end) keys[i] = key_of(x[i]);
}

template <class T>
std::vector<T> downloaded(const Buffer<T>& x, std::size_t count, const Stream& stream) {
  std::vector<T> y(count);
  x.download(y.data(), 0, count, stream);
  stream.wait();
  return y;
}

}  // namespace

void load_deviations() { load_file_of(moments_kernel); }

Moments DeviceMeter::moments(const double* x, std::size_t count, const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  chains_.reserve(chunks * chains);
  totals_.reserve(2);
  totals_.clear(stream);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    moments_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream.get()>>>(x, count, first, end,
                                                                                               chains_.get(), totals_.get());
  });
  const std::vector<unsigned long long> totals = downloaded(totals_, 2, stream);
  return {downloaded(chains_, chunks * chains, stream), static_cast<std::int64_t>(totals[0]), totals[1]};
}

std::vector<DeviationSums> DeviceMeter::sums(const double* x, const double* y, std::size_t count, const DeviationRule& rule,
                                             const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  parts_.reserve(chunks * chains);
  wholes_.reserve(chunks);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    sums_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream.get()>>>(x, y, count, first, end, rule,
                                                                                            parts_.get());
  });
  join_kernel<<<blocks_for(chunks), threads_per_block, 0, stream.get()>>>(parts_.get(), chunks, wholes_.get());
  check(cudaGetLastError());
  return downloaded(wholes_, chunks, stream);
}

std::vector<double> DeviceMeter::gaps(const std::uint64_t* x, const std::uint64_t* y, std::size_t count, const Stream& stream) {
  const std::size_t chunks = chunk_count(count);
  chains_.reserve(chunks * chains);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    gaps_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream.get()>>>(x, y, count, first, end,
                                                                                            chains_.get());
  });
  return downloaded(chains_, chunks * chains, stream);
}

void DeviceMeter::sort(const double* x, std::size_t count, Buffer<std::uint64_t>& sorted, const Stream& stream) {
  keys_.reserve(count);
  sorted.reserve(count);
  in_pieces(count, most_elements, [&](std::size_t first, std::size_t end) {
    keys_kernel<<<blocks_for(end - first), threads_per_block, 0, stream.get()>>>(x, first, end, keys_.get());
  });
  std::size_t bytes = 0;
  const auto sort_keys = [&](void* scratch) {
    check(as_device_failure("The GPU refused to sort", [&] {
      return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys_.get(), sorted.get(), count, 0, 64, stream.get());
    }));
  };
  sort_keys(nullptr);  // asks how much scratch it takes
  scratch_.reserve(bytes);
  sort_keys(scratch_.get());
}

}  // namespace attoscope
