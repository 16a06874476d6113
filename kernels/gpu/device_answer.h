/// What the CUDA runtime told of the GPUs of a machine, and what follows: which can be used, and why the others cannot. Plain
/// values, so that every answer can be tried without a GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

/// The errors of the CUDA runtime that mean something here, by their numbers (device_cuda.cu holds them against CUDA's).
enum class CudaError : int {
  none = 0,
  stub_library = 34,
  insufficient_driver = 35,
  devices_unavailable = 46,
  invalid_device_function = 98,
  no_device = 100,
  no_kernel_image = 209,
  invalid_ptx = 218,
  unsupported_ptx = 222,
  jit_compiler_not_found = 221,
  jit_compilation_disabled = 223,
  system_driver_mismatch = 803
};

/// The driver and the runtime that were asked: 12040 for CUDA 12.4; 0: there is no driver.
struct CudaVersions {
  int driver = 0, runtime = 0;
};

/// What a GPU answered when one of this program's kernels was to be loaded on it.
struct DeviceAnswer {
  DeviceInfo device;
  CudaError error = CudaError::none;
  std::string message{};  ///< the runtime's own words
};

/// Why the machine's GPUs could not be listed at all, in one sentence; empty where they could.
std::string why_no_list(CudaError error, const CudaVersions& versions, std::string_view message);

/// Why a GPU cannot run this program's code, in one sentence that names the GPU, what it has and what is needed; empty: it can.
/// `architectures` is what the code was compiled for, as CMake has it: "80-real,90-virtual".
std::string why_no_code(const DeviceAnswer& answer, const CudaVersions& versions, std::string_view architectures);

/// The GPUs that can be used, and where there is none, why.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string reason{};  ///< one sentence; empty where there are devices
};
DeviceList device_list(std::span<const DeviceAnswer> answers, const CudaVersions& versions, std::string_view architectures);

/// The code of a kernel as it was loaded on a GPU: 90 for 9.0.
struct LoadedCode {
  int binary = 0, ptx = 0;  ///< the architectures that it is for, and that its PTX was for
};
/// Whether the driver compiled it, since the program does not hold it.
bool is_compiled_by_driver(const LoadedCode& code, std::string_view architectures);

/// Sets which of the GPUs draw: under Wayland the driver limits no launch, and so does not tell; then any of them may.
void mark_drawing(std::vector<DeviceInfo>& gpus, bool wayland);

/// "code for 8.0 and 9.0, PTX of 12.0": "80-real,90-real,120-virtual" in words; a bare number is both.
std::string architectures_text(std::string_view architectures);

}  // namespace attoscope
