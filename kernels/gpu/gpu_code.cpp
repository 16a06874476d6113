#include "kernels/gpu/gpu_code.h"

#include <algorithm>

namespace attoscope {

const DeviceInfo* GpuCode::lacking(int gpu, LoadCode* code) const {
  const auto known = std::ranges::find(devices_, gpu, &DeviceInfo::index);
  const std::lock_guard lock(mutex_);
  return known != devices_.end() && known->compiles && !loaded_.contains({gpu, code}) ? &*known : nullptr;
}

std::string GpuCode::sentence(const std::vector<int>& gpus, LoadCode* code) const {
  for (const int gpu : gpus)
    if (const DeviceInfo* const device = lacking(gpu, code))
      return "The driver compiles the code for " + device->name + ", once: about half a minute.";
  return "";
}

void GpuCode::load(const std::vector<int>& gpus, LoadCode* code) {
  const std::lock_guard one_at_a_time(loading_);
  for (const int gpu : gpus) {
    if (lacking(gpu, code) == nullptr) continue;
    code(gpu);
    const std::lock_guard lock(mutex_);
    loaded_.insert({gpu, code});
  }
}

GpuCode& gpu_code() {
  static GpuCode code(cuda_devices());
  return code;
}

}  // namespace attoscope
