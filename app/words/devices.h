/// Devices as a user names them: auto, cpu, cuda, cuda:K, or GPUs that share the rows, cuda:0,cuda:1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/entries.h"

namespace attoscope {

inline constexpr std::string_view device_specs = "auto, cpu, cuda, cuda:K or a list such as cuda:0,cuda:1";

/// Throws, in one sentence that begins with `option`, std::invalid_argument where `spec` names no device, std::runtime_error
/// where it names one that this machine has not.
void check_device(std::string_view option, std::string_view spec);

/// What computes where `spec` was asked for: `spec`, or the CPU, and then why in a sentence.
struct UsableDevice {
  std::string spec, remark;
};
UsableDevice usable_device(const std::string& spec);

/// The CPU, called `cpu`, and every GPU of this machine; where there is none, the reason.
std::vector<DeviceEntry> device_entries(const std::string& cpu);

}  // namespace attoscope
