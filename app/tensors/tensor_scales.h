/// Scales of stored numbers: finds from shapes which numbers of a tensor each scale multiplies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"

namespace attoscope::app {

/// Mapping of a scale's numbers to its tensor's.
struct StoredScale {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;    ///< tokens or columns per number, if in blocks
  HeadShape shape;  ///< sizes of the scale itself: 1 batch, head, row or column if all share a number
  friend bool operator==(const StoredScale&, const StoredScale&) = default;
};

/// True if each token has numbers of its own: one, or one for each block of its columns.
constexpr bool is_of_tokens(ScaleGroup group) { return group == ScaleGroup::token || group == ScaleGroup::columns; }

/// "per head", "per block of 64 tokens"
std::string scale_text(const StoredScale& scale);

/// A tensor that may have a scale.
struct ScaledMatrix {
  StoredTensor tensor;
  HeadShape shape;
  int kv_heads = 1;      ///< heads of K in its call; a scale of Q may have one number for each
  int of_sequences = 0;  ///< sequences whose tokens, a batch of pages, it holds: no blocks of tokens fit; 0: it is one call
};

/// True for 8-bit types, which have no range of their own; only they use a scale that is not explicitly named.
bool takes_scale(ElementType t);

/// Finds the mapping of a scale from its shape. `order`: of its dimensions, if given. Throws std::runtime_error with one
/// sentence if its type cannot be a scale's, its shape fits nothing, or it fits several mappings and `said` does not choose.
StoredScale stored_scale(const StoredTensor& scale, const ScaledMatrix& of, std::optional<HeadOrder> order = {},
                         const std::optional<SaidGroup>& said = {});

/// Multiplies head `index` of a tensor, n x d, by its scales; reads only the scales of that head. Throws with one sentence
/// unless all are finite and above 0.
void multiply_head(std::vector<double>& values, const HeadShape& of, int index, const InputFile& file,
                   const StoredTensor& tensor, const StoredScale& scale, const ReadWatch& watch = {});

}  // namespace attoscope::app
