/// attoscope_gpu_check: checks that a GPU gives the CPU's bits, that the tensor-core kernel is as close to golden as its
/// emulation, and that the memory checker finds nothing. Needs only the libraries of attoscope_kernels.
///   attoscope_gpu_check [--device cuda:K|cpu] [--quick] [--sanitize] [--no-sanitize] [--lose]
/// --device cpu compares the CPU with itself. --quick takes a sample. --sanitize runs only the memory checker.
/// --lose runs one check only: the GPU is lost during an answer and during a training, and the CPU takes over.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/compute.h"
#include "kernels/deviation/deviation.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/tensor_core/hardware.h"
#include "tests/gpu/experiments.h"
#include "tests/gpu/hog.h"
#include "tests/gpu/tally.h"
#include "tests/gpu/tensor_kernel.h"
#include "tests/gpu/train.h"
#include "tests/support/result_difference.h"
#include "tests/support/support.h"

namespace attoscope::gpu_check {
namespace {

struct Arguments {
  std::string device = "cuda";
  bool quick = false, only_sanitize = false, may_sanitize = true, loses = false;
};

/// Fault of a result that the CPU computed in place of the GPU; "": none.
std::string wrong_device(const Result& r, const std::string& device) {
  return device != "cpu" && r.device.starts_with("cpu") ? "computed on " + r.device + ": " + r.remark : "";
}

void compare_all(const std::vector<Experiment>& experiments, const std::string& device, Tally& tally) {
  ComputeCache cache;  // cached inputs and buffers must not change a bit either
  for (const Experiment& e : experiments) {
    std::string fault;
    try {
      const Result here = compute(e), there = compute(e, {.cache = &cache, .device = device});
      fault = wrong_device(there, device);
      if (fault.empty()) fault = testing::difference(here, there);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    tally.note(fault, testing::describe(e));
  }
}

/// The comparison must find a change of one bit anywhere.
void check_the_comparison(Tally& tally) {
  Experiment e = testing::small_experiment(bf16, 130, 24);
  e.backward.on = true;
  Result r = compute(e);
  const auto notices = [&](const char* what, const std::function<void(Result&)>& change) {
    Result other = r;
    change(other);
    tally.note(testing::difference(r, r).empty() && !testing::difference(r, other).empty(),
               std::string("the comparison misses ") + what);
  };
  const auto next = [](double& x) { x = std::nextafter(x, 1e300); };
  notices("golden's digest", [](Result& x) { ++x.digests.golden; });
  notices("a", [&](Result& x) { next(x.a.values[77]); });
  notices("b", [&](Result& x) { next(x.b.values.back()); });
  notices("a summary", [&](Result& x) { next(x.a_error.wasserstein); });
  notices("a histogram", [](Result& x) { ++x.b_error.ulps.counts[40]; });
  notices("the worst element", [](Result& x) { ++x.a_minus_b.worst_col; });
  notices("the trace", [&](Result& x) { next(x.trace.tiles.back().error); });
  notices("rescales", [](Result& x) { ++x.rescales.per_tile[1]; });
  notices("quantiles of m", [](Result& x) { x.rescales.max_quantiles[0][2] += 1; });
  notices("the digest of the gradients", [](Result& x) { ++x.backward->a_digest; });
  notices("an element of dK", [&](Result& x) { next(x.backward->b.dk.values[5]); });
  notices("delta", [&](Result& x) { next(x.backward->a.delta.back()); });
  notices("the share of lost dS", [&](Result& x) { next(x.backward->b.lost_ds); });
  notices("the map", [](Result& x) { x.rescale_map.m[3] += 1; });
}

void check_errors_of(const std::string& device, Tally& tally) {
  const Experiment e = testing::small_experiment(bf16, 130, 24);
  std::vector<Method> methods;
  for (const Policy& p : policies()) methods.push_back({.algorithm = p.algorithm, .block_k = 17, .precision = p.precision});
  const std::vector<Deviation> here = errors_of(e, methods), there = errors_of(e, methods, {.device = device});
  for (std::size_t i = 0; i < methods.size(); ++i)
    tally.note(testing::difference("errors_of", here[i], there[i]), std::string(policies()[i].name));
}

/// A run stopped at any moment throws Stopped, and leaves nothing that changes the next result.
void check_stopping(const std::string& device, Tally& tally) {
  const Experiment e = testing::small_experiment(bf16, 200, 32);
  const Result whole = compute(e);
  ComputeCache cache;
  for (const int polls : {0, 1, 2, 3, 5, 8, 13, 21, 34}) {
    std::atomic<int> left = polls;
    try {
      compute(e, {.cancelled = [&] { return left-- <= 0; }, .cache = &cache, .device = device});
    } catch (const Stopped&) {
    }
    tally.note(testing::difference(whole, compute(e, {.cache = &cache, .device = device})),
               "after a run stopped at poll " + std::to_string(polls));
  }
}

bool same_pixel(float x, float y) { return (x != x && y != y) || x == y; }

void check_pictures(const std::string& device, Tally& tally) {
  Experiment e = default_experiment();
  e.problem.n = 333;
  const Result r = compute(e, {.device = device});
  tally.note(r.on_device != nullptr, "the matrices did not stay on " + device);
  if (!r.on_device) return;
  const CellRect rects[] = {{0, 0, 333, 64}, {-3.5, -2, 340, 70.25}, {10.1, 3.3, 17.9, 60}, {400, 0, 500, 64}};
  const int sizes[][2] = {{64, 333}, {17, 5}, {200, 301}, {1, 1}};
  for (int field = 0; field < field_count; ++field) {
    if (is_extra(static_cast<Field>(field))) continue;  // drawn from the host's matrices
    const std::vector<float> values = field_values(r, static_cast<Field>(field));
    for (const CellRect& rect : rects)
      for (const auto& size : sizes) {
        const auto here = sampled(values, r.a.rows, r.a.cols, rect, size[0], size[1], -7);
        const auto there = sample_on_device(*r.on_device, static_cast<Field>(field), rect, size[0], size[1], -7);
        tally.note(std::ranges::equal(here, there, same_pixel),
                   "other pixels of " + std::string(text(static_cast<Field>(field)).name));
      }
  }
}

/// Splits rows over all GPUs, and over pairs in both orders if there are two.
void check_several_gpus(Tally& tally) {
  const std::vector<DeviceInfo>& gpus = cuda_devices();
  if (gpus.size() < 2) {
    std::printf("several GPUs: skipped, this machine has one\n");
    return;
  }
  tally.section("several GPUs");
  std::string all;
  for (const DeviceInfo& gpu : gpus) all += (all.empty() ? "cuda:" : ",cuda:") + std::to_string(gpu.index);
  compare_all(large_ones(), all, tally);
  compare_all(large_ones(), "cuda:1,cuda:0", tally);
}

void check_without_memory(const std::string& device, Tally& tally) {
  const Experiment e = large_ones()[1];
  const auto taken = hog(devices_of(device).front(), std::size_t{1} << 20);
  const Result there = compute(e, {.device = device});
  tally.note(testing::difference(compute(e), there), "with the GPU's memory taken");
  tally.note(!there.device.starts_with("cpu") || !there.remark.empty(), "the CPU took over without a remark");
}

/// Compares with golden and the emulation, relative to the emulation's own error; two runs must give the same bits.
void check_hardware(const std::vector<Experiment>& experiments, const std::string& device, Tally& tally) {
  for (const Experiment& e : experiments) {
    std::string fault;
    try {
      const Result r = compute(e, {.device = device});
      const Deviation from_hw = r.a_minus_b;
      if (!r.hardware)
        fault = "no HardwareCheck";
      else if (r.hardware->changed != 0)
        fault = std::to_string(r.hardware->changed) + " elements changed from run to run";
      else if (r.b_error.nonfinite != 0)
        fault = "not finite";
      else if (!(r.b_error.max_abs <= 1.5 * r.a_error.max_abs + 1e-6))
        fault = "error " + std::to_string(r.b_error.max_abs);
      else if (!(from_hw.rms <= 0.4 * r.a_error.rms + 1e-6))
        fault = "from hw " + std::to_string(from_hw.rms) + " rms";
    } catch (const std::exception& error) {
      const bool small_gpu = std::strstr(error.what(), "bytes of shared memory") != nullptr;
      if (!small_gpu) fault = error.what();
    }
    tally.note(fault, testing::describe(e));
  }
}

/// Cuts the tensor-core kernel along keys; without --quick, also uses so many heads that indices exceed 32 bits.
void check_cuts_and_heads(const Arguments& x, const std::vector<Format>& formats, Tally& tally) {
  const int gpu = devices_of(x.device).front();
  tally.section("the tensor-core kernel, cut along keys");
  compare_cut_launches(gpu, formats, x.quick, tally);
  if (!x.quick) compare_many_heads(gpu, tally);
}

void check_tensor_kernel(const Arguments& x, const std::vector<Format>& formats, Tally& tally) {
  tally.section("the tensor-core kernel");
  const DeviceInfo& gpu = *std::ranges::find(cuda_devices(), devices_of(x.device).front(), &DeviceInfo::index);
  std::vector<Experiment> experiments;
  for (const Format& format : formats) {
    std::vector<Experiment> of_format = hardware_ones({&format, 1}, gpu.major, gpu.minor);
    if (x.quick) of_format.resize(6);
    experiments.insert(experiments.end(), of_format.begin(), of_format.end());
  }
  check_hardware(experiments, x.device, tally);
  tally.section("the tensor-core kernel by a written rule");
  for (const Format& format : formats) compare_with_the_rule(gpu.index, format, x.quick, tally);
  check_cuts_and_heads(x, formats, tally);
}

std::string sanitizer() {
  for (const char* const folder :
       {"/usr/local/cuda/bin", "/opt/cuda/bin", "/usr/local/cuda/extras/compute-sanitizer", "/usr/bin"}) {
    const std::string path = std::string(folder) + "/compute-sanitizer";
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return std::system("command -v compute-sanitizer >/dev/null 2>&1") == 0 ? "compute-sanitizer" : "";
}

/// Runs this program's sample under the memory checker and the race checker, in processes of their own.
void sanitize(const std::string& device, Tally& tally) {
  const std::string tool = sanitizer();
  if (tool.empty()) {
    std::printf("compute-sanitizer: skipped, it is not installed\n");
    return;
  }
  tally.section("compute-sanitizer");
  const std::string me = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const char* const check : {"memcheck --leak-check full", "racecheck", "synccheck", "initcheck"}) {
    const std::string command =
        "'" + tool + "' --error-exitcode 9 --tool " + check + " '" + me + "' --quick --no-sanitize --device " + device;
    std::printf("running compute-sanitizer --tool %s\n", check);
    std::fflush(stdout);
    tally.note(std::system(command.c_str()) == 0, std::string("compute-sanitizer --tool ") + check);
  }
}

void print_digests(const std::string& device) {
  for (const char* const name : {"hw", "tile", "eager", "all_tile"}) {
    Experiment e = default_experiment();
    e.a.precision = policy(name).precision;
    const Result r = compute(e, {.device = device});
    std::printf("%-9s on %s: golden %016" PRIx64 ", a %016" PRIx64 ", b %016" PRIx64 "\n", name, r.device.c_str(),
                r.digests.golden, r.digests.a, r.digests.b);
  }
}

/// Prints the growth of an update's time with its rows, small until the GPU is full. It sets Explore's number of first rows.
void print_growth_with_rows(const std::string& device) {
  const int held = rows_at_a_time(devices_of(device));
  std::printf("an update at N = 65,536, where the GPU is taken to hold %d rows:\n", held);
  for (const int rows : {64, std::min(held, 65536) / 4, std::min(held, 65536), 65536}) {
    Experiment e = default_experiment();
    e.problem.n = 65536;
    e.problem.rows = rows;
    ComputeCache cache;
    compute(e, {.cache = &cache, .device = device});
    ++e.problem.seed;
    const Timing t = compute(e, {.cache = &cache, .device = device}).timing;
    std::printf("  %6d rows: golden %.1f ms, a %.1f ms, b %.1f ms, deviation %.1f ms\n", rows, t.golden, t.a, t.b, t.deviation);
  }
}

/// Checks that no launch holds the GPU for long, at any length; the first launches of a run are guesses.
void check_launches(const std::string& device, Tally& tally) {
  for (const int n : {4096, 16384}) {
    Experiment e = default_experiment();
    e.problem.n = n;
    Engine* engine = nullptr;
    ComputeCache cache;
    const auto made = [&] {
      auto gpu = gpu_engine(devices_of(device));
      engine = gpu.get();
      return gpu;
    };
    const Result r = compute(e, {.cache = &cache, .engine = made});
    if (!r.remark.empty() || engine == nullptr) {
      tally.note("no launches: " + r.remark, testing::describe(e));
      continue;
    }
    const LaunchTimes t = engine->launches();
    std::printf("N = %d: %" PRId64 " launches, the longest %.1f ms, to stay below %.0f ms\n", n, t.count, double(t.longest_ms),
                double(t.limit_ms));
    tally.note(t.longest_ms <= 2 * t.limit_ms, "a launch took " + std::to_string(t.longest_ms) + " ms");
  }
}

/// Loses the GPU while it computes and while it trains; this process cannot use the GPU afterwards.
void check_lost(const std::string& device, Tally& tally) {
  tally.section("a GPU that is lost");
  Experiment e = default_experiment();
  e.problem.n = 8192;
  const int gpu = devices_of(device).front();
  ComputeCache cache;
  compute(testing::small_experiment(bf16, 64, 16), {.cache = &cache, .device = device});
  Result during;
  const auto lose_it = [&] {
    std::jthread worker([&] { during = compute(e, {.cache = &cache, .device = device}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lose(gpu);
  };
  compare_lost_training(device, lose_it, tally);
  const Result here = compute(e), after = compute(e, {.cache = &cache, .device = device});
  tally.note(testing::difference(here, during), "the answer in whose middle it was lost");
  tally.note(testing::difference(here, after), "the next answer");
  tally.note(after.device.starts_with("cpu") && !after.remark.empty(), "nobody said that the CPU took over");
  std::printf("lost %s: %s\n", during.remark.empty() ? "after an answer" : "in an answer", after.remark.c_str());
}

void compare_devices(const Arguments& x, Tally& tally) {
  tally.section(x.quick ? "a sample of experiments" : "algorithms x policies x formats x masks");
  compare_all(x.quick ? sample_of_all() : full_cross(), x.device, tally);
  if (!x.quick) {
    tally.section("experiments by chance");
    compare_all(random_ones(600), x.device, tally);
    tally.section("backward passes");
    const std::vector<Experiment> backward = backward_ones();
    tally.note(backward.size() > 30, "few backward passes are valid");
    compare_all(backward, x.device, tally);
    tally.section("large experiments");
    compare_all(large_ones(), x.device, tally);
    tally.section("more rows than a launch takes");
    compare_all(many_rows(), x.device, tally);
  }
  tally.section("the comparison itself");
  check_the_comparison(tally);
  tally.section("errors of many methods");
  check_errors_of(x.device, tally);
  tally.section("stopped runs");
  check_stopping(x.device, tally);
  tally.section("training");
  const bool sample = x.quick || x.device == "cpu";  // more steps show nothing when the CPU is compared with itself
  compare_training(x.device, sample, tally);
}

void check_gpu(const Arguments& x, Tally& tally) {
  tally.section("pictures");
  check_pictures(x.device, tally);
  std::vector<Format> formats;
  for (const Format& format : {bf16, fp16, e4m3}) {
    const std::string reason = why_no_hardware(x.device, 64, format);
    if (reason.empty())
      formats.push_back(format);
    else
      std::printf("the tensor-core kernel, %s: skipped. %s\n", name(format).c_str(), reason.c_str());
  }
  if (!formats.empty()) check_tensor_kernel(x, formats, tally);
  if (x.quick) return;
  print_training_speed(x.device);
  print_growth_with_rows(x.device);
  check_several_gpus(tally);
  tally.section("launches");
  check_launches(x.device, tally);
  tally.section("out of memory");
  check_without_memory(x.device, tally);
}

int checked(const Arguments& x) {
  const bool rehearses = x.device == "cpu";
  if (!rehearses && cuda_devices().empty()) {
    std::printf("SKIPPED: no device (%s) Nothing was compared; 0 passed, 0 failed\n", why_no_cuda().c_str());
    return 0;
  }
  for (const DeviceInfo& d : cuda_devices())
    std::printf("cuda:%d %s, compute capability %d.%d, %.0f MiB\n", d.index, d.name.c_str(), d.major, d.minor,
                double(d.memory) / (1 << 20));
  Tally tally;
  if (x.loses && !rehearses) {
    check_lost(x.device, tally);
    return tally.finish();
  }
  if (!x.only_sanitize) {
    print_digests(x.device);
    compare_devices(x, tally);
    if (!rehearses) check_gpu(x, tally);
  }
  if (!rehearses && x.may_sanitize) sanitize(x.device, tally);
  return tally.finish();
}

/// False if an argument is not an option.
bool parsed(int argc, char** argv, Arguments& x) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick")
      x.quick = true;
    else if (word == "--sanitize")
      x.only_sanitize = true;
    else if (word == "--lose")
      x.loses = true;
    else if (word == "--no-sanitize")
      x.may_sanitize = false;
    else if (word == "--device" && i + 1 < argc)
      x.device = argv[++i];
    else
      return false;
  }
  return true;
}

}  // namespace
}  // namespace attoscope::gpu_check

int main(int argc, char** argv) {
  using namespace attoscope::gpu_check;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // keeps the output if the time runs out
  Arguments x;
  if (!parsed(argc, argv, x)) {
    std::fprintf(stderr,
                 "attoscope_gpu_check: expected [--device cuda:K|cpu] [--quick] [--sanitize] [--no-sanitize] [--lose]\n");
    return 2;
  }
  try {
    return checked(x);
  } catch (const std::exception& error) {
    std::printf("attoscope_gpu_check: %s\n", error.what());
    return 1;
  }
}
