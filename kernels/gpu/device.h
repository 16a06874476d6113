/// GPUs, without CUDA headers: the list of them, the reason if it is empty, and matrices that stay on them.
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
  bool draws = false;     ///< drives a screen, according to CUDA
  bool compiles = false;  ///< its driver must compile this program's code at the first use
};

/// A GPU failed during its work: it ran out of memory, or was lost. what() is one sentence. The CPU can take over.
struct DeviceFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "The GPU was lost. The CPU took over.": message for a failure after which the computation continues; `after` may add the
/// time (" after step 3").
std::string cpu_took_over(const DeviceFailure& failure, const std::string& after = {});

/// Calls `library`. Converts exceptions of the library to a DeviceFailure that begins with `what`.
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

/// The GPUs that this program can use; empty without CUDA, driver or GPU.
const std::vector<DeviceInfo>& cuda_devices();
/// One sentence: why `cuda_devices()` is empty; "" if it is not.
const std::string& why_no_cuda();

/// The GPUs selected by `device`; empty: the CPU. "auto" selects the first GPU that drives a screen, since it shows its results
/// without a copy, else the first GPU, or the CPU if there is none; `compute` still runs small experiments on the CPU. Throws
/// std::invalid_argument with one sentence if `device` is malformed or a GPU does not exist.
std::vector<int> devices_of(std::string_view device);
/// Number of rows that these GPUs process at a time. Up to this number, run time depends only on the number of keys.
int rows_at_a_time(const std::vector<int>& gpus);

/// Golden, a and b of a result in a GPU's memory; freed with the last copy of the result. Opaque outside kernels/*.cu.
class DeviceMatrices;

/// Draws the picture of `sampled(field_values(result, field), ...)` on the GPU into `surface`, a cudaSurfaceObject_t of width x
/// height floats, in `stream` (a cudaStream_t). Throws std::runtime_error.
void sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height, float outside,
                      unsigned long long surface, void* stream);
/// Draws the picture into host memory.
std::vector<float> sample_on_device(const DeviceMatrices& matrices, Field field, const CellRect& rect, int width, int height,
                                    float outside);
/// The index of the GPU that holds the matrices.
int device_index(const DeviceMatrices& matrices);

/// The newest CUDA version that the driver supports: 13000 for 13.0; 0 without a driver, or without CUDA in this program.
int cuda_of_driver();

// --- this program's code on GPUs for which it contains only PTX, which the driver must compile --------------------------

/// Loads the kernels for one kind of work on a GPU. Throws DeviceFailure.
using LoadCode = void(int gpu);

/// Loads the emulated kernels, and the kernels of their deviations and pictures.
LoadCode attention_code;

/// The loaded code on these devices. Thread-safe.
class GpuCode {
 public:
  explicit GpuCode(std::vector<DeviceInfo> devices) : devices_(std::move(devices)) {}

  /// One sentence to show before the first computation on these GPUs if a driver must compile the code first; else empty.
  std::string sentence(const std::vector<int>& gpus, LoadCode* code = attention_code) const;
  /// Loads the code on GPUs that lack it and waits until it is compiled: half a minute, which cannot be interrupted. Throws
  /// what `code` throws.
  void load(const std::vector<int>& gpus, LoadCode* code = attention_code);

 private:
  /// The device if its driver must still compile the code; else null.
  const DeviceInfo* lacking(int gpu, LoadCode* code) const;

  std::vector<DeviceInfo> devices_;
  std::mutex loading_;        ///< held during a load: one at a time
  mutable std::mutex mutex_;  ///< guards the members below
  std::set<std::pair<int, LoadCode*>> loaded_;
};

/// The code of this machine's GPUs.
GpuCode& gpu_code();

}  // namespace attoscope
