#include <algorithm>
#include <limits>
#include <stdexcept>

#include "kernels/cpu/inputs.h"
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/launch_pace.h"
#include "kernels/tensor_core/hardware.h"
#include "kernels/tensor_core/hardware_block.h"

namespace attoscope {
namespace {

/// The operands of a launch on the GPU.
class OnDevice {
 public:
  OnDevice(const HardwareLaunch& x, const Stream& stream)
      : q_(x.q, stream), k_(x.k, stream), v_(x.v, stream), rows_(x.rows, stream), o_(x.outputs()) {}

  mma::Arguments arguments(const HardwareLaunch& x) const {
    return {.q = q_.get(),
            .k = k_.get(),
            .v = v_.get(),
            .rows = rows_.get(),
            .o = o_.get(),
            .count = static_cast<int>(x.rows.size()),
            .n = x.n,
            .causal = x.causal,
            .c = x.c,
            .shift = x.shift};
  }
  const Buffer<float>& o() const { return o_; }

 private:
  Buffer<std::uint8_t> q_, k_, v_;
  Buffer<int> rows_;
  Buffer<float> o_;
};

HardwareKernel kernel_of(const HardwareLaunch& x) {
  return x.format == bf16 ? bf16_kernel(x.d, x.tile) : x.format == fp16 ? fp16_kernel(x.d, x.tile) : e4m3_kernel(x.d, x.tile);
}

/// The kernel for x; the constructor allows it the shared memory that it needs.
class Kernel {
 public:
  explicit Kernel(const HardwareLaunch& x) : kernel_(kernel_of(x)), heads_(x.heads) {
    const int limit = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    check_code(x.format);
    if (kernel_.shared_bytes > limit)
      throw std::invalid_argument("A tile of " + std::to_string(x.tile.block_q) + " x " + std::to_string(x.tile.block_k) +
                                  " with d = " + std::to_string(x.d) + " takes " + std::to_string(kernel_.shared_bytes) +
                                  " bytes of shared memory, and this GPU has " + std::to_string(limit) + ".");
    check(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel_.shared_bytes));
  }

  void launch(mma::Arguments x, int first_tile, int tiles, const Stream& stream) const {
    x.first_tile = first_tile;
    x.tiles = tiles;
    x.of_block = x.causal ? first_tile + tiles - 1 : first_tile;  // the longest first
    x.step = x.causal ? -1 : 1;
    void* parameters[] = {&x};
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(heads_)), block(static_cast<unsigned>(kernel_.threads));
    check(cudaLaunchKernel(kernel_.function, grid, block, parameters, static_cast<std::size_t>(kernel_.shared_bytes),
                           stream.get()));
  }
  /// Number of floats that `tiles` tiles of queries store for the next launch.
  std::size_t state_floats(int tiles) const {
    return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(heads_) * static_cast<std::size_t>(kernel_.state_floats);
  }

 private:
  /// Throws if the kernel was compiled for GPUs without its instructions, and so computes nothing.
  void check_code(const Format& format) const {
    cudaFuncAttributes code{};
    check(cudaFuncGetAttributes(&code, kernel_.function));
    const DeviceInfo built{
        .name = "this program's code for this GPU", .major = code.ptxVersion / 10, .minor = code.ptxVersion % 10};
    if (const std::string reason = why_no_hardware(built, format); !reason.empty()) throw std::runtime_error(reason);
  }

  HardwareKernel kernel_;
  int heads_;
};

int tile_count(const HardwareLaunch& x) { return (static_cast<int>(x.rows.size()) + x.tile.block_q - 1) / x.tile.block_q; }

/// Work of a tile of queries, in units of about one fma: tensor cores multiply about 16 times as fast.
WorkEstimate work_of(const HardwareLaunch& x) {
  const std::int64_t key = static_cast<std::int64_t>(x.d) * 2 * x.heads / 16;
  return {key * x.n, key * x.tile.block_k};
}

/// Processes all tiles of queries in several launches; checks `stop` between them.
void run_in_slices(const HardwareLaunch& x, const OnDevice& operands, const Stream& stream, const StopSign& stop,
                   const HardwareCuts& cuts) {
  constexpr int most_tiles = 4096;
  const Kernel kernel(x);
  const WorkEstimate work = work_of(x);
  const int block_q = x.tile.block_q, rows = static_cast<int>(x.rows.size());
  Event before, after;
  Buffer<float> state;
  mma::Arguments arguments = operands.arguments(x);
  constexpr int held = 2;
  const LaunchPace pace{device_attribute(cudaDevAttrMultiProcessorCount), held, cuts.limit_ms, work,
                        cuts.first_work > 0 ? cuts.first_work : LaunchPace::usual_first_work};
  in_launches(rows, block_q, most_tiles, pace, UncountedSign(stop), [&](const LaunchPart& part) {
    const auto keys_before = [&](std::int64_t place) {
      return static_cast<int>((std::min(place, work.whole) + work.item - 1) / work.item);
    };
    arguments.first_keys = keys_before(part.range.from);
    arguments.end_keys = keys_before(part.range.to);
    const bool over = part.range.to >= work.whole;
    if (part.range.from == 0 && !over) state.reserve(kernel.state_floats(part.blocks));
    arguments.state = state.get();
    before.record(stream);
    kernel.launch(arguments, part.first / block_q, part.blocks, stream);
    after.record(stream);
    after.wait();
    return LaunchEnd{over ? work.whole : part.range.to + 1, after.since(before)};
  });
}

void load_file_of_kernel(int gpu, const HardwareKernel& kernel) {
  use_device(gpu);
  load_file_of(kernel.function);
}

/// A launch with N(0,1) inputs, the same in every head.
HardwareLaunch normal_launch(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile) {
  const Problem problem{.n = n, .d = d, .mask = {.kind = causal ? Mask::Kind::causal : Mask::Kind::none}};
  HardwareLaunch x = hardware_launch(problem, format,
                                     Method{.algorithm = Algorithm::hardware, .block_q = tile.block_q, .block_k = tile.block_k},
                                     *raw_inputs(problem), numbers(n), StopSign{});
  x.heads = heads;
  for (std::vector<std::uint8_t>* part : {&x.q, &x.k, &x.v}) {
    const std::vector<std::uint8_t> head = *part;
    for (int i = 1; i < heads; ++i) part->insert(part->end(), head.begin(), head.end());
  }
  return x;
}

}  // namespace

void hardware_code_bf16(int gpu) { load_file_of_kernel(gpu, bf16_kernel(64, {64, 64})); }
void hardware_code_fp16(int gpu) { load_file_of_kernel(gpu, fp16_kernel(64, {64, 64})); }
void hardware_code_e4m3(int gpu) { load_file_of_kernel(gpu, e4m3_kernel(64, {64, 64})); }

std::vector<std::vector<float>> hardware_outputs(const HardwareLaunch& x, int runs, int device, const StopSign& stop,
                                                 const HardwareCuts& cuts) {
  use_device(device);
  const Stream stream;
  const OnDevice operands(x, stream);
  std::vector<std::vector<float>> outputs;
  for (int run = 0; run < runs; ++run) {
    run_in_slices(x, operands, stream, stop, cuts);
    outputs.push_back(zeros<float>(x.outputs(), stop));
    operands.o().download(outputs.back().data(), 0, x.outputs(), stream);
    stream.wait();
  }
  return outputs;
}

double hardware_ms(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile, int device,
                   int repeats) {
  use_device(device);
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
    if (i > 0) best = std::min(best, after.since(before));  // the first launch warms up
  }
  return best;
}

}  // namespace attoscope
