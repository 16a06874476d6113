/// The stages of `attoscope bench` through Google Benchmark: attoscope_bench [--benchmark_filter=hw].
#include <benchmark/benchmark.h>

#include <thread>

#include "kernels/stages.h"

namespace attoscope {
namespace {

/// Times `stage`; beside the time: GFLOP/s and percent of the FMA peak, or the nanoseconds of one element.
void time_stage(benchmark::State& state, const Stage& stage, double peak) {
  stage.call();  // the first touches memory
  for (auto _ : state) stage.call();
  const auto rate = [](double amount) { return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate); };
  if (stage.flops > 0) {
    state.counters["flop/s"] = rate(stage.flops);
    state.counters["% of peak"] = rate(100 * stage.flops / peak);
  }
  if (stage.items > 0)
    state.counters["s/element"] =
        benchmark::Counter(stage.items, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  if (stage.goal_percent > 0) state.counters["goal %"] = stage.goal_percent;
  if (stage.goal_ms > 0) state.counters["goal ms"] = stage.goal_ms;
  if (stage.goal_ns > 0) state.counters["goal ns"] = stage.goal_ns;
}

void add(const Stage& stage, double peak) {
  benchmark::RegisterBenchmark(stage.name.c_str(), [stage, peak](benchmark::State& state) { time_stage(state, stage, peak); })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->MinTime(0.5);
}

void add_all() {
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const double single = fma_peak(false, threads), twice = fma_peak(true, threads);
  for (const Stage& stage : stages(1024)) add(stage, stage.in_double ? twice : single);
  for (const int n : {1024, 2048}) add(full_update(n), single);
  for (int n = 256; n <= 65536; n *= 4) add(growth(n, 64, 64), single);
  for (int n = 256; n <= 4096; n *= 4) add(growth(n, 64, 0), single);
}

}  // namespace
}  // namespace attoscope

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("device", attoscope::device_name());
  attoscope::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
