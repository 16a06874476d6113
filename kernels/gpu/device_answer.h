/// Interprets the CUDA runtime's results for a machine's GPUs: the GPUs that can be used, and why the others cannot. Plain
/// values, to test every result without a GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

/// CUDA runtime errors that this program distinguishes, with CUDA's numbers (device_cuda.cu checks them).
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

/// Versions of the driver and the runtime: 12040 for CUDA 12.4; driver 0 if there is none.
struct CudaVersions {
  int driver = 0, runtime = 0;
};

/// Result of loading one of this program's kernels on a GPU.
struct DeviceAnswer {
  DeviceInfo device;
  CudaError error = CudaError::none;
  std::string message{};  ///< the runtime's message
};

/// One sentence: why the machine's GPUs could not be listed; empty if they could.
std::string why_no_list(CudaError error, const CudaVersions& versions, std::string_view message);

/// One sentence: why a GPU cannot run this program's code, with the GPU's name and capability and the required one; empty if it
/// can. `architectures` is CMake's list, "80-real,90-virtual".
std::string why_no_code(const DeviceAnswer& answer, const CudaVersions& versions, std::string_view architectures);

/// The GPUs that can be used, or the reason if there is none.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string reason{};  ///< one sentence; empty if there are devices
};
DeviceList device_list(std::span<const DeviceAnswer> answers, const CudaVersions& versions, std::string_view architectures);

/// Architectures of a kernel's code as loaded on a GPU: 90 for 9.0.
struct LoadedCode {
  int binary = 0, ptx = 0;  ///< architecture of the code, and of its PTX
};
/// True if the driver compiled the code, since the program contains none for this GPU.
bool is_compiled_by_driver(const LoadedCode& code, std::string_view architectures);

/// Sets DeviceInfo::draws. Under Wayland the driver limits no launch and does not report screens; then every GPU may draw.
void mark_drawing(std::vector<DeviceInfo>& gpus, bool wayland);

/// Describes "80-real,90-real,120-virtual" as "code for 8.0 and 9.0, PTX of 12.0"; a bare number means both.
std::string architectures_text(std::string_view architectures);

}  // namespace attoscope
