/// The window: shows a session, computes its answer whenever it changes, saves it at the end.
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
  std::shared_ptr<const Autosave> autosave{};  ///< this window's autosave; null: none
  std::string example_file{};                  ///< the shipped tensors; empty: none
  std::optional<std::string> device{};         ///< replaces the session's device until another is chosen; never saved
  std::vector<std::string> files{};            ///< tensors and an output, opened as if dropped
  bool first = false;                          ///< first start of the program for this user
  bool link = true;                            ///< other programs of the user may send files to the window
  std::vector<std::string> remarks{};          ///< sentences on errors in the session file, shown in the status bar
};

/// Opens the window and returns when it was closed. Throws std::runtime_error with one sentence without a display or OpenGL
/// 3.3.
void run_window(const Start& start);

}  // namespace attoscope::app
