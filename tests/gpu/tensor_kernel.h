/// Compares the tensor-core kernel with itself, its work cut or addressed otherwise, and with a written rule: the same
/// bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::gpu_check {

/// One comparison, and its difference or error; empty: none.
struct KernelAnswer {
  std::string name, fault;
};

/// One launch for every tile of keys against a single launch of all; 16,384 keys, or, `quick`, 512.
std::vector<KernelAnswer> compare_cut_launches(int device, std::span<const Format> formats, bool quick);

/// Compares inputs for which only sums of products are rounded with a plain attention by the first written rule that gives
/// the GPU's own sums of such products; `rule` names it, or says why nothing was compared.
std::vector<KernelAnswer> compare_with_the_rule(int device, const Format& format, bool quick, std::string& rule);

/// Runs enough heads of 65,536 keys and 128 columns for more than 2^31 numbers of K and V: each head is a copy of the
/// first, and must give the first one's output. Returns "", or why the memory does not suffice; then there is no answer.
std::string compare_many_heads(int device, std::vector<KernelAnswer>& answers);

}  // namespace attoscope::gpu_check
