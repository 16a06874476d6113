/// Names of devices: auto, cpu, cuda, cuda:K, or GPUs that share the rows, cuda:0,cuda:1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/entries.h"

namespace attoscope::app {

inline constexpr std::string_view device_specs = "auto, cpu, cuda, cuda:K or a list such as cuda:0,cuda:1";

/// Throws with one sentence that begins with `option`: std::invalid_argument if `spec` names no device, std::runtime_error if
/// this machine does not have it.
void check_device(std::string_view option, std::string_view spec);

/// Device for `spec`: `spec` itself, or the CPU with a sentence why.
struct UsableDevice {
  std::string spec, remark;
};
UsableDevice usable_device(const std::string& spec);

/// Entries for the CPU, titled `cpu`, and for every GPU of this machine; if there is none, an entry with the reason.
std::vector<ui::DeviceEntry> device_entries(const std::string& cpu);

}  // namespace attoscope::app
