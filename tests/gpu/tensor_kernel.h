/// Compares the tensor-core kernel with itself, its work cut or addressed otherwise, and with a written rule: the same
/// bits.
#pragma once

#include <span>

#include "kernels/experiment/experiment.h"
#include "tests/gpu/tally.h"

namespace attoscope::gpu_check {

/// One launch for every tile of keys against a single launch of all; 16,384 keys, or, `quick`, 512.
void compare_cut_launches(int device, std::span<const Format> formats, bool quick, Tally& tally);

/// Compares inputs for which only sums of products are rounded with a plain attention by the first written rule that gives
/// the GPU's own sums of such products; prints its name, or why nothing is compared.
void compare_with_the_rule(int device, const Format& format, bool quick, Tally& tally);

/// Runs enough heads of 65,536 keys and 128 columns for more than 2^31 numbers of K and V: each head is a copy of the
/// first, and must give the first one's output. Skipped if the memory does not suffice.
void compare_many_heads(int device, Tally& tally);

}  // namespace attoscope::gpu_check
