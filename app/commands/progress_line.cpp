#include "app/commands/progress_line.h"

#include <unistd.h>

#include <iostream>

namespace attoscope::app {

std::ostream* terminal() { return isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr; }

void ProgressLine::clear() {
  if (is_shown_) *terminal_ << "\r\x1b[K" << std::flush;
  is_shown_ = false;
}

bool ProgressLine::is_due() const {
  return terminal_ != nullptr && (!is_shown_ || Clock::now() - last_ >= std::chrono::milliseconds(100));
}

void ProgressLine::write(std::string_view text) {
  *terminal_ << '\r' << text << "\x1b[K" << std::flush;
  is_shown_ = true;
  last_ = Clock::now();
}

}  // namespace attoscope::app
