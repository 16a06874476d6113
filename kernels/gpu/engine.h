/// What runs and measures methods instead of the CPU: one GPU, or several. The bits are the same.
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

/// The matrices of a result.
enum class Output : std::uint8_t { golden, a, b };
inline constexpr int output_count = 3;

/// What comparisons need of a single matrix; sums by chains and chunks (see kernels/deviation/meter.h).
struct Moments {
  std::vector<double> squares;  ///< of finite values, [chunk * DeviationSums::chains + chain]
  std::int64_t nonfinite = 0;
  std::uint64_t digest_sum = 0;
};

/// The chunks of x against y, in order.
struct ComparisonSums {
  std::vector<DeviationSums> chunks;
  std::vector<DeviationSums> centred;  ///< the same with centred_alone, on the mean difference
  std::vector<double> gaps;  ///< |x - y| of their values in ascending order, by chunk and chain; empty where not asked for
};

/// What an engine's launches were like.
struct LaunchTimes {
  std::int64_t count = 0;
  float longest_ms = 0, limit_ms = 0;  ///< the limit is what each is to stay below
};

/// One per worker; not thread-safe. What is asked between `begin` and `wait` is put into the device's queue; its answers are
/// there after `wait`, which is the only one to wait where all work of a run takes no longer than a launch may. Everything
/// throws DeviceFailure where the device fails, and what `stop` throws.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "cuda:0 NVIDIA H200".
  virtual std::string name() const = 0;

  /// Forgets the answers of the update before, also of one that was not waited for.
  virtual void begin() = 0;
  virtual void wait(const StopSign& stop) = 0;

  /// The output of the job for `rows`, kept on the device as `output`. A recorder, if any, gets by `wait` what was recorded of
  /// m and must live until then. `inputs` is the generation of the job's arrays: their copies are used again while it stays the
  /// same, and then an array's address must stand for the same numbers. 0: the arrays are copied for this run alone.
  virtual void run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<float>* recorder, const StopSign& stop) = 0;
  virtual void run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<double>* recorder, const StopSign& stop) = 0;
  /// Three-pass softmax in double-double, rounded to double, kept as golden.
  virtual void run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                                 const StopSign& stop) = 0;
  /// Keeps as `output` a matrix that was computed elsewhere.
  virtual void take(const Matrix& matrix, Output output) = 0;
  /// The kept matrix is wanted on the host; others stay on the device.
  virtual void send(Output output) = 0;

  virtual void measure(Output x, const StopSign& stop) = 0;
  /// x against y, which was measured since it changed; ulps are those of `main`. `sorts`: gaps are wanted.
  virtual void compare(Output x, Output y, const Format& main, bool sorts, const StopSign& stop) = 0;

  // --- answers, after `wait` ---

  /// One that was sent.
  virtual Matrix output(Output x) = 0;
  virtual const Moments& moments(Output x) const = 0;
  virtual const ComparisonSums& comparison(Output x, Output y) const = 0;
  /// Milliseconds that the output's run took on the device.
  virtual double run_ms(Output x) const = 0;

  /// Of all launches so far; none are known of an engine that is no GPU's.
  virtual LaunchTimes launches() const { return {}; }

  /// The kept matrices, for display; null where they do not lie on a GPU.
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
