/// What long work is told: that nobody wants it any more, and whose lanes do it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace attoscope {

/// Asked every few microseconds to milliseconds, by any thread.
struct StopSign {
  virtual ~StopSign() = default;
  /// Throws Stopped where the work is no longer wanted.
  virtual void check() const {}
  /// So many more rows are finished; called from many threads.
  virtual void did(std::size_t) const {}

  std::string_view isa{};  ///< the instruction set that does the work; empty: see `instruction_set`
};

/// f(i) for 0 .. count, asking now and then.
template <class F>
void each_element(std::size_t count, const StopSign& stop, F f) {
  constexpr std::size_t piece = 1 << 17;
  for (std::size_t first = 0; first < count; first += piece) {
    stop.check();
    const std::size_t end = count - first < piece ? count : first + piece;
    for (std::size_t i = first; i < end; ++i) f(i);
  }
}

/// `count` zeros, asking now and then: filling fresh memory takes tens of milliseconds where there is much of it.
template <class T>
std::vector<T> zeros(std::size_t count, const StopSign& stop) {
  constexpr std::size_t piece = 1 << 18;
  std::vector<T> x;
  x.reserve(count);
  while (x.size() < count) {
    stop.check();
    x.resize(count - x.size() < piece ? count : x.size() + piece);
  }
  return x;
}

}  // namespace attoscope
