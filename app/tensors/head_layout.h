/// Order of the dimensions of Q, K, V and O, found from their shapes or given.
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

/// A given layout. `heads`: of Q, if side by side; 0: not given.
struct HeadLayout {
  HeadOrder order = HeadOrder::heads_first;
  int heads = 0;
  friend bool operator==(const HeadLayout&, const HeadLayout&) = default;
};

/// Layouts that `parse_layout` accepts, for messages and help.
inline constexpr std::string_view layout_specs = "h n d, b h n d, n h d, b n h d, n (h d) or, for 32 heads of Q, n (32 d)";

/// Parses a layout, with or without spaces; none if it is invalid.
std::optional<HeadLayout> parse_layout(std::string_view text);

/// The layout as text for `parse_layout`: "h n d".
std::string layout_text(const HeadLayout& layout);

/// Order and sizes of a tensor.
struct HeadShape {
  HeadOrder order = HeadOrder::heads_first;
  int batch = 1, heads = 1, n = 0, d = 0;
  int count() const { return batch * heads; }
  friend bool operator==(const HeadShape&, const HeadShape&) = default;
  bool same_sizes(const HeadShape& x) const { return batch == x.batch && heads == x.heads && n == x.n && d == x.d; }
};

/// Hints for shapes that fit several layouts.
struct LayoutHints {
  std::optional<HeadLayout> said{};
  HeadOrder likely = HeadOrder::heads_first;  ///< preferred if two fit
  bool asks = true;                           ///< throw if two fit and `likely` has more heads than tokens
  const StoredTensor* sibling = nullptr;      ///< an output, which may show d if heads are side by side
};

/// Orders and sizes of Q, K and V: equal batch and d, equal tokens and heads of K and V; the heads of K divide those of Q.
/// Throws std::runtime_error with one sentence that names a tensor, its shape and what was expected, or the layouts that fit.
std::array<HeadShape, 3> shapes_of_call(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints = {});

/// The shape of an output of these sizes: heads and rows of Q, columns of V. It may have more columns unless its heads stand
/// side by side; the first ones are V's. None if it does not fit.
std::optional<HeadShape> shape_of_output(const StoredTensor& output, const HeadShape& wanted);

/// The first `kept` of `columns` columns of row-major values.
std::vector<double> first_columns(std::vector<double> values, int columns, int kept);

/// One head of a tensor that is read so: `index` counts the heads of all batches.
std::vector<double> read_head(const InputFile& file, const StoredTensor& tensor, const HeadShape& shape, int index,
                              const ReadWatch& watch = {});

}  // namespace attoscope
