/// Scales beside stored numbers: their correspondence to a tensor's numbers, found from shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"

namespace attoscope {

/// Numbers that share a scale. token, channel: a row or a column of a head, or of all heads if the scale has no heads. tokens,
/// columns: blocks of rows of a head; blocks of columns of a row.
enum class ScaleGroup : std::uint8_t { tensor, head, token, channel, tokens, columns };

/// Correspondence of a scale's numbers to its tensor's.
struct StoredScale {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;    ///< tokens or columns per number, if in blocks
  HeadShape shape;  ///< sizes of the scale itself: 1 batch, head, row or column if all share a number
  friend bool operator==(const StoredScale&, const StoredScale&) = default;
};

/// "per head", "per block of 64 tokens"
std::string scale_text(const StoredScale& scale);

/// The given group of a scale, for a shape that fits two.
struct SaidGroup {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;
  friend bool operator==(const SaidGroup&, const SaidGroup&) = default;
};

/// Texts that `parse_scale_group` accepts, for messages and help.
inline constexpr std::string_view scale_groups = "tensor, head, token, channel, 64 tokens or 16 columns";
std::optional<SaidGroup> parse_scale_group(std::string_view text);
/// The group as text for `parse_scale_group`.
std::string scale_group_text(const SaidGroup& said);

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

}  // namespace attoscope
