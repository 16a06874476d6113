#include "app/commands/device_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "kernels/bench/stages.h"
#include "kernels/experiment/presets.h"
#include "kernels/gpu/device.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {
namespace {

/// So many queries that every multiprocessor has several warps of them, and the work hides the copies.
constexpr int stage_n = 65536, stage_d = 64;
constexpr int update_n = 4096;
constexpr int hardware_n = 8192, hardware_heads = 16;

/// What a percentage is of: the fma of q.k and P.V at the measured peak. The rest of a tile (exp, sums, copies, golden's q.k
/// that is computed again) takes as many instructions again, so that none of these rows can come near 100 % (see
/// tests/gpu/README.md).
const char* const products_alone = "FMA of the products alone";

std::string spec_of(int gpu) { return "cuda:" + std::to_string(gpu); }

double useful_gflop(double n, double d) { return 4 * n * n * d * 1e-9; }

BenchRow stage_row(const std::string& name, double ms, double gflop, double peak) {
  BenchRow row{.name = name, .ms = ms, .gflops = gflop / ms * 1e3, .limit = products_alone};
  row.percent = 100 * row.gflops / peak;
  return row;
}

/// Golden and the flash policies, as an update times them: from the first launch to the end of the last.
void append_stages(BenchReport& r, int gpu) {
  ComputeCache cache;
  const Options options{.cache = &cache, .device = spec_of(gpu)};
  Experiment e = default_experiment();
  e.problem.n = stage_n;
  e.problem.d = stage_d;
  const double gflop = useful_gflop(stage_n, stage_d);
  double golden = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    ++e.problem.seed;
    golden = std::min(golden, compute(e, options).timing.golden);
  }
  r.rows.push_back(stage_row("golden, double", golden, gflop, r.double_peak));
  for (const char* const name : {"hw", "tile", "eager", "all_tile"}) {
    e.a.precision = policy(name).precision;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) best = std::min(best, compute(e, options).timing.a);
    r.rows.push_back(stage_row(name, best, gflop, r.float_peak));
  }
}

/// Golden in double, a and b in float.
BenchRow update_row(const BenchReport& r, int gpu) {
  ComputeCache cache;
  Experiment e = default_experiment();
  e.problem.n = update_n;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    ++e.problem.seed;
    best = std::min(best, compute(e, {.cache = &cache, .device = spec_of(gpu)}).timing.total);
  }
  const double gflop = useful_gflop(update_n, e.problem.d), least = gflop / r.double_peak + 2 * gflop / r.float_peak;
  return {.name = fmt::format("full update, N = {}", update_n),
          .ms = best,
          .gflops = 3 * gflop / best * 1e3,
          .percent = 100 * least / best * 1e3,
          .limit = products_alone};
}

/// Against a copy so large that only the bytes count.
void append_transfers(BenchReport& r, int gpu) {
  constexpr std::size_t bytes = std::size_t{update_n} * stage_d * sizeof(double), large = 128;
  for (const bool to_device : {true, false}) {
    const double ms = device_copy_ms(bytes, to_device, gpu), least = device_copy_ms(large * bytes, to_device, gpu) / large;
    r.rows.push_back({.name = fmt::format("a matrix {} the GPU, N = {}", to_device ? "to" : "from", update_n),
                      .ms = ms,
                      .percent = 100 * least / ms,
                      .limit = "a large copy"});
  }
}

BenchRow hardware_row(const Format& format, int d, const HardwareTile& tile, bool causal, int gpu) {
  const double ms = hardware_ms(hardware_n, d, hardware_heads, causal, format, tile, gpu, 20);
  BenchRow row{.name = fmt::format("mma.sync {}, d {}, {} x {}{}", name(format), d, tile.block_q, tile.block_k,
                                   causal ? ", causal" : ""),
               .ms = ms};
  row.gflops = hardware_heads * useful_gflop(hardware_n, d) * (causal ? 0.5 : 1) / ms * 1e3;
  return row;
}

void append_hardware(BenchReport& r, const DeviceInfo& info) {
  const int gpu = info.index;
  r.rows.push_back(hardware_row(bf16, 128, {128, 64}, false, gpu));
  for (const HardwareTile& tile : hardware_tiles()) {
    if (!(tile == HardwareTile{128, 64})) r.rows.push_back(hardware_row(bf16, 128, tile, false, gpu));
    r.rows.push_back(hardware_row(bf16, 64, tile, false, gpu));
  }
  r.rows.push_back(hardware_row(fp16, 128, {128, 64}, false, gpu));
  r.rows.push_back(hardware_row(bf16, 128, {128, 64}, true, gpu));
  if (!why_no_hardware(info, e4m3).empty()) return;
  for (const int d : {64, 128}) r.rows.push_back(hardware_row(e4m3, d, {128, 64}, false, gpu));
}

}  // namespace

BenchReport device_bench(int gpu) {
  const auto info = std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index);
  BenchReport r{fmt::format("{}; stages at N = {}, d = {}; mma.sync at N = {} with {} heads", info->name, stage_n, stage_d,
                            hardware_n, hardware_heads),
                device_fma_peak(false, gpu) * 1e-9,
                device_fma_peak(true, gpu) * 1e-9,
                {}};
  append_stages(r, gpu);
  r.rows.push_back(update_row(r, gpu));
  append_transfers(r, gpu);
  if (why_no_hardware(*info, bf16).empty()) append_hardware(r, *info);
  return r;
}

}  // namespace attoscope
