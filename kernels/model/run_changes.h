/// Changes of a program that would make a captured tensor differ: what an explanation is chosen from.
#pragma once

#include <string>
#include <vector>

#include "kernels/model/followed_run.h"

namespace attoscope {

struct RunChange {
  std::string text;  ///< "RMSNorm's weight multiplies a row that is not rounded to bf16 first"
  ModelProgram program;
  bool from_layer_before = false;  ///< to be run from the layer before, whose residual stream it keeps
};

/// Single changes of `program`: each step around attention in other formats, the rotary embedding's pairs, base and first
/// position, epsilon, and the weights P of one head in fp8. `wide`: few of them, where each is a run of the whole model.
std::vector<RunChange> run_changes(const RunQuestion& question, const ModelProgram& program, bool wide);

}  // namespace attoscope
