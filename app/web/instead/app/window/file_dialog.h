/// The browser's file chooser instead of the desktop's dialogs. A saved file goes into /downloads; the page passes it to the
/// browser.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/window/file_question.h"

namespace attoscope::app {

/// The class of app/window/file_dialog.h for a page.
class FileDialog {
 public:
  explicit FileDialog(std::function<void()> answered);
  ~FileDialog();
  bool available() const { return true; }
  bool asking() const { return question_.has_value(); }
  void ask(FileQuestion question);
  std::optional<FileAnswer> take();
  /// Takes the chosen files; none if the chooser was closed.
  void choose(std::vector<std::string> files);

 private:
  const std::function<void()> answered_;
  std::optional<FileQuestion> question_;
  std::optional<FileAnswer> answer_;
};

}  // namespace attoscope::app
