/// Computes a Result from an Experiment; used by window, command line, tests and figures.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/measures.h"
#include "kernels/experiment/result.h"

namespace attoscope {

/// Polled by many threads during a computation; true requests a stop.
using Cancelled = std::function<bool()>;

/// Called from time to time, by many threads, with the finished share of the work: 0 .. 1.
using Progress = std::function<void(double share)>;

/// Thrown by `compute` after a requested stop.
struct Stopped {};

/// Parts of the latest result that can be reused: inputs, golden value and, on the CPU, outputs with their measures. Parts that
/// a change does not affect are not recomputed. One per worker; not thread-safe.
class ComputeCache {
 public:
  ComputeCache();
  ~ComputeCache();
  ComputeCache(ComputeCache&&) noexcept;
  ComputeCache& operator=(ComputeCache&&) noexcept;
  struct Held;
  Held& held() { return *held_; }

 private:
  std::unique_ptr<Held> held_;
};

class Engine;

struct Options {
  Cancelled cancelled{};          ///< empty: never cancelled
  Progress progress{};            ///< empty: progress is not reported
  ComputeCache* cache = nullptr;  ///< null: nothing is reused
  Wanted wanted{};                ///< optional parts that the CPU computes
  int threads = 0;                ///< 0: all threads of the machine
  std::string isa{};              ///< "sse2", "avx2", "avx512"; empty: see `instruction_set` in kernels/lanes/job.h
  std::string device = "cpu";     ///< auto, cpu, cuda, cuda:K or a list cuda:0,cuda:1 (see kernels/gpu/device.h)
  std::function<std::unique_ptr<Engine>()> engine{};  ///< for tests: makes an engine to use instead of the device's
};

/// Computes `experiment`; the bits do not depend on the thread count and the instruction set. Throws std::invalid_argument (see
/// `validate`), std::runtime_error if memory does not suffice, Stopped if cancelled.
Result compute(const Experiment& experiment, const Options& options = {});

/// Deviation from golden of each of `methods` instead of a, with the experiment's inputs, their rounding, working type and
/// rows. Costs no more than a's run each: no b, no trace, and no `wasserstein` (NaN). Throws as `compute` does.
std::vector<Deviation> errors_of(const Experiment& experiment, std::span<const Method> methods, const Options& options = {});

/// Number of threads that `compute` uses for the option `threads`; 0 means all of the machine.
int thread_count(int threads);

/// Bytes that `compute` needs in addition to those already in use.
double bytes_needed(const Experiment& experiment, int threads);

/// Checks that `compute` makes first: throws std::invalid_argument or, if memory does not suffice, std::runtime_error.
void refuse(const Experiment& experiment, int threads);

/// Name of the CPU as a device: "cpu avx512, 2 threads".
std::string device_name(int threads = 0, std::string_view isa = {});

}  // namespace attoscope
