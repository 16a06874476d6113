/// Experiment in, Result out: the call that window, command line, tests and figures share.
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

struct Experiment;
struct Method;
struct Result;

/// Polled from many threads while computing; true asks to stop.
using Cancelled = std::function<bool()>;

/// Called now and then, from many threads, with the share of the work that is done: 0 .. 1.
using Progress = std::function<void(double share)>;

/// Thrown by `compute` when it was asked to stop.
struct Stopped {};

/// The latest answer's inputs, golden value and, on the CPU, outputs with their measures: parts that a change leaves alone are
/// not computed again. One per worker; not thread-safe.
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
  Cancelled cancelled{};          ///< none: never
  Progress progress{};            ///< none: progress is not reported
  ComputeCache* cache = nullptr;  ///< none: nothing is reused
  Wanted wanted{};                ///< optional parts that the CPU computes
  int threads = 0;                ///< 0: all that the machine has
  std::string isa{};              ///< "sse2", "avx2", "avx512"; empty: see `instruction_set` in kernels/lanes/job.h
  std::string device = "cpu";     ///< auto, cpu, cuda, cuda:K or a list cuda:0,cuda:1 (see kernels/gpu/device.h)
  std::function<std::unique_ptr<Engine>()> engine{};  ///< makes an engine to use instead of the device's: for tests
};

/// The answer to `experiment`, the same bits for every thread count and instruction set.
/// Throws std::invalid_argument (see `validate`), std::runtime_error where memory cannot suffice, Stopped when cancelled.
Result compute(const Experiment& experiment, const Options& options = {});

/// Deviation from golden of each of `methods` in place of a; inputs, their rounding, the working type and the rows are the
/// experiment's. Costs no more than a's run each: no b, no trace, and no `wasserstein` (NaN). Throws as `compute` does.
std::vector<Deviation> errors_of(const Experiment& experiment, std::span<const Method> methods, const Options& options = {});

/// Number of threads that `compute` takes if asked for `threads`; 0 asks for all of the machine.
int thread_count(int threads);

/// The bytes that `compute` will need beyond those that the program holds already.
double bytes_needed(const Experiment& experiment, int threads);

/// Throws as `compute` does before it begins: std::invalid_argument or, if memory cannot suffice, std::runtime_error.
void refuse(const Experiment& experiment, int threads);

/// The device of `compute`: "cpu avx512, 2 threads".
std::string device_name(int threads = 0, std::string_view isa = {});

}  // namespace attoscope
