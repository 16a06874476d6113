/// Ctrl-C as a value that can be asked for.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "app/files/files.h"

namespace attoscope {

/// While this lives, SIGINT and SIGTERM do not end the program but are remembered here. Threads begun meanwhile leave them
/// alone.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  /// True from a millisecond after the first signal on. May be called from many threads.
  bool arrived() const;

 private:
  sigset_t before_{};
  Descriptor signals_;
  mutable std::atomic<bool> arrived_{false};
  mutable std::atomic<std::int64_t> next_look_{0};  ///< when the system is asked again, in the clock's ticks
};

}  // namespace attoscope
