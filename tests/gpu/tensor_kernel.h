/// The tensor-core kernel against itself, where its work is cut or addressed in another way, and against a written rule: the
/// same bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::gpu_check {

/// One comparison, and what differs or went wrong; empty: nothing.
struct KernelAnswer {
  std::string name, fault;
};

/// One launch for every tile of keys against a single launch of all; 16,384 keys, or, `quick`, 512.
std::vector<KernelAnswer> compare_cut_launches(int device, std::span<const Format> formats, bool quick);

/// Questions in which only sums of products are rounded, against a plain attention by the first written rule that gives the
/// GPU's own sums of such products; `rule` says which that is, or why nothing was compared.
std::vector<KernelAnswer> compare_with_the_rule(int device, const Format& format, bool quick, std::string& rule);

/// The numbers of K and V that so many heads of 65,536 keys and 128 columns need go beyond 2^31: each head, which holds what
/// the first one holds, gives the first one's output. "" and no answer where it ran; else why the memory does not suffice.
std::string compare_many_heads(int device, std::vector<KernelAnswer>& answers);

}  // namespace attoscope::gpu_check
