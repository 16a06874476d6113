/// Waits for the work of other threads: until a condition holds, not for a fixed time.
#pragma once

#include <chrono>
#include <thread>

#include "tests/support/rooms.h"

namespace attoscope::testing {

/// Timeout of waits for work of milliseconds: long, for other programs share the cores and sanitizers are slow.
constexpr std::chrono::seconds patience{60};

/// Calls `between` and checks again, every millisecond, until `condition` holds; false if it still does not after `patience`.
bool eventually(auto condition, auto between) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    between();
  }
  return true;
}

bool eventually(auto condition) {
  return eventually(condition, [] {});
}

/// The first value that from.take() returns; throws std::bad_optional_access after the timeout.
auto awaited(auto& from) {
  decltype(from.take()) given;
  eventually([&] { return (given = from.take()).has_value(); });
  return given.value();
}

}  // namespace attoscope::testing
