/// Interface of the devices that run and measure methods instead of the CPU: one GPU, or several. The bits are the same.
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

/// The matrices of a result.
enum class Output : std::uint8_t { golden, a, b };
inline constexpr int output_count = 3;

/// Moments of a single matrix for comparisons; sums by chains and chunks (see kernels/deviation/meter.h).
struct Moments {
  std::vector<double> squares;  ///< of finite values, [chunk * DeviationSums::chains + chain]
  std::int64_t nonfinite = 0;
  std::uint64_t digest_sum = 0;
};

/// The chunks of x against y, in order.
struct ComparisonSums {
  std::vector<DeviationSums> chunks;
  std::vector<DeviationSums> centred;  ///< the same with centred_alone, on the mean difference
  std::vector<double> gaps;  ///< |x - y| of their values in ascending order, by chunk and chain; empty if not asked for
};

/// Statistics of an engine's launches.
struct LaunchTimes {
  std::int64_t count = 0;
  float longest_ms = 0, limit_ms = 0;  ///< the limit is an upper bound that launches aim below
};

/// One per worker; not thread-safe. Calls between `begin` and `wait` queue work on the device; answers are there after `wait`,
/// the only call that waits if all work of a run takes no longer than a launch may. Everything throws DeviceFailure if the
/// device fails, and what `stop` throws.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "cuda:0 NVIDIA H200".
  virtual std::string name() const = 0;

  /// Forgets the answers of the update before, even if it was not waited for.
  virtual void begin() = 0;
  virtual void wait(const StopSign& stop) = 0;

  /// Runs the job for `rows` and keeps its output on the device as `output`. A recorder, if any, gets the recorded m by `wait`,
  /// and `states`, if any, the rows' m and l; both must live until then. `inputs` is the generation of the job's arrays: their
  /// copies are reused while it stays the same, and then an array's address must stand for the same numbers. 0: the arrays are
  /// copied for this run alone.
  virtual void run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<float>* recorder, RowStates<float>* states, const StopSign& stop) = 0;
  virtual void run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<double>* recorder, RowStates<double>* states, const StopSign& stop) = 0;
  /// Three-pass softmax in double-double, rounded to double, kept as golden.
  virtual void run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                                 const StopSign& stop) = 0;
  /// Keeps as `output` a matrix that was computed elsewhere.
  virtual void take(const Matrix& matrix, Output output) = 0;
  /// Sends the kept matrix to the host; others stay on the device.
  virtual void send(Output output) = 0;

  virtual void measure(Output x, const StopSign& stop) = 0;
  /// Compares x with y, which was measured since it changed; ulps are those of `main`. `sorts`: gaps are wanted.
  virtual void compare(Output x, Output y, const Format& main, bool sorts, const StopSign& stop) = 0;

  // --- answers, after `wait` ---

  /// A matrix that was sent.
  virtual Matrix output(Output x) = 0;
  virtual const Moments& moments(Output x) const = 0;
  virtual const ComparisonSums& comparison(Output x, Output y) const = 0;
  /// Milliseconds that the output's run took on the device.
  virtual double run_ms(Output x) const = 0;

  /// Launch statistics; empty for engines without a GPU.
  virtual LaunchTimes launches() const { return {}; }

  /// The device for backward passes, which the engine keeps.
  virtual GradientDevice& gradients() = 0;

  /// The kept matrices, for display; null if they do not lie on a GPU.
  virtual std::shared_ptr<const DeviceMatrices> matrices(const Format& format, double golden_rms) = 0;
};

/// The answers that an engine keeps.
struct EngineAnswers {
  std::array<Moments, output_count> moments;
  std::array<std::array<ComparisonSums, output_count>, output_count> comparisons;  ///< [x][y]
};

/// The engine of these GPUs (see `devices_of`), of which there is at least one. Throws DeviceFailure.
std::unique_ptr<Engine> gpu_engine(const std::vector<int>& devices);

}  // namespace attoscope
