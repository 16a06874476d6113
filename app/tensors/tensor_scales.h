/// Scales beside stored numbers: their correspondence to a tensor's numbers, found from shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"

namespace attoscope::app {

/// Correspondence of a scale's numbers to its tensor's.
struct StoredScale {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;    ///< tokens or columns per number, if in blocks
  HeadShape shape;  ///< sizes of the scale itself: 1 batch, head, row or column if all share a number
  friend bool operator==(const StoredScale&, const StoredScale&) = default;
};

/// "per head", "per block of 64 tokens"
std::string scale_text(const StoredScale& scale);

/// A tensor that may have a scale.
struct ScaledMatrix {
  StoredTensor tensor;
  HeadShape shape;
  int kv_heads = 1;  ///< of its call; a scale of Q may have one number for each
};

/// True for 8-bit types, which have no range of their own; only they use a scale that is not explicitly named.
bool takes_scale(ElementType t);

/// Correspondence of a scale by its shape. `order`: of its dimensions, if given. Throws std::runtime_error with one sentence if
/// its type cannot be a scale's, or its shape fits nothing, or two groups and none is given.
StoredScale stored_scale(const StoredTensor& scale, const ScaledMatrix& of, std::optional<HeadOrder> order = {},
                         const std::optional<SaidGroup>& said = {});

/// Multiplies head `index` of a tensor, n x d, by its scales; reads only that head's. Throws with one sentence unless all are
/// finite and above 0.
void multiply_head(std::vector<double>& values, const HeadShape& of, int index, const InputFile& file,
                   const StoredTensor& tensor, const StoredScale& scale, const ReadWatch& watch = {});

}  // namespace attoscope::app
