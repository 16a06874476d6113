/// `attoscope invariance`: whether a row's bits depend on how its keys are cut.
#pragma once

#include <ostream>
#include <string>

#include "app/commands/tables.h"
#include "app/session/experiment_options.h"

namespace attoscope {

/// The options as typed. `--splits`, `--block-k`, `--orders` and `--sums` are lists, whose first values are a's own.
struct InvarianceArguments : ExperimentOptions, TableFiles {
  Typed splits, block_k, orders, sums;
  std::string device = "cpu", threads = "0";
  bool quiet = false;
};

/// Computes every schedule and writes what was asked for: nothing at all if anything fails. A signal stops it. `terminal` null:
/// no progress is shown.
void invariance(const InvarianceArguments& arguments, std::ostream& out, std::ostream* terminal);

}  // namespace attoscope
