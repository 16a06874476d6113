/// Scales beside stored numbers: which of their numbers multiplies which number of a tensor, found from shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"

namespace attoscope {

/// Which numbers share a scale. token, channel: a row or a column of a head, or of all heads where the scale has no heads.
/// tokens, columns: blocks of rows of a head; blocks of columns of a row.
enum class ScaleGroup : std::uint8_t { tensor, head, token, channel, tokens, columns };

/// How the numbers of a scale belong to those of its tensor.
struct StoredScale {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;    ///< tokens or columns that share a number, where these are in blocks
  HeadShape shape;  ///< how the scale itself is read: 1 batch, head, row or column where all share a number
  friend bool operator==(const StoredScale&, const StoredScale&) = default;
};

/// "per head", "per block of 64 tokens"
std::string scale_text(const StoredScale& scale);

/// What somebody says of a scale whose shape fits two groups.
struct SaidGroup {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;
  friend bool operator==(const SaidGroup&, const SaidGroup&) = default;
};

/// What `parse_scale_group` understands, for messages and help.
inline constexpr std::string_view scale_groups = "tensor, head, token, channel, 64 tokens or 16 columns";
std::optional<SaidGroup> parse_scale_group(std::string_view text);
/// The text that `parse_scale_group` reads back.
std::string scale_group_text(const SaidGroup& said);

/// A tensor that may have a scale.
struct ScaledMatrix {
  StoredTensor tensor;
  HeadShape shape;
  int kv_heads = 1;  ///< of its call: a scale of Q may have one number for each
};

/// True for eight bits, which have no range of their own: only they take a scale that nobody names.
bool takes_scale(ElementType t);

/// How a scale is read, from its shape. `order`: where somebody has said it. Throws std::runtime_error in a sentence where its
/// type is none for scales, its shape fits nothing, or two groups and nothing is said.
StoredScale stored_scale(const StoredTensor& scale, const ScaledMatrix& of, std::optional<HeadOrder> order = {},
                         const std::optional<SaidGroup>& said = {});

/// Multiplies head `index` of a tensor, n x d, by its scales; of these only the head's are read. Throws in a sentence where one
/// is no finite number above 0.
void multiply_head(std::vector<double>& values, const HeadShape& of, int index, const InputFile& file,
                   const StoredTensor& tensor, const StoredScale& scale, const ReadWatch& watch = {});

}  // namespace attoscope
