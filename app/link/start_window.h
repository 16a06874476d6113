/// Starts a window in a process of its own.
#pragma once

#include <string>

#include "app/link/link.h"

namespace attoscope {

/// Starts this program's window, which outlives the caller, and sends it the message once it listens at `path`. Throws
/// std::runtime_error with one sentence: the window's error if it ended, or a timeout after ten seconds.
void start_window_with(const std::string& path, const LinkMessage& message);

}  // namespace attoscope
