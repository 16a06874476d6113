/// `attoscope judge`: is a kernel's output rounded, or wrong?
#pragma once

#include <ostream>
#include <string>

#include "app/session/experiment_options.h"

namespace attoscope {

/// The options as typed.
struct JudgeArguments : ExperimentOptions {
  std::string q, k, v, o, input;
  std::string threads = "0";
  Typed head{};
  std::string json, report;  ///< where to write; "" nowhere, json "-" to standard output
  bool quiet = false;
  bool unsaved = false;  ///< the files will be gone: the page names none
};

/// Judges, and writes what was asked for: nothing at all if anything fails. Returns whether every head is rounded. `terminal`
/// null: no progress is shown.
bool judge(const JudgeArguments& arguments, std::ostream& out, std::ostream* terminal);

}  // namespace attoscope
