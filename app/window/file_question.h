/// Question to the user for a file to open or to save to, and its answer.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/requests.h"

namespace attoscope::app {

struct FileQuestion {
  ui::FileUse use = ui::FileUse::session;
  bool saves = false;
  std::string start{};     ///< initial file, or folder with '/' at its end; empty: the current folder
  std::string patterns{};  ///< of the files of tensors: "*.npy *.pt"; a page's chooser shows all files
};
struct FileAnswer {
  FileQuestion question;
  std::vector<std::string> files{};  ///< several only of tensors; empty: none chosen
};

}  // namespace attoscope::app
