/// Interface of devices that run and measure methods instead of the CPU: one GPU or several. The bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/matrix.h"
#include "kernels/gpu/device.h"
#include "kernels/lanes/job.h"
#include "kernels/recurrence/recorder.h"

namespace attoscope {

class GradientDevice;
template <class T>
struct RowStates;

/// The matrices of a result that an engine keeps.
enum class Output : std::uint8_t { golden, a, b };
inline constexpr int output_count = 3;

/// Moments of one matrix for comparisons: sums by chunk and chain (see kernels/deviation/meter.h).
struct Moments {
  std::vector<double> squares;  ///< sums of squares of finite values, [chunk * DeviationSums::chains + chain]
  std::int64_t nonfinite = 0;
  std::uint64_t digest_sum = 0;
};

/// Sums of the comparison of x with y, by chunk, in order.
struct ComparisonSums {
  std::vector<DeviationSums> chunks;
  std::vector<DeviationSums> centred;  ///< sums with centred_alone, of differences from the mean difference
  std::vector<double> gaps;  ///< |x - y| of their values in ascending order, by chunk and chain; empty unless requested
};

/// Statistics of an engine's launches.
struct LaunchTimes {
  std::int64_t count = 0;
  float longest_ms = 0, limit_ms = 0;  ///< launches aim to stay below limit_ms
};

/// One per worker; not thread-safe. Calls between `begin` and `wait` queue work on the device; results are available after
/// `wait`, the only call that waits if all work of a run fits into one launch. All calls throw DeviceFailure if the device
/// fails, and what `stop` throws.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "cuda:0 NVIDIA H200".
  virtual std::string name() const = 0;

  /// Drops the results of the previous update, even if `wait` was not called.
  virtual void begin() = 0;
  virtual void wait(const StopSign& stop) = 0;

  /// Runs the job for `rows` and keeps its output on the device as `output`. `recorder` receives the recorded m, and `states`
  /// the rows' m and l, by `wait`; each may be null, and must live until then. `inputs` is the generation of the job's arrays:
  /// their copies are reused while it stays the same; within a generation, an address must always hold the same numbers. 0: the
  /// arrays are copied for this run only.
  virtual void run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<float>* recorder, RowStates<float>* states, const StopSign& stop) = 0;
  virtual void run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<double>* recorder, RowStates<double>* states, const StopSign& stop) = 0;
  /// Runs three-pass softmax in double-double, rounded to double; keeps it as golden.
  virtual void run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                                 const StopSign& stop) = 0;
  /// Keeps a matrix computed elsewhere as `output`.
  virtual void take(const Matrix& matrix, Output output) = 0;
  /// Queues a copy of the kept matrix to the host; matrices that are not sent stay on the device.
  virtual void send(Output output) = 0;

  virtual void measure(Output x, const StopSign& stop) = 0;
  /// Compares x with y in ulps of `main`; y must have been measured since it changed. `sorts`: also computes gaps.
  virtual void compare(Output x, Output y, const Format& main, bool sorts, const StopSign& stop) = 0;

  // --- results, after `wait` ---

  /// A matrix after `send`.
  virtual Matrix output(Output x) = 0;
  virtual const Moments& moments(Output x) const = 0;
  virtual const ComparisonSums& comparison(Output x, Output y) const = 0;
  /// Milliseconds of the output's run on the device.
  virtual double run_ms(Output x) const = 0;

  /// Launch statistics; empty for engines without a GPU.
  virtual LaunchTimes launches() const { return {}; }

  /// The engine's device for backward passes.
  virtual GradientDevice& gradients() = 0;

  /// The kept matrices, for display; null if they are not on a GPU.
  virtual std::shared_ptr<const DeviceMatrices> matrices(const Format& format, double golden_rms) = 0;
};

/// Results that an engine keeps.
struct EngineAnswers {
  std::array<Moments, output_count> moments;
  std::array<std::array<ComparisonSums, output_count>, output_count> comparisons;  ///< [x][y]
};

/// Creates the engine of these GPUs (see `devices_of`), at least one. Throws DeviceFailure.
std::unique_ptr<Engine> gpu_engine(const std::vector<int>& devices);

}  // namespace attoscope
