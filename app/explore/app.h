/// The window: shows a session, answers its question whenever that changes, saves it at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/session/session.h"

namespace attoscope::app {

class Autosave;

/// The start state of the window.
struct Start {
  ui::Session session{};
  std::string document{};                      ///< the file that the session belongs to; empty: none yet
  std::shared_ptr<const Autosave> autosave{};  ///< the file that this window keeps its session in; null: none
  std::string example_file{};                  ///< the shipped tensors; empty: none
  std::optional<std::string> device{};         ///< computes instead of the session's, until another is chosen; never saved
  std::vector<std::string> files{};            ///< tensors and an output that are opened in it, as if they had been dropped
  bool first = false;                          ///< nobody has used the program here before
  bool link = true;                            ///< other programs of the user may tell the window what to open
  std::vector<std::string> remarks{};  ///< sentences about what was wrong with the session file, shown in the status bar
};

/// Opens the window and returns when it was closed. Throws std::runtime_error with one sentence without a display or OpenGL
/// 3.3.
void run_window(const Start& start);

}  // namespace attoscope::app
