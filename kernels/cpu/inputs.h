/// Q, K, V: drawn from a seed, or copied from loaded tensors.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/experiment/stop_sign.h"

namespace attoscope {

struct Problem;
struct Tensors;

/// The problem's Q (n x d), K (n_k x d) and V (n_k x d_v) before any rounding. A drawn element depends only on its row-major
/// index, the seed and the tensor, and has the same bits on every machine.
std::shared_ptr<const Tensors> raw_inputs(const Problem& p, const StopSign& stop = {});

/// Number of elements of Q, K and V.
std::array<std::size_t, 3> element_counts(const Problem& p);

/// True if two problems have the same raw inputs.
bool same_inputs(const Problem& x, const Problem& y);

}  // namespace attoscope
