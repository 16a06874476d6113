/// The stages of `attoscope bench` through Google Benchmark: attoscope_bench [--benchmark_filter=hw].
#include <benchmark/benchmark.h>

#include <thread>

#include "kernels/bench/stages.h"

namespace attoscope {
namespace {

/// Times `stage`; also reports GFLOP/s, percent of its limit, nanoseconds per element.
void time_stage(benchmark::State& state, const Stage& stage, const MachineLimits& limits) {
  stage.call();  // the first touches memory
  for (auto _ : state) stage.call();
  const auto rate = [](double amount) { return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate); };
  if (stage.flops() > 0) state.counters["flop/s"] = rate(stage.flops());
  if (const double least = limit_ms(stage, limits); least > 0) state.counters["% of limit"] = rate(0.1 * least);
  if (stage.items > 0)
    state.counters["s/element"] =
        benchmark::Counter(stage.items, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void add(const Stage& stage, const MachineLimits& limits) {
  benchmark::RegisterBenchmark(stage.name.c_str(), [=](benchmark::State& state) { time_stage(state, stage, limits); })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->MinTime(0.5);
}

void add_all() {
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const MachineLimits limits = cpu_limits(threads);
  for (const Stage& stage : stages(1024)) add(stage, limits);
  for (const int n : {1024, 2048}) add(full_update(n), limits);
  for (int n = 256; n <= 65536; n *= 4) add(growth(n, 64), limits);
  for (int n = 256; n <= 4096; n *= 4) add(growth(n, 0), limits);
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
