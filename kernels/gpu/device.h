/// GPUs, without any CUDA header: the list of them, the reason if it is empty, and matrices that stay on them.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/deviation/fields.h"

namespace attoscope {

struct DeviceInfo {
  int index = 0;
  std::string name{};        ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< compute capability
  std::size_t memory = 0;    ///< bytes
  int multiprocessors = 0;
  bool draws = false;     ///< a screen, as far as CUDA knows
  bool compiles = false;  ///< its driver has to compile this program's code, at the first use
};

/// A GPU failed in the middle of its work: it ran out of memory, or was lost. what() is one sentence. The CPU can take over.
struct DeviceFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "The GPU was lost. The CPU took over.": the message of a failure that stopped nothing; `after` may say when (" after step
/// 3").
std::string cpu_took_over(const DeviceFailure& failure, const std::string& after = {});

/// Runs `library`, which reports a GPU's failures by exceptions of its own: they become a DeviceFailure that begins with
/// `what`.
template <class Library>
auto as_device_failure(const char* what, Library library) {
  try {
    return library();
  } catch (const DeviceFailure&) {
    throw;
  } catch (const std::exception& error) {
    throw DeviceFailure(std::string(what) + ": " + error.what());
  }
}

/// The GPUs that this program can compute on; empty without CUDA, without a driver, without a GPU.
const std::vector<DeviceInfo>& cuda_devices();
/// One sentence that says why `cuda_devices()` is empty; empty if it is not.
const std::string& why_no_cuda();

/// The GPUs that `device` names; empty: the CPU. "auto" is the first GPU that draws a screen, since it shows its results
/// without a copy, else the first, or the CPU if there is none; `compute` leaves its small questions to the CPU. Throws
/// std::invalid_argument in one sentence if it names none, or one that does not exist.
std::vector<int> devices_of(std::string_view device);
/// Number of rows that these GPUs hold at a time. Up to there a run's time grows with its keys alone.
int rows_at_a_time(const std::vector<int>& gpus);

/// Golden, a and b of a result as they lie on a GPU; freed with the last copy of the result. Opaque outside kernels/*.cu.
class DeviceMatrices;

/// Picture of `sampled(field_values(result, field), ...)`, written by the GPU into `surface`: a cudaSurfaceObject_t of width x
/// height floats, in `stream` (a cudaStream_t). Throws std::runtime_error.
void sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height, float outside,
                      unsigned long long surface, void* stream);
/// The same into host memory.
std::vector<float> sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height,
                                    float outside);
/// The index of the GPU on which they lie.
int device_index(const DeviceMatrices& matrices);

/// The newest CUDA version that the driver runs: 13000 for 13.0; 0 without a driver, or without CUDA in this program.
int cuda_of_driver();

// --- this program's code on GPUs whose drivers have to compile it, since the program holds none for them but PTX ---------

/// Loads the kernels of a kind of work on a GPU. Throws DeviceFailure.
using LoadCode = void(int gpu);

/// For the outputs of emulated kernels, their deviations and their pictures.
LoadCode attention_code;

/// The code on these devices. May be used from many threads.
class GpuCode {
 public:
  explicit GpuCode(std::vector<DeviceInfo> devices) : devices_(std::move(devices)) {}

  /// One sentence to be said before the first computation on these GPUs where a driver has to compile the code first; empty:
  /// none has to.
  std::string sentence(const std::vector<int>& gpus, LoadCode* code = attention_code) const;
  /// Has the code compiled where it is missing and waits until it is there: half a minute, which a driver does not interrupt.
  /// Throws what `code` throws.
  void load(const std::vector<int>& gpus, LoadCode* code = attention_code);

 private:
  /// The device if its driver has to compile the code; else null.
  const DeviceInfo* lacking(int gpu, LoadCode* code) const;

  std::vector<DeviceInfo> devices_;
  std::mutex loading_;        ///< one at a time
  mutable std::mutex mutex_;  ///< of what follows
  std::set<std::pair<int, LoadCode*>> loaded_;
};

/// The code of this machine.
GpuCode& gpu_code();

}  // namespace attoscope
