/// The CUDA runtime's answers about a machine's GPUs, and their meaning: the GPUs that can be used, and why the others cannot.
/// Plain values, so that every answer can be tried without a GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

/// The errors of the CUDA runtime that this program knows, by their numbers (device_cuda.cu checks them against CUDA's).
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

/// Versions of the driver and the runtime: 12040 for CUDA 12.4; 0: there is no driver.
struct CudaVersions {
  int driver = 0, runtime = 0;
};

/// A GPU's answer to loading one of this program's kernels.
struct DeviceAnswer {
  DeviceInfo device;
  CudaError error = CudaError::none;
  std::string message{};  ///< the runtime's own words
};

/// One sentence that says why the machine's GPUs could not be listed at all; empty if they could.
std::string why_no_list(CudaError error, const CudaVersions& versions, std::string_view message);

/// One sentence that says why a GPU cannot run this program's code, with the GPU's name and capability and the required one;
/// empty: it can. `architectures` is CMake's list, "80-real,90-virtual".
std::string why_no_code(const DeviceAnswer& answer, const CudaVersions& versions, std::string_view architectures);

/// The GPUs that can be used, or the reason if there is none.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string reason{};  ///< one sentence; empty where there are devices
};
DeviceList device_list(std::span<const DeviceAnswer> answers, const CudaVersions& versions, std::string_view architectures);

/// The code of a kernel as it was loaded on a GPU: 90 for 9.0.
struct LoadedCode {
  int binary = 0, ptx = 0;  ///< architectures of the code, and of its PTX
};
/// True if the driver compiled it, since the program does not hold it.
bool is_compiled_by_driver(const LoadedCode& code, std::string_view architectures);

/// Sets which of the GPUs draw. Under Wayland the driver limits no launch and does not report it; then any of them may.
void mark_drawing(std::vector<DeviceInfo>& gpus, bool wayland);

/// "code for 8.0 and 9.0, PTX of 12.0": "80-real,90-real,120-virtual" in words; a bare number is both.
std::string architectures_text(std::string_view architectures);

}  // namespace attoscope
