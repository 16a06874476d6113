/// The wall-clock time of a scope.
#pragma once

#include <chrono>

namespace attoscope {

/// Adds the seconds from its construction to its destruction to a number, which is to outlive it.
class AddedTime {
 public:
  explicit AddedTime(double& seconds) : seconds_(seconds) {}
  ~AddedTime() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  AddedTime(AddedTime&&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace attoscope
