// Comparison on a GPU: a thread computes one chain of one chunk by the CPU's code; the CPU adds chains and chunks.
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

/// Calls launch(first, end) for pieces of 0 .. count, short enough not to occupy a GPU for long: 2^24 elements take about 3 ms
/// on a GPU with few units for double.
template <class Launch>
void in_pieces(std::size_t count, std::size_t piece, Launch launch) {
  for (std::size_t first = 0; first < count; first += piece) {
    launch(first, std::min(count, first + piece));
    check(cudaGetLastError());
  }
}
constexpr std::size_t most_elements = std::size_t{1} << 24, most_chunks = most_elements / chunk_size;

/// Position of the calling thread: a chunk, counted from the launch's first chunk `first`, and a chain of it.
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

/// Computes the rule of a comparison with a measured matrix. One thread suffices: there is one chunk per 4096 elements.
__global__ void rule_kernel(const double* squares, const unsigned long long* totals, std::size_t count, Format main,
                            DeviationRule* rule) {
  const std::int64_t finite = static_cast<std::int64_t>(count) - static_cast<std::int64_t>(totals[0]);
  *rule = {.format = main, .floor = ulp_floor(rms_of(ordered_total(squares, chunk_count(count)), finite))};
}
/// Changes the rule to sums of differences from their mean.
__global__ void centre_kernel(const DeviationSums* wholes, std::size_t chunks, DeviationRule* rule) {
  rule->centre = mean_difference(wholes, chunks);
  rule->centred_alone = true;
}

/// Sets parts[chunk * chains + chain] to the sums of this chain.
__global__ void sums_kernel(const double* x, const double* y, std::size_t count, std::size_t begin, std::size_t end,
                            const DeviationRule* rule, DeviationSums* parts) {
  const auto [chunk, chain] = place(begin);
  if (chunk >= end) return;
  const std::size_t first = chunk * chunk_size;
  const int here = static_cast<int>(count - first < chunk_size ? count - first : chunk_size);
  parts[chunk * chains + chain] = simt_cuda::DeviationChunk(*rule, chain).sums(x + first, y + first, here);
}

/// Sets wholes[chunk] to the sums of all its chains.
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

}  // namespace

void load_deviations() { load_file_of(moments_kernel); }

template <class T, class Take>
void DeviceMeter::fetch(const Buffer<T>& x, std::size_t count, Take take) {
  const T* const staged = staging_.sent(x, 0, count, stream_);
  arriving_.push_back([staged, take](EngineAnswers& answers) { take(staged, answers); });
}

void DeviceMeter::measure(Output output, const double* x, std::size_t count) {
  const std::size_t chunks = chunk_count(count);
  Side& mine = side(output);
  mine.squares.reserve(chunks * chains, stream_);
  mine.totals.reserve(2, stream_);
  mine.totals.clear(stream_);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    moments_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream_.get()>>>(
        x, count, first, end, mine.squares.get(), mine.totals.get());
  });
  const auto at = static_cast<std::size_t>(output);
  fetch(mine.totals, 2, [at](const unsigned long long* totals, EngineAnswers& answers) {
    answers.moments[at].nonfinite = static_cast<std::int64_t>(totals[0]);
    answers.moments[at].digest_sum = totals[1];
  });
  fetch(mine.squares, chunks * chains, [at, chunks](const double* squares, EngineAnswers& answers) {
    answers.moments[at].squares.assign(squares, squares + chunks * chains);
  });
}

/// Computes wholes_[chunk] by the current rule.
void DeviceMeter::sums(const double* x, const double* y, std::size_t count) {
  const std::size_t chunks = chunk_count(count);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    sums_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream_.get()>>>(x, y, count, first, end,
                                                                                             rule_.get(), parts_.get());
  });
  join_kernel<<<blocks_for(chunks), threads_per_block, 0, stream_.get()>>>(parts_.get(), chunks, wholes_.get());
  check(cudaGetLastError());
}

void DeviceMeter::compare(Output x_is, const double* x, Output y_is, const double* y, std::size_t count, const Format& main,
                          bool sorts) {
  const std::size_t chunks = chunk_count(count), row = static_cast<std::size_t>(x_is), column = static_cast<std::size_t>(y_is);
  rule_.reserve(1, stream_);
  parts_.reserve(chunks * chains, stream_);
  wholes_.reserve(chunks, stream_);
  rule_kernel<<<1, 1, 0, stream_.get()>>>(side(y_is).squares.get(), side(y_is).totals.get(), count, main, rule_.get());
  sums(x, y, count);
  fetch(wholes_, chunks, [=](const DeviationSums* sums, EngineAnswers& answers) {
    answers.comparisons[row][column].chunks.assign(sums, sums + chunks);
  });
  centre_kernel<<<1, 1, 0, stream_.get()>>>(wholes_.get(), chunks, rule_.get());
  sums(x, y, count);
  fetch(wholes_, chunks, [=](const DeviationSums* sums, EngineAnswers& answers) {
    answers.comparisons[row][column].centred.assign(sums, sums + chunks);
  });
  if (!sorts) return;
  sort(side(x_is), x, count);
  sort(side(y_is), y, count);
  chains_.reserve(chunks * chains, stream_);
  in_pieces(chunks, most_chunks, [&](std::size_t first, std::size_t end) {
    gaps_kernel<<<blocks_for((end - first) * chains), threads_per_block, 0, stream_.get()>>>(
        side(x_is).keys.get(), side(y_is).keys.get(), count, first, end, chains_.get());
  });
  fetch(chains_, chunks * chains, [=](const double* gaps, EngineAnswers& answers) {
    answers.comparisons[row][column].gaps.assign(gaps, gaps + chunks * chains);
  });
}

void DeviceMeter::sort(Side& side, const double* x, std::size_t count) {
  if (side.is_sorted) return;
  unsorted_.reserve(count, stream_);
  side.keys.reserve(count, stream_);
  in_pieces(count, most_elements, [&](std::size_t first, std::size_t end) {
    keys_kernel<<<blocks_for(end - first), threads_per_block, 0, stream_.get()>>>(x, first, end, unsorted_.get());
  });
  std::size_t bytes = 0;
  const auto sort_keys = [&](void* scratch) {
    check(as_device_failure("The GPU refused to sort", [&] {
      return cub::DeviceRadixSort::SortKeys(scratch, bytes, unsorted_.get(), side.keys.get(), count, 0, 64, stream_.get());
    }));
  };
  sort_keys(nullptr);  // finds the required size of scratch
  scratch_.reserve(bytes, stream_);
  sort_keys(scratch_.get());
  side.is_sorted = true;
}

void DeviceMeter::collect(EngineAnswers& answers) {
  for (const auto& take : arriving_) take(answers);
  arriving_.clear();
}

}  // namespace attoscope
