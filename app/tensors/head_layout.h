/// In which order the dimensions of Q, K, V and O stand, found from their shapes or said by somebody.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/tensors/stored_tensor.h"

namespace attoscope {

enum class HeadOrder : std::uint8_t {
  heads_first,   ///< n d, h n d or b h n d
  tokens_first,  ///< n h d or b n h d
  side_by_side   ///< n (h d) or b n (h d): the heads of a token in one row
};

/// What somebody says of a file. `heads`: of Q, where they stand side by side; 0: not said.
struct HeadLayout {
  HeadOrder order = HeadOrder::heads_first;
  int heads = 0;
  friend bool operator==(const HeadLayout&, const HeadLayout&) = default;
};

/// What `parse_layout` understands, for messages and help.
inline constexpr std::string_view layout_specs = "h n d, b h n d, n h d, b n h d, n (h d) or, for 32 heads of Q, n (32 d)";

/// The layout that a text names, with spaces or without; none where it names none.
std::optional<HeadLayout> parse_layout(std::string_view text);

/// The text that `parse_layout` reads back: "h n d".
std::string layout_text(const HeadLayout& layout);

/// How one tensor is read.
struct HeadShape {
  HeadOrder order = HeadOrder::heads_first;
  int batch = 1, heads = 1, n = 0, d = 0;
  int count() const { return batch * heads; }
  friend bool operator==(const HeadShape&, const HeadShape&) = default;
  bool same_sizes(const HeadShape& x) const { return batch == x.batch && heads == x.heads && n == x.n && d == x.d; }
};

/// What helps where shapes alone do not tell.
struct LayoutHints {
  std::optional<HeadLayout> said{};
  HeadOrder likely = HeadOrder::heads_first;  ///< where two fit
  bool asks = true;                           ///< where two fit and `likely` has more heads than tokens
  const StoredTensor* sibling = nullptr;      ///< an output, which may show d where heads stand side by side
};

/// How Q, K and V are read: batch and d are the same, tokens and heads of K and V too, whose heads divide those of Q. Throws
/// std::runtime_error in a sentence that names a tensor, its shape and what was expected, or which layouts fit.
std::array<HeadShape, 3> shapes_of_call(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints = {});

/// How an output of these sizes is read: as many heads and rows as Q, as many columns as V, or, unless its heads stand side by
/// side, more, of which the first are V's; none where it does not fit.
std::optional<HeadShape> shape_of_output(const StoredTensor& output, const HeadShape& wanted);

/// The first `kept` of `columns` columns of row-major values.
std::vector<double> first_columns(std::vector<double> values, int columns, int kept);

/// One head of a tensor that is read so: `index` counts the heads of all batches.
std::vector<double> read_head(const InputFile& file, const StoredTensor& tensor, const HeadShape& shape, int index,
                              const ReadWatch& watch = {});

}  // namespace attoscope
