/// The program's command line.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace attoscope::app {

/// Runs `attoscope` with these arguments (without the program's name). Writes errors to `err`, one sentence each. Returns an
/// exit code: 2 for wrong arguments (std::invalid_argument), 1 for a failure while running, 3 if `judge` found an output wrong
/// or `check-gpu` a GPU that differs from the rules.
int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace attoscope::app
