/// `attoscope bench`: times every stage and compares it with a limit of the CPU or GPU measured in the same run.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/words/devices.h"
#include "kernels/bench/stages.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/gpu/device.h"
#include "kernels/parallel/parallel.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope::app {
namespace {

struct BenchArguments {
  bool growth = false;         ///< also time N = 256 .. 65536
  std::string only;            ///< stages of the CPU whose names contain this
  std::string device = "cpu";  ///< auto, cpu, cuda, cuda:K
  std::string json;            ///< file for the rows as JSON, "-" for standard output, or empty
};

/// One measured stage.
struct BenchRow {
  std::string name;
  double ms = 0;        ///< of one call, the best of many
  double gflops = 0;    ///< useful GFLOP a second; 0 if the stage is not measured by them
  double percent = 0;   ///< of `limit`; 0 if no limit is known
  double ns = 0;        ///< of one element
  std::string limit{};  ///< "FMA" or "copy"; empty: no limit is known
};

struct BenchReport {
  std::string device;
  double float_peak = 0, double_peak = 0;  ///< GFLOP/s of all threads, or of the GPU
  std::vector<BenchRow> rows;
  std::optional<Timing> update{};  ///< the parts of a full update at N = 1024 on the CPU
  int threads = 1;
};

/// Best time of as many calls as fit into a second (at most 400), but of at least three unless these take 4 s.
double best_ms(const Stage& s) {
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; (i < 3 && spent < 4000) || (spent < 1000 && i < 400); ++i) {
    const double ms = ms_of([&] { s.call(); });
    best = std::min(best, ms);
    spent += ms;
  }
  return best;
}

BenchRow measure(const Stage& s, const MachineLimits& limits) {
  BenchRow r{.name = s.name, .ms = best_ms(s)};
  r.gflops = s.flops() / r.ms * 1e-6;
  r.percent = 100 * limit_ms(s, limits) / r.ms;
  if (s.items > 0) r.ns = r.ms * 1e6 / s.items;
  if (r.percent > 0) r.limit = std::string(s.bytes > 0 ? "copy" : "FMA") + (s.one_core ? ", one core" : "");
  return r;
}

std::vector<Stage> growth_stages() {
  std::vector<Stage> all;
  for (const int rows : {64, 0})
    for (int n = 256; n <= 65536; n *= 4) all.push_back(growth(n, rows));
  return all;
}

/// The consecutive parts of an update.
std::vector<std::pair<const char*, double>> parts_of(const Timing& t) {
  return {{"inputs", t.inputs}, {"golden", t.golden}, {"a", t.a}, {"b", t.b}, {"deviation", t.deviation}};
}

/// Calls f(name, ms) for each part of an update, in ms of all threads together, and for the rest, in which threads wait for the
/// last block of rows.
template <class F>
void each_part(const Timing& t, int threads, F f) {
  double rest = t.total;
  for (std::size_t i = 0; i < t.busy.size(); ++i) {
    f(std::string(update_part_names[i]), t.busy[i] / threads);
    rest -= t.busy[i] / threads;
  }
  f("waiting threads, and work without a row", rest);
}

std::string where_time_goes(const Timing& t, int threads) {
  std::string text = fmt::format("\nWhere a full update at N = 1024 goes, {:.2f} ms on {} threads\n", t.total, threads);
  each_part(t, threads, [&](const std::string& name, double ms) {
    text += fmt::format("{:<42}{:>10.3f}{:>8.1f} %\n", name, ms, 100 * ms / t.total);
  });
  return text;
}

std::string table(const BenchReport& r) {
  const bool tera = r.float_peak >= 10000;
  const double unit = tera ? 1000 : 1;
  const char* const unit_name = tera ? "TFLOP/s" : "GFLOP/s";
  const auto amount = [&](double gflops) { return fmt::format("{:.{}f}", gflops / unit, tera ? 2 : 0); };
  std::string text = fmt::format("{}; FMA peak {} {} in float, {} in double\n\n", r.device, amount(r.float_peak), unit_name,
                                 amount(r.double_peak));
  text += fmt::format("{:<44}{:>10}{:>10}{:>9}{:>10}  {}\n", "stage", "ms", unit_name, "ns", "of limit", "limit");
  for (const BenchRow& row : r.rows) {
    const std::string gflops = row.gflops > 0 ? amount(row.gflops) : "";
    const std::string percent = row.percent > 0 ? fmt::format("{:.1f} %", row.percent) : "";
    const std::string ns = row.ns > 0 ? fmt::format("{:.3f}", row.ns) : "";
    text += fmt::format("{:<44}{:>10.3f}{:>10}{:>9}{:>10}  {}\n", row.name, row.ms, gflops, ns, percent, row.limit);
  }
  if (r.update) text += where_time_goes(*r.update, r.threads);
  return text;
}

std::string bench_json(const BenchReport& r) {
  Json j{{"schema", "attoscope.bench/1"},
         {"device", r.device},
         {"fma_peak_gflops", {{"float", r.float_peak}, {"double", r.double_peak}}}};
  for (const BenchRow& row : r.rows) {
    Json entry{{"stage", row.name}, {"ms", row.ms}};
    if (row.gflops > 0) entry["gflops"] = row.gflops;
    if (row.percent > 0) entry["percent_of_limit"] = row.percent;
    if (row.ns > 0) entry["ns"] = row.ns;
    if (!row.limit.empty()) entry["limit"] = row.limit;
    j["rows"].push_back(entry);
  }
  if (r.update) {
    j["update_ms"]["total"] = r.update->total;
    for (const auto& [name, ms] : parts_of(*r.update)) j["update_ms"][name] = ms;
    each_part(*r.update, r.threads, [&](const std::string& name, double ms) { j["update_ms"]["parts"][name] = ms; });
  }
  return json_text(j);
}

