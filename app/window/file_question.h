/// A question for a file to open or to save to, and the user's answer.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/requests.h"

namespace attoscope::app {

struct FileQuestion {
  ui::FileUse use = ui::FileUse::session;
  bool saves = false;
  std::string start{};     ///< initial file, or folder with '/' at its end; empty: the current folder
  std::string patterns{};  ///< of files of tensors: "*.npy *.pt"; in a browser the chooser shows all files
};
struct FileAnswer {
  FileQuestion question;
  std::vector<std::string> files{};  ///< several only for tensors; empty: none chosen
};

}  // namespace attoscope::app
