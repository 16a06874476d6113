/// The program's command line.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace attoscope::app {

/// Runs `attoscope` with these arguments (without the program's name). Errors are one sentence on `err`; the result is an exit
/// code: 2 where the arguments make no sense (std::invalid_argument), 1 where something failed while running, 3 where `judge`
/// found an output wrong, or `check-gpu` a GPU that is not as written.
int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace attoscope::app
