/// Asks for a file by the desktop's own program; the window never waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/threads/worker.h"

namespace attoscope {

/// One dialog at a time: a newer question closes the one that is open. Destruction closes it, too.
class FileDialog {
 public:
  enum class Purpose : std::uint8_t { open_session, save_session, open_checkpoint, save_checkpoint };
  struct Question {
    Purpose purpose = Purpose::open_session;
    std::string start;  ///< the file or the folder that is shown first; empty: the current one
  };
  struct Answer {
    Purpose purpose = Purpose::open_session;
    std::string file;  ///< empty: none was chosen
  };

  /// `answered` is called from another thread when `take` has something to take. Throws std::runtime_error in one sentence if
  /// the environment's ATTOSCOPE_DIALOGS is neither `desktop` (the default) nor `none`, with which paths are typed.
  explicit FileDialog(std::function<void()> answered);

  /// True if this desktop has such a program (zenity, kdialog or one of their kin) and ATTOSCOPE_DIALOGS is not `none`.
  bool available() const { return available_; }
  bool asking() const { return worker_.busy(); }
  /// Asks, instead of what was asked before.
  void ask(Question question) { worker_.submit(std::move(question)); }
  /// Throws std::runtime_error in one sentence if the program could not be run.
  std::optional<Answer> take() { return worker_.take(); }

 private:
  bool available_;
  Worker<Question, Answer> worker_;  ///< last: it closes the program before anything it uses goes away
};

}  // namespace attoscope
