#include "kernels/gpu/gpu_code.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/gpu/device.h"

namespace attoscope {
namespace {

/// The loaders that were asked for so far.
struct Loaders {
  std::mutex mutex;
  std::map<std::pair<int, CodeFor*>, std::unique_ptr<CodeLoader>> all;
};

/// Never destroyed: that would wait for a driver.
Loaders& loaders() {
  static Loaders* const made = new Loaders;
  return *made;
}

bool runs(const CodeLoader& code) {
  const CodeLoader::State state = code.progress().state;
  return state == CodeLoader::State::loading || state == CodeLoader::State::stopping;
}

[[noreturn]] void throw_missing(const CodeLoader& code) {
  const CodeProgress now = code.progress();
  throw DeviceFailure(now.state == CodeLoader::State::failed ? now.failure
                                                             : "The code for " + code.gpu() + " is not compiled.");
}

}  // namespace

CodeLoader* code_to_compile(int gpu, CodeFor* code) {
  const auto known = std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index);
  if (known == cuda_devices().end() || !known->compiles) return nullptr;
  Loaders& mine = loaders();
  const std::lock_guard lock(mine.mutex);
  std::unique_ptr<CodeLoader>& loader = mine.all[{gpu, code}];
  if (!loader) loader = std::make_unique<CodeLoader>(known->name, code(gpu));
  return loader.get();
}

CodeLoader* missing_code(const std::vector<int>& gpus, CodeFor* code) {
  for (const int gpu : gpus)
    if (CodeLoader* const loader = code_to_compile(gpu, code); loader != nullptr && !loader->ready()) return loader;
  return nullptr;
}

void wait_for_code(const std::vector<int>& gpus, const StopSign& stop, CodeFor* code) {
  using namespace std::chrono_literals;
  while (CodeLoader* const missing = missing_code(gpus, code)) {
    if (missing->progress().state == CodeLoader::State::waiting) missing->start();
    const CodeLoader::State state = missing->wait(1h, stop);
    if (state == CodeLoader::State::failed || state == CodeLoader::State::stopped) throw_missing(*missing);
  }
}

bool is_compiling() {
  Loaders& mine = loaders();
  const std::lock_guard lock(mine.mutex);
  return std::ranges::any_of(mine.all, [](const auto& entry) { return runs(*entry.second); });
}

}  // namespace attoscope
