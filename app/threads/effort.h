/// The finished share of some work: one thread sets it, another reads it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace attoscope::app {

class Effort {
 public:
  /// Sets the finished share, 0 .. 1; 0: the work begins now.
  void tell(double share) {
    if (share == 0) began_ = Clock::now().time_since_epoch().count();
    share_ = share;
  }
  double share() const { return share_; }
  /// Seconds until the end, if it goes on at the same pace; none: nothing is finished.
  std::optional<double> seconds_left() const {
    const double share = share_;
    if (!(share > 0)) return std::nullopt;
    const Clock::duration spent = Clock::now().time_since_epoch() - Clock::duration(began_.load());
    return std::chrono::duration<double>(spent).count() * (1 - share) / share;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<double> share_{0};
  std::atomic<Clock::rep> began_{0};  ///< in ticks of the clock
};

/// Functions that running work calls: with a first answer, and with its finished share as for `Effort::tell`.
template <class Answer>
struct Publish {
  std::function<void(Answer)> answer;
  std::function<void(double)> share;

  void operator()(Answer first) const { answer(std::move(first)); }
};

}  // namespace attoscope::app
