/// `attoscope run`: one experiment from options, its table, JSON and matrices.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/result.h"

namespace attoscope {

/// The options as typed; "" where there is a default that depends on others.
struct RunArguments {
  std::string input = "normal", n, d, seed = "1", scale = "auto", mask = "none";
  std::string format = "bf16", algorithm = "flash2", policy, block_q = "64", block_k = "64", baseline = "base_eager";
  std::vector<std::string> set;
  std::string rows = "all", row = "-1", device = "auto", threads = "0";
  std::string json, save;  ///< where to write; "" nowhere, json "-" to standard output
};

/// The experiment that the options describe, with its tensors read. Throws std::invalid_argument in a sentence where an option
/// makes no sense, std::runtime_error where a file does not.
Experiment experiment_of(const RunArguments& arguments);

/// `--set`: "a.O=fp32", "b.P=main", "a.accumulate_in_O=true", "a.block_k=32", "b.algorithm=flash2".
void apply_setting(Experiment& experiment, const std::string& setting);

/// Computes, and writes what was asked for: nothing at all if anything fails. A signal stops it.
void run(const RunArguments& arguments, std::ostream& out);

}  // namespace attoscope
