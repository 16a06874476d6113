/// The browser's file chooser in the place of the desktop's dialogs. What is saved goes into /downloads, from which the page
/// gives it to the browser.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/requests.h"

namespace attoscope {

/// The class of app/window/file_dialog.h for a page.
class FileDialog {
 public:
  struct Question {
    FileUse use = FileUse::session;
    bool saves = false;
    std::string start{};     ///< its name is that of what is saved
    std::string patterns{};  ///< not used: the chooser shows all files
  };
  struct Answer {
    Question question;
    std::vector<std::string> files{};
  };

  explicit FileDialog(std::function<void()> answered);
  ~FileDialog();
  bool available() const { return true; }
  bool asking() const { return question_.has_value(); }
  void ask(Question question);
  std::optional<Answer> take();
  /// Takes the files that were chosen; none where the chooser was closed.
  void choose(std::vector<std::string> files);

 private:
  const std::function<void()> answered_;
  std::optional<Question> question_;
  std::optional<Answer> answer_;
};

}  // namespace attoscope
