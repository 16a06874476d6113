/// The choice of `auto`: the device that is expected to answer sooner, by the measured times of both. Plain values: times go
/// in, a choice comes out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

struct Experiment;
struct Timing;

/// Milliseconds of a device for some amounts of work.
class DeviceTimes {
 public:
  /// Records the newest time for work of about this size.
  void add(double work, double ms);
  /// Expected time of so much work: on a line through the neighbours in logarithms, beyond the largest in proportion, below the
  /// least no less than that. None: nothing was measured.
  std::optional<double> at(double work) const;

 private:
  struct Point {
    double work, ms;
  };
  std::vector<Point> points_;  ///< ascending work, each a quarter more than the one before at least
};

/// Size of a question: multiply-adds of one method over the keys that the computed rows see, and their kind.
struct QuestionSize {
  double work = 0;
  bool in_double = false,
       rounds_steps =
           false;  ///< working type; more work for every multiply-add: it is rounded, or tensor cores' sums are emulated

  friend auto operator<=>(const QuestionSize&, const QuestionSize&) = default;
};
QuestionSize size_of(const Experiment& experiment);

/// Times of the CPU and the GPU for the questions of one worker.
class MeasuredTimes {
 public:
  /// Records an answer's time; `fresh`: its golden value was computed, not remembered.
  void took(bool gpu, const QuestionSize& size, const Timing& timing, bool fresh);
  /// Expected time of an answer; none: not known.
  std::optional<double> expected(bool gpu, const QuestionSize& size, bool fresh) const;

 private:
  struct Kind {
    bool gpu, in_double, rounds_steps;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Times {
    DeviceTimes methods, golden;
  };
  std::map<Kind, Times> times_;
};

/// Data from which `auto` decides.
struct ChoiceInput {
  std::optional<double> cpu_ms, gpu_ms;  ///< expected; none: not measured
  double cpu_at_best_ms = 0;             ///< no CPU of so many threads is faster
  bool on_gpu = true;                    ///< the GPU answered last
};

/// The GPU, or the CPU, and the reason in words: "12.0 ms instead of 3.1 ms".
struct DeviceChoice {
  bool gpu = true;
  std::string why{};
};
/// Chooses the device that is expected to be faster; if both are about as fast, the one that answered last. The CPU is tried
/// once if it might be faster than the GPU.
DeviceChoice choose_device(const ChoiceInput& input);

/// The least milliseconds in which so many threads of any CPU could answer a question of this size.
double cpu_at_best(const QuestionSize& size, bool fresh, int threads);

/// The GPU that `auto` takes: the first that draws a screen, since it can show its results without a copy; else the first.
int preferred_gpu(std::span<const DeviceInfo> gpus);

/// Number of rows that the GPUs hold at a time. Up to there a run's time grows with its keys alone.
int rows_at_a_time(std::span<const DeviceInfo> gpus);

}  // namespace attoscope
