/// Work done by another module of the same program, in a Web Worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/scaling.h"

namespace attoscope {
struct StopSign;
}  // namespace attoscope

namespace attoscope::app {

/// One kind of questions: asked in the page, answered in the Web Worker; each has one object per kind.
class FarWork {
 public:
  using First = std::function<void(std::string answer)>;
  using Share = std::function<void(double)>;
  struct Calls {
    /// Called in the Web Worker. Passes earlier answers to `first`, and the finished share to `share`.
    std::function<std::string(std::string_view question, const First& first, const Share& share)> answer;
    /// Called in the page, as are the following.
    std::function<void(std::uint64_t question, std::string_view answer, bool last)> told;
    Share share;
    std::function<void(std::uint64_t question, std::exception_ptr error)> failed;
  };

  FarWork(std::string kind, Calls calls);
  ~FarWork();
  FarWork(const FarWork&) = delete;
  FarWork& operator=(const FarWork&) = delete;

  /// The object of a kind; null if there is none.
  static const FarWork* of(const std::string& kind);
  /// Patience of work that keeps a state in its Web Worker, which then serves no other kind and is never ended.
  static constexpr std::chrono::milliseconds endless = std::chrono::milliseconds::max();
  /// Sends the newest question to the Web Worker. Replaces a waiting one, and ends one that runs longer than `patience`.
  void ask(std::uint64_t number, const std::string& question, std::chrono::milliseconds patience) const;
  /// Drops the questions and stops the work.
  void drop() const;

  const Calls calls;

 private:
  const std::string kind_;
};

/// The largest magnitude over all heads of a file.
double largest_of_file(const std::string& file, int head, ScaledTensor t, const StopSign& stop);

}  // namespace attoscope::app
