#include "app/sweep/runner.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>

#include "kernels/experiment/result.h"
#include "kernels/gpu/device.h"
#include "kernels/parallel/parallel.h"

namespace attoscope::app {
namespace {

/// Multiply-adds of a point above which all threads share it.
constexpr double large = 4e8;

double work_of(const Experiment& e) {
  const Problem& p = e.problem;
  const double rows = p.rows == 0 ? p.n : std::min(p.rows, p.n);
  return 0.5 * rows * key_count(p) * (p.d + value_columns(p));
}

/// Resolves "auto" to the preferred GPU or the CPU, as the division among threads depends on the device.
std::string fixed_device(const std::string& device) {
  const std::vector<int> gpus = devices_of(device);
  return gpus.empty() ? "cpu" : device == "auto" ? "cuda:" + std::to_string(gpus.front()) : device;
}

/// State of one run of a sweep, shared by its threads.
class Run {
 public:
  Run(const Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep), options_(options), device_(fixed_device(options.device)), on_gpu_(device_ != "cpu") {}

  std::vector<SweepAnswer> answers() {
    side_by_side(points());
    std::ranges::sort(large_);
    ComputeCache cache;
    for (const std::size_t index : large_) {
      if (stopped()) break;
      if (const std::optional<Experiment> e = question(index)) answer(index, *e, cache, options_.threads);
    }
    std::ranges::sort(answers_, {}, &SweepAnswer::index);
    return std::move(answers_);
  }

 private:
  std::vector<std::size_t> points() const {
    const std::size_t count = point_count(sweep_);
    if (!options_.only.empty()) return options_.only;
    std::vector<std::size_t> mine;
    for (std::size_t i = options_.shard; i < count; i += options_.shards) mine.push_back(i);
    return mine;
  }

  bool stopped() const { return options_.cancelled && options_.cancelled(); }

  /// Computes small points in runs of neighbours, which share a golden value; large ones are collected for later.
  void side_by_side(const std::vector<std::size_t>& points) {
    const int threads = options_.threads > 0 ? options_.threads : default_concurrency();
    PerThread<ComputeCache> caches;
    const std::size_t grain = std::clamp<std::size_t>(points.size() / (8 * static_cast<std::size_t>(threads)), 1, 32);
    on_threads(threads, [&] {
      parallel_for_single(std::size_t{0}, (points.size() + grain - 1) / grain, [&](std::size_t run) {
        for (std::size_t i = run * grain; i < std::min(points.size(), (run + 1) * grain) && !stopped(); ++i)
          small_point(points[i], caches.local());
      });
    });
  }

  void small_point(std::size_t index, ComputeCache& cache) {
    if (const std::optional<Experiment> e = question(index)) {
      if (on_gpu_ || work_of(*e) >= large) {  // a GPU computes one at a time
        const std::lock_guard lock(mutex_);
        large_.push_back(index);
      } else {
        // isolated: a thread that waits within this point must not start another point with the same cache
        isolated([&] { answer(index, *e, cache, 1); });
      }
    }
  }

  /// The point's experiment; none if it is invalid or cached: then its answer is recorded.
  std::optional<Experiment> question(std::size_t index) {
    try {
      Experiment e = experiment_of(sweep_, index);
      std::optional<PointSummary> known = options_.cache ? options_.cache->find(e) : std::nullopt;
      if (!known) return e;
      finish({index, true, std::move(known), ""});
    } catch (const std::exception& error) {
      finish({index, false, std::nullopt, error.what()});
    }
    return std::nullopt;
  }

  void answer(std::size_t index, const Experiment& e, ComputeCache& cache, int threads) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      const PointSummary found =
          summary(compute(e, {.cancelled = options_.cancelled, .cache = &cache, .threads = threads, .device = device_}));
      if (options_.cache) options_.cache->keep(e, found);
      finish({index, false, found, "", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()});
    } catch (const Stopped&) {
    } catch (const std::bad_alloc&) {
      finish({index, false, std::nullopt, "there is not enough memory for this point"});
    } catch (const std::exception& error) {
      finish({index, false, std::nullopt, error.what()});
    }
  }

  void finish(SweepAnswer answer) {
    const std::lock_guard lock(mutex_);
    if (options_.finished) options_.finished(answer);
    answers_.push_back(std::move(answer));
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const std::string device_;
  const bool on_gpu_;
  std::mutex mutex_;
  std::vector<SweepAnswer> answers_;
  std::vector<std::size_t> large_;
};

}  // namespace

std::vector<SweepAnswer> run_sweep(const Sweep& sweep, const SweepOptions& options) { return Run(sweep, options).answers(); }

}  // namespace attoscope::app
