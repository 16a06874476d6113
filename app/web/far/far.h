/// Work that another module of the same program does, in a Web Worker.
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

/// One kind of questions. In the page it asks, in the Web Worker it answers; there is one object of each kind in either.
class FarWork {
 public:
  using First = std::function<void(std::string answer)>;
  using Share = std::function<void(double)>;
  struct Calls {
    /// In the Web Worker. Gives earlier answers to `first`, and the finished share to `share`.
    std::function<std::string(std::string_view question, const First& first, const Share& share)> answer;
    /// In the page, as are the others.
    std::function<void(std::uint64_t question, std::string_view answer, bool last)> told;
    Share share;
    std::function<void(std::uint64_t question, std::exception_ptr error)> failed;
  };

  FarWork(std::string kind, Calls calls);
  ~FarWork();
  FarWork(const FarWork&) = delete;
  FarWork& operator=(const FarWork&) = delete;

  /// The object of a kind; null: there is none.
  static const FarWork* of(const std::string& kind);
  /// Sends the newest question to the Web Worker. It replaces one that waits, and ends one that runs longer than `patience`.
  void ask(std::uint64_t number, const std::string& question, std::chrono::milliseconds patience) const;
  /// Ends what is asked.
  void drop() const;

  const Calls calls;

 private:
  const std::string kind_;
};

/// The largest magnitude over all heads of a file.
double largest_of_file(const std::string& file, int head, ScaledTensor t, const StopSign& stop);

}  // namespace attoscope::app
