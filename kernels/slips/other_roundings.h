/// Correct kernels that round before the softmax: what they compute exactly, once that is done, stands beside the truth.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {

/// A kernel that rounds something before its softmax, and the exact output from there on.
struct OtherRounding {
  std::string text;                    ///< "its scores are rounded to bf16, as in PyTorch's eager attention"
  bool rounds_scores = false;          ///< then a score that lies near the middle of two numbers may become either
  std::function<ExpectedRow()> begin;  ///< may take memory and time; the function may be called from many threads
};

/// Those that kernels with main format D are known for, the usual ones first. `inputs` are those that the truth sees, `given`
/// those of the files, where they differ; else null.
std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format);

}  // namespace attoscope
