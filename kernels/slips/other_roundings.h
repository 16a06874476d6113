/// Correct kernels that round elsewhere than the usual ones, most of them before the softmax: the output that is exact from
/// there on takes the truth's place.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Writes the d_v values that are expected of `row`, NaN where it sees no key, and adds to d_v zeros how much further off than
/// usual such a kernel may be: see `attend`.
using RoundedRow = std::function<void(int row, double* out, double* slack)>;

/// A correct kernel that rounds, or cuts, elsewhere than the usual ones, and the exact output from there on.
struct OtherRounding {
  std::string text;                   ///< "its scores are rounded to bf16, as in PyTorch's eager attention"
  std::function<RoundedRow()> begin;  ///< may take memory and time; the function may be called from many threads
};

/// Those that kernels with main format D and outputs in `stored` are known for, the usual ones first. `inputs` are those that
/// the truth sees, `given` those of the files, where they differ; else null.
std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format, const Format& stored);

}  // namespace attoscope
