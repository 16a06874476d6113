/// Reference outputs of correct kernels that round before the softmax, or elsewhere than the usual ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Writes the d_v values that are expected of `row`, NaN where it sees no key, and adds to d_v zeros the additional error that
/// such a kernel may have: see `attend`.
using RoundedRow = std::function<void(int row, double* out, double* slack)>;

/// A correct kernel that rounds, or cuts, elsewhere than the usual ones, and its exact output from there on.
struct OtherRounding {
  std::string text;                   ///< "its scores are rounded to bf16, as in PyTorch's eager attention"
  std::function<RoundedRow()> begin;  ///< may take memory and time; the function may be called from many threads
};

/// The other roundings of known kernels with main format D and outputs in `stored`, the usual ones first. `inputs` are those of
/// the golden value, `given` those of the files, if they differ; else null.
std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format, const Format& stored);

}  // namespace attoscope
