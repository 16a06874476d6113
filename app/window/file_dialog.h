/// File dialogs of the desktop, without blocking the window.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "app/threads/worker.h"
#include "app/window/file_question.h"

namespace attoscope::app {

/// One dialog at a time: a newer question, or destruction, closes the open one.
class FileDialog {
 public:
  /// Another thread calls `answered` when `take` has something. Throws std::runtime_error with one sentence if the
  /// environment's ATTOSCOPE_DIALOGS is neither `desktop` (the default) nor `none`.
  explicit FileDialog(std::function<void()> answered);

  /// True if the desktop has a dialog program (zenity, kdialog or a relative) and ATTOSCOPE_DIALOGS is not `none`.
  bool available() const { return available_; }
  bool asking() const { return worker_.busy(); }
  /// Opens a dialog, replacing an open one.
  void ask(FileQuestion question) { worker_.submit(std::move(question)); }
  /// Throws std::runtime_error with one sentence if the program failed.
  std::optional<FileAnswer> take() { return worker_.take(); }

 private:
  bool available_;
  Worker<FileQuestion, FileAnswer> worker_;  ///< last: closes the program before anything it uses is destroyed
};

}  // namespace attoscope::app
