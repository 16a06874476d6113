/// A small random model, for lessons and tests: the same bits on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/model/architecture.h"

namespace attoscope {

/// Four layers of four heads over two, of width 64, with a vocabulary of 256; weights are nearly normal, those of projections
/// with variance 2.25 / inputs.
LanguageModel random_model(std::uint64_t seed);

/// n random tokens below `vocabulary`.
std::vector<int> random_tokens(std::uint64_t seed, int n, int vocabulary);

}  // namespace attoscope
