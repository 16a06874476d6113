/// A window with its own files, on a desktop with a file dialog.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {

/// A window whose files lie in the test's folder.
struct Office {
  explicit Office(Hand& h) : hand(h) {
    hand.stage.places = {std::make_shared<const Autosave>(hand.folder / "session.json"), hand.folder / "recent.json"};
    hand.open(small_session());
  }
  ~Office() { hand.stage.places = {}; }
  SessionFiles files() { return hand.stage.panel_input().sessions; }
  Session on_disk(const std::string& name) const {
    std::vector<std::string> remarks;
    return read_session(hand.folder / name, remarks);
  }

  Hand& hand;
};

/// A desktop whose file dialog returns the text of a file.
struct Desktop {
  explicit Desktop(const TemporaryDirectory& folder) : path_before(std::getenv("PATH")), answer(folder / "answer") {
    const std::string program =
        folder.write("zenity", "#!/bin/sh\necho \"$@\" > '" + (folder / "asked") + "'\nwhile [ ! -e '" + answer +
                                   "' ]; do sleep 0.02; done\ncat '" + answer + "'\nrm '" + answer + "'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", ((folder / ".") + ":" + path_before).c_str(), 1);
    setenv("ATTOSCOPE_DIALOGS", "desktop", 1);
  }
  ~Desktop() {
    setenv("PATH", path_before.c_str(), 1);
    setenv("ATTOSCOPE_DIALOGS", "none", 1);
  }

  std::string path_before, answer;
};

/// Waits until the desktop's dialog is open, returns `answer` from it (a line for each file), and waits until it is closed.
inline void answer_dialog(Hand& hand, const Desktop& desktop, const std::string& answer) {
  hand.frames(4);
  const auto asking = [&] { return hand.stage.panel_input().sessions.asking; };
  hand.check(asking(), "the dialog is open, and the window goes on");
  std::filesystem::rename(hand.folder.write("answer.part", answer), desktop.answer);
  for (int frames = 0; frames < 100000 && asking(); ++frames) hand.frames(1);
  hand.settle();
}

}  // namespace attoscope::testing
