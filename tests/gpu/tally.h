/// Counts the checks of the programs that need a GPU.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace attoscope::gpu_check {

/// Counts passed checks; prints failed checks and, per section, the numbers of passed and failed ones.
class Tally {
 public:
  void section(const char* name) {
    end_section();
    name_ = name;
    before_ = {passed_, failed_};
  }
  /// Counts the check of `what`; `fault`: empty if it passed.
  void note(const std::string& fault, const std::string& what) {
    fault.empty() ? ++passed_ : ++failed_;
    if (fault.empty() || ++printed_ > 20) return;
    std::printf("FAILED: %s\n  %s\n", fault.c_str(), what.c_str());
  }
  void note(bool fine, const std::string& fault) { note(fine ? "" : fault, std::string()); }
  void end_section() {
    if (name_.empty()) return;
    std::printf("%-44s %6d passed, %d failed\n", name_.c_str(), passed_ - before_[0], failed_ - before_[1]);
    std::fflush(stdout);
    name_.clear();
  }
  int finish() {
    end_section();
    std::printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0, printed_ = 0;
  std::array<int, 2> before_{};
  std::string name_;
};

}  // namespace attoscope::gpu_check
