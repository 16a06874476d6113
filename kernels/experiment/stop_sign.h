/// Passed to all long work: how it is cancelled, how it reports progress, and which instruction set it uses.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/experiment/huge_pages.h"

namespace attoscope {

/// Polled every few microseconds to milliseconds, by any thread.
struct StopSign {
  virtual ~StopSign() = default;
  /// Throws Stopped if the work is cancelled.
  virtual void check() const {}
  /// Reports so many more rows as finished; called from many threads.
  virtual void report_rows(std::size_t) const {}
  /// Reports how long one thread worked; called from many threads.
  virtual void worked(double /*ms*/) const {}

  std::string_view isa{};  ///< the instruction set that does the work; empty: see `instruction_set`
};

/// Forwards checks and times to `whole`, but no rows, which are counted elsewhere.
struct UncountedSign final : StopSign {
  explicit UncountedSign(const StopSign& all) : whole(all) { isa = all.isa; }
  void check() const override { whole.check(); }
  void worked(double ms) const override { whole.worked(ms); }
  const StopSign& whole;
};

/// Measures laps.
class Clock {
 public:
  /// Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Milliseconds that f() takes.
template <class F>
double ms_of(F f) {
  Clock clock;
  f();
  return clock.lap();
}

/// Adds the seconds from its construction to its destruction to a number, which must outlive it.
class AddedTime {
 public:
  explicit AddedTime(double& seconds) : seconds_(seconds) {}
  ~AddedTime() { seconds_ += clock_.lap() / 1000; }
  AddedTime(AddedTime&&) = delete;

 private:
  double& seconds_;
  Clock clock_;
};

/// Runs f and reports its time; f must not wait for other threads: the waiting thread would do their work.
template <class F>
void timed(const StopSign& stop, F f) {
  stop.worked(ms_of(f));
}

/// Calls f(first, end) for ranges that make up 0 .. count; checks before each.
template <class F>
void each_range(std::size_t count, const StopSign& stop, F f) {
  constexpr std::size_t most = 1 << 17;
  for (std::size_t first = 0; first < count; first += most) {
    stop.check();
    f(first, count - first < most ? count : first + most);
  }
}

/// Calls f(i) for 0 .. count - 1; checks now and then.
template <class F>
void each_element(std::size_t count, const StopSign& stop, F f) {
  each_range(count, stop, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) f(i);
  });
}

/// `count` zeros, checking now and then: filling new memory can take tens of milliseconds.
template <class T>
std::vector<T> zeros(std::size_t count, const StopSign& stop) {
  constexpr std::size_t piece = 1 << 18;
  std::vector<T> x;
  x.reserve(count);
  ask_for_huge_pages(x.data(), count * sizeof(T));
  while (x.size() < count) {
    stop.check();
    x.resize(count - x.size() < piece ? count : x.size() + piece);
  }
  return x;
}

}  // namespace attoscope
