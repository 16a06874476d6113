#include "kernels/gpu/device.h"
#include "kernels/gpu/gpu.h"

namespace attoscope {
namespace {

/// The GPUs of this machine, as CUDA reported them when it was first queried.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string reason;
};

std::string capability(const DeviceInfo& d) { return std::to_string(d.major) + "." + std::to_string(d.minor); }

DeviceList listed_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) return {{}, "This machine has no NVIDIA driver, or one too old for this program."};
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) return {{}, "This machine has no NVIDIA GPU."};
  if (error != cudaSuccess) return {{}, std::string("CUDA does not work here: ") + cudaGetErrorString(error) + "."};
  DeviceList found;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t refused = cudaGetDeviceProperties(&properties, i); refused != cudaSuccess) {
      ignore(refused);
      found.reason = std::string("A GPU of this machine does not answer: ") + cudaGetErrorString(refused) + ".";
      continue;
    }
    const DeviceInfo d{i, properties.name, properties.major, properties.minor, properties.totalGlobalMem};
    if (10 * d.major + d.minor >= ATTOSCOPE_OLDEST_ARCHITECTURE) {
      found.devices.push_back(d);
    } else {
      found.reason =
          "This program was built for newer GPUs than " + d.name + " with its compute capability " + capability(d) + ".";
    }
  }
  if (!found.devices.empty()) found.reason.clear();
  return found;
}

const DeviceList& known() {
  static const DeviceList first = listed_devices();
  return first;
}

}  // namespace

const std::vector<DeviceInfo>& cuda_devices() { return known().devices; }
const std::string& why_no_cuda() { return known().reason; }

}  // namespace attoscope
