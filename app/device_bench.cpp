#include "app/device_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "kernels/device.h"
#include "kernels/hardware.h"
#include "kernels/presets.h"
#include "kernels/stages.h"

namespace attoscope {
namespace {

/// So many queries that every multiprocessor has several warps of them, and the work hides the copies.
constexpr int stage_n = 65536, stage_d = 64;
constexpr int update_n = 4096;
constexpr int hardware_n = 8192, hardware_heads = 16;

std::string spec_of(int gpu) { return "cuda:" + std::to_string(gpu); }

double useful_gflop(double n, double d) { return 4 * n * n * d * 1e-9; }

BenchRow stage_row(const std::string& name, double ms, double gflop, double peak, double goal_percent) {
  BenchRow row{.name = name, .ms = ms, .gflops = gflop / ms * 1e3};
  row.percent = 100 * row.gflops / peak;
  if (goal_percent > 0) row.goal = fmt::format("{} %", goal_percent);
  row.met = row.percent >= goal_percent;
  return row;
}

/// Golden and the flash policies, as an update times them: kernels, and their output to the host.
void append_stages(BenchReport& r, int gpu) {
  Memory memory;
  const Options options{.memory = &memory, .device = spec_of(gpu)};
  Experiment e = default_experiment();
  e.problem.n = stage_n;
  e.problem.d = stage_d;
  const double gflop = useful_gflop(stage_n, stage_d);
  double golden = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    ++e.problem.seed;
    golden = std::min(golden, compute(e, options).timing.golden);
  }
  r.rows.push_back(stage_row("golden, double", golden, gflop, r.double_peak, 50));
  for (const char* const name : {"hw", "tile", "eager", "all_tile"}) {
    e.a.precision = policy(name).precision;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) best = std::min(best, compute(e, options).timing.a);
    r.rows.push_back(stage_row(name, best, gflop, r.float_peak, std::string_view(name) == "hw" ? 50 : 0));
  }
}

BenchRow update_row(int gpu) {
  Memory memory;
  Experiment e = default_experiment();
  e.problem.n = update_n;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    ++e.problem.seed;
    best = std::min(best, compute(e, {.memory = &memory, .device = spec_of(gpu)}).timing.total);
  }
  return {.name = fmt::format("full update, N = {}", update_n), .ms = best, .goal = "16 ms", .met = best <= 16};
}

void append_transfers(BenchReport& r, int gpu) {
  const std::size_t bytes = std::size_t{update_n} * stage_d * sizeof(double);
  r.rows.push_back({.name = fmt::format("a matrix to the GPU, N = {}", update_n), .ms = device_copy_ms(bytes, true, gpu)});
  r.rows.push_back({.name = fmt::format("a matrix from the GPU, N = {}", update_n), .ms = device_copy_ms(bytes, false, gpu)});
}

BenchRow hardware_row(const Format& format, int d, const HardwareTile& tile, bool causal, int gpu, double goal_tflops) {
  const double ms = hardware_ms(hardware_n, d, hardware_heads, causal, format, tile, gpu, 20);
  BenchRow row{.name = fmt::format("mma.sync {}, d {}, {} x {}{}", name(format), d, tile.block_q, tile.block_k,
                                   causal ? ", causal" : ""),
               .ms = ms};
  row.gflops = hardware_heads * useful_gflop(hardware_n, d) * (causal ? 0.5 : 1) / ms * 1e3;
  if (goal_tflops > 0) row.goal = fmt::format("{} TF/s", goal_tflops);
  row.met = row.gflops >= 1000 * goal_tflops;
  return row;
}

void append_hardware(BenchReport& r, int gpu) {
  r.rows.push_back(hardware_row(bf16, 128, {128, 64}, false, gpu, 300));
  for (const HardwareTile& tile : hardware_tiles()) {
    if (!(tile == HardwareTile{128, 64})) r.rows.push_back(hardware_row(bf16, 128, tile, false, gpu, 0));
    r.rows.push_back(hardware_row(bf16, 64, tile, false, gpu, 0));
  }
  r.rows.push_back(hardware_row(fp16, 128, {128, 64}, false, gpu, 0));
  r.rows.push_back(hardware_row(bf16, 128, {128, 64}, true, gpu, 0));
}

}  // namespace

BenchReport device_bench(int gpu) {
  const auto info = std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index);
  BenchReport r{fmt::format("{}; stages at N = {}, d = {}; {} at N = {} with {} heads", info->name, stage_n, stage_d,
                            hardware_instruction, hardware_n, hardware_heads),
                device_fma_peak(false, gpu) * 1e-9,
                device_fma_peak(true, gpu) * 1e-9,
                {}};
  append_stages(r, gpu);
  r.rows.push_back(update_row(gpu));
  append_transfers(r, gpu);
  if (info->major >= 8) append_hardware(r, gpu);
  return r;
}

}  // namespace attoscope
