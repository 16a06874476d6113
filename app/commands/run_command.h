/// `attoscope run`: one experiment from options, its table, JSON and matrices.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "app/session/experiment_options.h"

namespace attoscope {

/// The options as typed.
struct RunArguments : ExperimentOptions {
  std::string device = "auto", threads = "0";
  bool attribute = false;
  std::string json, save;                 ///< where to write; "" nowhere, json "-" to standard output
  std::vector<std::string> save_field{};  ///< "a_error=FILE.npy"
};

/// Computes, and writes what was asked for: nothing at all if anything fails. A signal stops it.
void run(const RunArguments& arguments, std::ostream& out);

}  // namespace attoscope
