/// Frequencies and tables of the rotary embedding, the same bits on every machine.
#pragma once

#include <vector>

#include "kernels/model/architecture.h"
#include "kernels/model/surroundings.h"

namespace attoscope {

/// Frequencies of the head_dim / 2 pairs over a context of n tokens, in double, and the factor of cos and sin that their
/// scaling asks for. Formulas: transformers' modeling_rope_utils.
struct RopeFrequencies {
  std::vector<double> frequencies;
  double factor = 1;
};
RopeFrequencies rope_frequencies(const Rope& rope, int head_dim, int n);

/// cos and sin of position times frequency, [n, head_dim / 2], each rounded as the steps of `s` say.
struct RopeTable {
  std::vector<double> cos, sin;
};
RopeTable rope_table(const Rope& rope, int head_dim, int n, const Surroundings& s);

}  // namespace attoscope
