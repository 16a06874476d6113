/// Records Ctrl-C for polling.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "app/files/files.h"

namespace attoscope::app {

/// While this exists, SIGINT, SIGTERM and SIGHUP are recorded instead of ending the program; SIGHUP not if it is ignored.
/// Threads started meanwhile do not receive them.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(Interrupts&&) = delete;
  /// True at most a millisecond after the first signal. Thread-safe.
  bool arrived() const;

 private:
  sigset_t before_{};
  Descriptor signals_;
  mutable std::atomic<bool> arrived_{false};
  mutable std::atomic<std::int64_t> next_look_{0};  ///< time of the next query to the system, in ticks of the clock
};

}  // namespace attoscope::app
