/// Code that takes as long to load as a test wants.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gpu/code_loader.h"
#include "kernels/gpu/device.h"
#include "tests/support/eventually.h"

namespace attoscope::testing {

/// Parts that are loaded once the test lets them, one after the other.
class SlowCode {
 public:
  explicit SlowCode(std::vector<std::string> names) : names_(std::move(names)) {}

  /// They belong to this object, which must live longer.
  std::vector<CodePart> parts() {
    std::vector<CodePart> all;
    for (const std::string& name : names_) all.push_back({name, [this, name] { load(name); }});
    return all;
  }
  /// Lets so many more parts be loaded; the first of them fails with this sentence, if there is one.
  void let(int more, const std::string& failure = "") {
    const std::lock_guard lock(mutex_);
    allowed_ += more;
    failure_ = failure;
    changed_.notify_all();
  }
  /// The parts that were begun, in order.
  std::vector<std::string> begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  void load(const std::string& name) {
    std::unique_lock lock(mutex_);
    begun_.push_back(name);
    if (!changed_.wait_for(lock, patience, [this] { return allowed_ > 0; }))
      throw DeviceFailure("The test let nothing be loaded.");
    --allowed_;
    if (const std::string failure = std::exchange(failure_, ""); !failure.empty()) throw DeviceFailure(failure);
  }

  const std::vector<std::string> names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int allowed_ = 0;
  std::string failure_;
  std::vector<std::string> begun_;
};

}  // namespace attoscope::testing
