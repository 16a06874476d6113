#include "app/words/devices.h"

#include <algorithm>
#include <stdexcept>

#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"

namespace attoscope::app {
namespace {

/// Index of the GPU that a word names; -1: none.
int gpu_of(std::string_view word) {
  constexpr std::string_view prefix = "cuda:";
  if (!word.starts_with(prefix)) return -1;
  const std::string_view digits = word.substr(prefix.size());
  return digits.starts_with('-') ? -1 : to_number<int>(digits).value_or(-1);
}

/// Indices of the GPUs in a list, each once; empty if it is not such a list.
std::vector<int> gpus_of(std::string_view list) {
  std::vector<int> gpus;
  for (const std::string& word : split(list)) {
    const int gpu = gpu_of(word);
    if (gpu < 0 || std::ranges::find(gpus, gpu) != gpus.end()) return {};
    gpus.push_back(gpu);
  }
  return gpus;
}

std::string name_of(const DeviceInfo& d) { return "cuda:" + std::to_string(d.index); }

}  // namespace

void check_device(std::string_view option, std::string_view spec) {
  if (spec == "auto" || spec == "cpu") return;
  const std::vector<int> gpus = spec == "cuda" ? std::vector<int>{} : gpus_of(spec);
  if (spec != "cuda" && gpus.empty())
    throw std::invalid_argument(std::string(option) + " is " + in_quotes(spec) + ", expected " + std::string(device_specs));
  const std::vector<DeviceInfo>& devices = cuda_devices();
  const std::string what = std::string(option) + " " + printable(spec) + ": ";
  if (devices.empty()) throw std::runtime_error(what + why_no_cuda());
  for (const int gpu : gpus)
    if (std::ranges::find(devices, gpu, &DeviceInfo::index) == devices.end())
      throw std::runtime_error(what + "there is no cuda:" + std::to_string(gpu) + " here, expected " +
                               listed(devices, " and ", name_of));
}

UsableDevice usable_device(const std::string& spec) {
  try {
    check_device("The session's device", spec);
    return {spec, ""};
  } catch (const std::exception& error) {
    return {"cpu", without_full_stop(error.what()) + "; the CPU computes."};
  }
}

std::vector<ui::DeviceEntry> device_entries(const std::string& cpu) {
  std::vector<ui::DeviceEntry> entries{{"cpu", cpu, ""}};
  for (const DeviceInfo& d : cuda_devices()) entries.push_back({name_of(d), d.name, ""});
  if (cuda_devices().empty()) entries.push_back({"cuda", "an NVIDIA GPU", why_no_cuda()});
  return entries;
}

}  // namespace attoscope::app
