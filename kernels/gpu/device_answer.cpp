#include "kernels/gpu/device_answer.h"

#include <algorithm>
#include <charconv>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/letters.h"

namespace attoscope {
namespace {

/// "12.4" for 12040.
std::string cuda_version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

/// "its driver supports CUDA 11.4"
std::string driver_text(const CudaVersions& v) {
  return v.driver > 0 ? "its driver supports CUDA " + cuda_version(v.driver) : "its driver does not report its version";
}

/// "GeForce GTX 1080 (compute capability 6.1)"; only the name if the capability is unknown.
std::string named(const DeviceInfo& d) {
  if (d.major == 0) return d.name;
  return d.name + " (compute capability " + std::to_string(d.major) + "." + std::to_string(d.minor) + ")";
}

/// "9.0" for "90", "12.0" for "120"; words such as "native" unchanged.
std::string shown(std::string_view number) {
  const bool digits = number.size() >= 2 && std::ranges::all_of(number, is_digit);
  if (!digits) return std::string(number);
  return std::string(number.substr(0, number.size() - 1)) + "." + std::string(number.substr(number.size() - 1));
}

/// The oldest usable driver, in words. CUDA drivers are compatible within a major version.
std::string least_driver(const CudaVersions& v) {
  return "a driver for CUDA " + std::to_string(v.runtime / 1000) + " or newer";
}

/// 90 for "90", "90a" and "90-real"; 0 for other words.
int architecture_of(std::string_view word) {
  int number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

}  // namespace

std::string architectures_text(std::string_view architectures) {
  std::vector<std::string> code, ptx;
  for (const std::string_view word : split(architectures, ",;")) {
    const std::string_view number = word.substr(0, word.find('-'));
    if (word.empty()) continue;
    if (!word.ends_with("-virtual")) code.push_back(shown(number));
    if (!word.ends_with("-real") && shown(number) != number) ptx.push_back(shown(number));
  }
  return (code.empty() ? "" : "code for " + listed(code, " and ")) + (code.empty() || ptx.empty() ? "" : ", ") +
         (ptx.empty() ? "" : "PTX of " + listed(ptx, " and "));
}

std::string why_no_list(CudaError error, const CudaVersions& versions, std::string_view message) {
  switch (error) {
    case CudaError::none:
      return "";
    case CudaError::no_device:
      return "This machine has no NVIDIA GPU.";
    case CudaError::stub_library:
    case CudaError::insufficient_driver:
      if (versions.driver == 0) return "This machine has no NVIDIA driver; a GPU here needs " + least_driver(versions) + ".";
      return "This machine's NVIDIA driver supports CUDA " + cuda_version(versions.driver) + ", and this program needs " +
             least_driver(versions) + ".";
    case CudaError::system_driver_mismatch:
      return "The NVIDIA driver of this machine was changed while it ran; a GPU can be used after a restart.";
    default:
      return "CUDA does not work here: " + without_full_stop(std::string(message)) + ".";
  }
}

std::string why_no_code(const DeviceAnswer& answer, const CudaVersions& versions, std::string_view architectures) {
  const std::string gpu = named(answer.device), built = architectures_text(architectures);
  switch (answer.error) {
    case CudaError::none:
      return "";
    case CudaError::insufficient_driver:
      return gpu + " cannot be used: " + driver_text(versions) + ", and this program needs " + least_driver(versions) + ".";
    case CudaError::no_kernel_image:
    case CudaError::invalid_device_function:
      return gpu + " cannot run this program, which was built with " + built +
             "; it needs a build on this machine, or with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(answer.device.major) +
             std::to_string(answer.device.minor) + ".";
    case CudaError::unsupported_ptx:
      return gpu + " needs this program's PTX compiled by its driver, which supports CUDA " + cuda_version(versions.driver) +
             "; it needs a driver for CUDA " + cuda_version(versions.runtime) + " or newer, or a build on this machine.";
    case CudaError::jit_compiler_not_found:
      return gpu +
             " needs this program's PTX compiled by its driver, whose compiler (libnvidia-ptxjitcompiler) is not installed; it "
             "needs that, or a build on this machine.";
    case CudaError::jit_compilation_disabled:
      return gpu +
             " needs this program's PTX compiled by its driver, and CUDA_DISABLE_PTX_JIT forbids that; it needs that unset, or "
             "a build on this machine.";
    case CudaError::invalid_ptx:
      return gpu + " refused this program's PTX (" + built + ") with a driver that supports CUDA " +
             cuda_version(versions.driver) + "; it needs a build on this machine.";
    case CudaError::devices_unavailable:
      return gpu + " is busy, or kept for other programs: " + without_full_stop(answer.message) + ".";
    default:
      return gpu + " did not take this program's code (" + built + "; " + driver_text(versions) +
             "): " + without_full_stop(answer.message) + ".";
  }
}

void mark_drawing(std::vector<DeviceInfo>& gpus, bool wayland) {
  if (!wayland || std::ranges::any_of(gpus, &DeviceInfo::draws)) return;
  for (DeviceInfo& gpu : gpus) gpu.draws = true;
}

bool is_compiled_by_driver(const LoadedCode& code, std::string_view architectures) {
  bool is_held = false, is_known = true;
  for (const std::string_view word : split(architectures, ",;")) {
    if (word.empty()) continue;
    const int number = architecture_of(word);
    is_known = is_known && number != 0;
    is_held = is_held || (number == code.binary && !word.ends_with("-virtual"));
  }
  return is_known ? !is_held : code.binary != code.ptx;  // "native" contains no number
}

DeviceList device_list(std::span<const DeviceAnswer> answers, const CudaVersions& versions, std::string_view architectures) {
  DeviceList list;
  for (const DeviceAnswer& answer : answers) {
    const std::string why = why_no_code(answer, versions, architectures);
    if (why.empty())
      list.devices.push_back(answer.device);
    else if (list.reason.empty())
      list.reason = why;
  }
  if (!list.devices.empty()) list.reason.clear();
  if (answers.empty()) list.reason = why_no_list(CudaError::no_device, versions, "");
  return list;
}

}  // namespace attoscope
