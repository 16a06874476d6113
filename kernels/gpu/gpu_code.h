/// This program's code on GPUs whose drivers have to compile it, since the program holds none for them but PTX.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

/// Loads the kernels of a kind of work on a GPU. Throws DeviceFailure.
using LoadCode = void(int gpu);

/// For the outputs of emulated kernels, their deviations and their pictures.
LoadCode attention_code;

/// The code on these devices. May be used from many threads.
class GpuCode {
 public:
  explicit GpuCode(std::vector<DeviceInfo> devices) : devices_(std::move(devices)) {}

  /// One sentence to be said before the first computation on these GPUs where a driver has to compile the code first; empty:
  /// none has to.
  std::string sentence(const std::vector<int>& gpus, LoadCode* code = attention_code) const;
  /// Has the code compiled where it is missing and waits until it is there: half a minute, which a driver does not interrupt.
  /// Throws what `code` throws.
  void load(const std::vector<int>& gpus, LoadCode* code = attention_code);

 private:
  /// The device if its driver has to compile the code; else null.
  const DeviceInfo* lacking(int gpu, LoadCode* code) const;

  std::vector<DeviceInfo> devices_;
  std::mutex loading_;        ///< one at a time
  mutable std::mutex mutex_;  ///< of what follows
  std::set<std::pair<int, LoadCode*>> loaded_;
};

/// The code of this machine.
GpuCode& gpu_code();

}  // namespace attoscope
