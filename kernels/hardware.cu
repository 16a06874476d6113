#include <algorithm>
#include <limits>
#include <stdexcept>

#include "kernels/gpu.h"
#include "kernels/hardware_block.h"
#include "kernels/hardware_launch.h"
#include "kernels/inputs.h"
#include "kernels/launch_pace.h"

namespace attoscope {
namespace {

/// A question with its operands on the GPU.
class OnDevice {
 public:
  OnDevice(const HardwareLaunch& x, const Stream& stream)
      : q_(x.q.size()), k_(x.k.size()), v_(x.v.size()), rows_(x.rows.size()), o_(x.q.size()) {
    q_.upload(x.q.data(), x.q.size(), stream);
    k_.upload(x.k.data(), x.k.size(), stream);
    v_.upload(x.v.data(), x.v.size(), stream);
    rows_.upload(x.rows.data(), x.rows.size(), stream);
  }

  mma::Arguments arguments(const HardwareLaunch& x) const {
    return {.q = q_.get(),
            .k = k_.get(),
            .v = v_.get(),
            .rows = rows_.get(),
            .o = o_.get(),
            .count = static_cast<int>(x.rows.size()),
            .n = x.n,
            .causal = x.causal,
            .c = x.c};
  }
  const Buffer<float>& o() const { return o_; }

 private:
  Buffer<std::uint16_t> q_, k_, v_;
  Buffer<int> rows_;
  Buffer<float> o_;
};

/// The kernel for x, allowed the shared memory that it needs.
class Kernel {
 public:
  explicit Kernel(const HardwareLaunch& x)
      : kernel_(x.format == bf16 ? bf16_kernel(x.d, x.tile) : fp16_kernel(x.d, x.tile)), heads_(x.heads) {
    int device = 0, limit = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (kernel_.shared_bytes > limit)
      throw std::invalid_argument("A tile of " + std::to_string(x.tile.block_q) + " x " + std::to_string(x.tile.block_k) +
                                  " with d = " + std::to_string(x.d) + " takes " + std::to_string(kernel_.shared_bytes) +
                                  " bytes of shared memory, and this GPU has " + std::to_string(limit) + ".");
    check(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel_.shared_bytes));
  }

  void launch(mma::Arguments x, int first_tile, int tiles, const Stream& stream) const {
    x.first_tile = first_tile;
    void* parameters[] = {&x};
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(heads_)), block(static_cast<unsigned>(kernel_.threads));
    check(cudaLaunchKernel(kernel_.function, grid, block, parameters, static_cast<std::size_t>(kernel_.shared_bytes),
                           stream.get()));
  }

 private:
  HardwareKernel kernel_;
  int heads_;
};

int tile_count(const HardwareLaunch& x) { return (static_cast<int>(x.rows.size()) + x.tile.block_q - 1) / x.tile.block_q; }

/// All tiles of queries, in launches that do not hold the GPU for long; `stop` is asked between them.
void run_in_slices(const HardwareLaunch& x, const OnDevice& operands, const Stream& stream, const StopSign& stop) {
  constexpr float limit_ms = 5;
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const Kernel kernel(x);
  Event before, after;
  LaunchPace pace(multiprocessors, limit_ms);
  for (int first = 0, tiles = tile_count(x); first < tiles;) {
    stop.check();
    const int count = std::min(pace.warps(), tiles - first);
    before.record(stream);
    kernel.launch(operands.arguments(x), first, count, stream);
    after.record(stream);
    after.wait();
    pace.took(count, after.since(before));
    first += count;
  }
}

/// N(0,1) in every head.
HardwareLaunch normal_launch(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile) {
  Problem problem;
  problem.n = n;
  problem.d = d;
  problem.mask.kind = causal ? Mask::Kind::causal : Mask::Kind::none;
  std::vector<int> rows(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = i;
  HardwareLaunch x = hardware_launch(problem, format,
                                     Method{.algorithm = Algorithm::hardware, .block_q = tile.block_q, .block_k = tile.block_k},
                                     *raw_inputs(problem), rows, StopSign{});
  x.heads = heads;
  for (std::vector<std::uint16_t>* part : {&x.q, &x.k, &x.v}) {
    const std::vector<std::uint16_t> head = *part;
    for (int i = 1; i < heads; ++i) part->insert(part->end(), head.begin(), head.end());
  }
  return x;
}

}  // namespace

std::vector<std::vector<float>> hardware_outputs(const HardwareLaunch& x, int runs, int device, const StopSign& stop) {
  const DeviceGuard guard(device);
  const Stream stream;
  const OnDevice operands(x, stream);
  std::vector<std::vector<float>> outputs;
  for (int run = 0; run < runs; ++run) {
    run_in_slices(x, operands, stream, stop);
    outputs.push_back(zeros<float>(x.q.size(), stop));
    operands.o().download(outputs.back().data(), 0, x.q.size(), stream);
    stream.wait();
  }
  return outputs;
}

double hardware_ms(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile, int device,
                   int repeats) {
  const DeviceGuard guard(device);
  const Stream stream;
  const HardwareLaunch x = normal_launch(n, d, heads, causal, format, tile);
  const OnDevice operands(x, stream);
  const Kernel kernel(x);
  Event before, after;
  float best = std::numeric_limits<float>::infinity();
  for (int i = 0; i <= repeats; ++i) {
    before.record(stream);
    kernel.launch(operands.arguments(x), 0, tile_count(x), stream);
    after.record(stream);
    after.wait();
    if (i > 0) best = std::min(best, after.since(before));  // the first one warms up
  }
  return best;
}

}  // namespace attoscope
