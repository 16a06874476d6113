/// Where methods run and are measured when it is not on the CPU's own lanes: one GPU, or several. The same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/job.h"
#include "kernels/recorder.h"

namespace attoscope {

/// The matrices of a result.
enum class Output : std::uint8_t { golden, a, b };
inline constexpr int output_count = 3;

/// What the meter wants to know of one matrix: every sum in chains and chunks of its own (see kernels/deviation.h).
struct Moments {
  std::vector<double> squares;  ///< of finite values, [chunk * DeviationSums::chains + chain]
  std::int64_t nonfinite = 0;
  std::uint64_t digest_sum = 0;
};

/// One per worker; not thread-safe. Everything throws DeviceFailure where the device gives up, and what `stop` throws.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "cuda:0 NVIDIA H200".
  virtual std::string name() const = 0;
  /// Arrays of inputs may hold other numbers than when they were last seen.
  virtual void forget_inputs() = 0;

  /// The output of the job for `rows`, held as `output` too. Where there is a recorder, it takes in what was noted of m.
  virtual Matrix run(const Job<float>& job, const std::vector<int>& rows, Output output, RunRecorder<float>* recorder,
                     const StopSign& stop) = 0;
  virtual Matrix run(const Job<double>& job, const std::vector<int>& rows, Output output, RunRecorder<double>* recorder,
                     const StopSign& stop) = 0;
  /// Three-pass softmax in double-double, rounded to double, held as golden.
  virtual Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop) = 0;
  /// Holds as `output` what was found elsewhere.
  virtual void take(const Matrix& matrix, Output output) = 0;

  virtual Moments moments(Output x, const StopSign& stop) = 0;
  /// The chunks of x against y, in order.
  virtual std::vector<DeviationSums> sums(Output x, Output y, const DeviationRule& rule, const StopSign& stop) = 0;
  /// |x - y| of their values in ascending order, [chunk * DeviationSums::chains + chain]; all are finite.
  virtual std::vector<double> gaps(Output x, Output y, const StopSign& stop) = 0;

  /// What is held, for whoever shows it; null where it does not lie on a GPU.
  virtual std::shared_ptr<const DeviceMatrices> matrices(const Format& format, double golden_rms) = 0;
};

/// The engine of these GPUs (see `devices_of`), of which there is at least one. Throws DeviceFailure.
std::unique_ptr<Engine> gpu_engine(const std::vector<int>& devices);

}  // namespace attoscope
