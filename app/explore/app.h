/// The window: shows a session, answers its question whenever that changes, saves it at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ui/session/session.h"

namespace attoscope {

/// Initial state of the window.
struct Start {
  Session session{};
  std::string document{};                    ///< file of the session; empty: none yet
  std::optional<std::uint64_t> last_read{};  ///< hash of the last session's file, if `session` is that (`LastSession`)
  std::string example_file{};                ///< path of the shipped tensors; empty: none
  std::optional<std::string> device{};       ///< replaces the session's device until another is chosen; never saved
  std::vector<std::string> files{};          ///< tensors and an output to open, as if dropped
  bool first = false;                        ///< the program is used for the first time here
  bool link = true;                          ///< accept messages of the user's other programs
  std::vector<std::string> remarks{};        ///< sentences on errors in the session file, for the status bar
};

/// Opens the window and returns when it was closed. Throws std::runtime_error with one sentence without a display or OpenGL
/// 3.3.
void run_window(const Start& start);

}  // namespace attoscope
