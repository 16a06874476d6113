#include "kernels/device.h"

namespace attoscope {
namespace {

const std::vector<DeviceInfo> no_devices;
const std::string no_cuda = "This program was built without CUDA.";

}  // namespace

const std::vector<DeviceInfo>& cuda_devices() { return no_devices; }
const std::string& why_no_cuda() { return no_cuda; }

}  // namespace attoscope
