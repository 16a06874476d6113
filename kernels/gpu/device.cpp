#include "kernels/gpu/device.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/experiment/text.h"
#include "kernels/gpu/engine.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse(std::string_view device) {
  throw std::invalid_argument("device is " + std::string(device) +
                              ", expected auto, cpu, cuda, cuda:K or a list cuda:0,cuda:1 of existing GPUs");
}

/// Index of the GPU in the word "cuda:K" of `device`.
int gpu_of(std::string_view word, std::string_view device) {
  constexpr std::string_view prefix = "cuda:";
  if (!word.starts_with(prefix)) refuse(device);
  const auto index = to_number<int>(word.substr(prefix.size()));
  if (!index || std::ranges::find(cuda_devices(), *index, &DeviceInfo::index) == cuda_devices().end()) refuse(device);
  return *index;
}

}  // namespace

std::string cpu_took_over(const DeviceFailure& failure, const std::string& after) {
  return without_full_stop(failure.what()) + after + ". The CPU took over.";
}

std::vector<int> devices_of(std::string_view device) {
  if (device == "cpu" || (device == "auto" && cuda_devices().empty())) return {};
  if (cuda_devices().empty() && device.starts_with("cuda"))
    throw std::invalid_argument("device is " + std::string(device) + ", but: " + why_no_cuda());
  if (device == "auto") {
    const auto drawing = std::ranges::find_if(cuda_devices(), &DeviceInfo::draws);
    return {(drawing != cuda_devices().end() ? *drawing : cuda_devices().front()).index};
  }
  if (device == "cuda") return {cuda_devices().front().index};
  std::vector<int> gpus;
  for (const std::string_view word : split(device, ",")) {
    const int gpu = gpu_of(word, device);
    if (std::ranges::find(gpus, gpu) != gpus.end()) refuse(device);
    gpus.push_back(gpu);
  }
  return gpus;
}

int rows_at_a_time(const std::vector<int>& gpus) {
  constexpr int rows_of_a_multiprocessor = 64;  // two thread blocks of 32 rows
  int rows = 0;
  for (const int gpu : gpus)
    rows += std::max(1, std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index)->multiprocessors) * rows_of_a_multiprocessor;
  return rows;
}

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

#ifndef ATTOSCOPE_CUDA
std::unique_ptr<Engine> gpu_engine(const std::vector<int>&) { throw DeviceFailure(why_no_cuda()); }

const std::vector<DeviceInfo>& cuda_devices() {
  static const std::vector<DeviceInfo> none;
  return none;
}

const std::string& why_no_cuda() {
  static const std::string reason = "This program was built without CUDA.";
  return reason;
}

int cuda_of_driver() { return 0; }

void attention_code(int) {}

void sample_on_device(const DeviceMatrices&, Field, const CellRect&, int, int, float, unsigned long long, void*) {
  throw std::runtime_error(why_no_cuda());
}

std::vector<float> sample_on_device(const DeviceMatrices&, Field, const CellRect&, int, int, float) {
  throw std::runtime_error(why_no_cuda());
}

int device_index(const DeviceMatrices&) { throw std::runtime_error(why_no_cuda()); }
#endif

}  // namespace attoscope