/// Enough queries for several warps on every multiprocessor; the work hides the copies.
constexpr int stage_n = 65536, stage_d = 64;
constexpr int update_n = 4096;
constexpr int hardware_n = 8192, hardware_heads = 16;

/// 100 % of these rows is the fma of q.k and P.V at the measured peak. The rest of a tile (exp, sums, copies, golden's second
/// q.k) takes as many instructions again: no row comes near 100 % (see tests/gpu/README.md).
const char* const products_alone = "FMA of the products alone";

/// Least value of `calls` calls.
template <class F>
double least_of(int calls, F call) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < calls; ++i) least = std::min(least, call());
  return least;
}

std::string spec_of(int gpu) { return "cuda:" + std::to_string(gpu); }

double useful_gflop(double n, double d) { return 4 * n * n * d * 1e-9; }

BenchRow stage_row(const std::string& name, double ms, double gflop, double peak) {
  BenchRow row{.name = name, .ms = ms, .gflops = gflop / ms * 1e3, .limit = products_alone};
  row.percent = 100 * row.gflops / peak;
  return row;
}

/// Golden and the flash policies, timed by an update from the first launch to the end of the last one.
void append_stages(BenchReport& r, int gpu) {
  ComputeCache cache;
  const Options options{.cache = &cache, .device = spec_of(gpu)};
  Experiment e = default_experiment();
  e.problem.n = stage_n;
  e.problem.d = stage_d;
  const double gflop = useful_gflop(stage_n, stage_d);
  const double golden = least_of(3, [&] { return ++e.problem.seed, compute(e, options).timing.golden; });
  r.rows.push_back(stage_row("golden, double", golden, gflop, r.double_peak));
  for (const char* const name : {"hw", "tile", "eager", "all_tile"}) {
    e.a.precision = policy(name).precision;
    r.rows.push_back(stage_row(name, least_of(3, [&] { return compute(e, options).timing.a; }), gflop, r.float_peak));
  }
}

/// Golden in double, a and b in float.
BenchRow update_row(const BenchReport& r, int gpu) {
  ComputeCache cache;
  Experiment e = default_experiment();
  e.problem.n = update_n;
  const Options options{.cache = &cache, .device = spec_of(gpu)};
  const double best = least_of(5, [&] { return ++e.problem.seed, compute(e, options).timing.total; });
  const double gflop = useful_gflop(update_n, e.problem.d), least = gflop / r.double_peak + 2 * gflop / r.float_peak;
  return {.name = fmt::format("full update, N = {}", update_n),
          .ms = best,
          .gflops = 3 * gflop / best * 1e3,
          .percent = 100 * least / best * 1e3,
          .limit = products_alone};
}

/// Copies of a matrix, compared with a copy so large that its latency does not count.
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

/// The stages, an update, copies and the tensor-core kernel on GPU number `gpu`. Throws std::runtime_error if the GPU fails.
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

/// Throws for an option of the CPU's stages beside a GPU.
void refuse_options_of_the_cpu(const BenchArguments& x) {
  for (const auto& [option, given] : {std::pair{"--only", !x.only.empty()}, std::pair{"--growth", x.growth}})
    if (given) throw std::invalid_argument(std::string(option) + " is of the CPU's stages, expected it with --device cpu");
}

/// Throws std::invalid_argument or std::runtime_error, one sentence, if there is no such device.
BenchReport bench(const BenchArguments& arguments, const Streams& streams) {
  if (arguments.device.starts_with("cuda")) refuse_options_of_the_cpu(arguments);
  check_device("--device", arguments.device);
  if (const std::vector<int> gpus = devices_of(arguments.device); !gpus.empty()) {
    refuse_options_of_the_cpu(arguments);
    prepare_gpus(arguments.device, streams);
    return device_bench(gpus.front());
  }
  const int threads = default_concurrency();
  const MachineLimits limits = cpu_limits(threads);
  BenchReport r{device_name(), limits.float_fma * 1e-9, limits.double_fma * 1e-9, {}, {}, threads};
  const auto add = [&](const std::vector<Stage>& all) {
    for (const Stage& s : all)
      if (s.name.find(arguments.only) != std::string::npos) r.rows.push_back(measure(s, limits));
  };
  add(stages(1024));
  add({full_update(1024), full_update(2048), tensor_core_update(1024)});
  add(gradient_stages(1024));
  add(scaled_updates(1024));
  add(updates_of_controls(1024));
  add(decode_updates(131072));
  if (arguments.growth) add(growth_stages());
  if (r.rows.empty()) throw std::invalid_argument("--only: no stage's name contains \"" + arguments.only + "\"");
  if (arguments.only.empty()) r.update = parts_of_update(1024);
  return r;
}

void run_bench(const BenchArguments& arguments, const Streams& streams) {
  check_outputs({{"--json", arguments.json}}, streams.files);
  const BenchReport r = bench(arguments, streams);
  write_outputs({{arguments.json, [&] { return bench_json(r); }}}, [&] { return table(r); }, streams.out);
}

void declare(OptionList& c, BenchArguments& x) {
  c.add("--only", x.only, "stages of the CPU whose names contain this text");
  c.add("--growth", x.growth, "also how the cost grows with N, from 256 to 65536");
  c.add("--device", x.device, device_help());
  c.add("--json", x.json, "write the rows to this file, - for standard output");
}

}  // namespace

Command bench_command() {
  return command<BenchArguments>("bench", "Time every stage against this machine's own limit", declare, run_bench);
}

}  // namespace attoscope::app
