/// Order of the dimensions of Q, K, V and O, found from their shapes or given.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/tensor_spec.h"

namespace attoscope::app {

/// Order and sizes of a tensor.
struct HeadShape {
  HeadOrder order = HeadOrder::heads_first;
  int batch = 1, heads = 1, n = 0, d = 0;
  int count() const { return batch * heads; }
  friend bool operator==(const HeadShape&, const HeadShape&) = default;
  bool same_sizes(const HeadShape& x) const { return batch == x.batch && heads == x.heads && n == x.n && d == x.d; }
};

/// Shape of a tensor read in one order, or words for the shapes that could be.
struct HeadReading {
  HeadShape shape;
  std::string fault;  ///< "a number of tokens from 1 to 1048576"; "": it can be read
};
/// Reads the shape of a tensor. `d`: head dimension, used if heads are side by side. Throws if its bytes exceed 2^62.
HeadReading reading_in(const StoredTensor& tensor, HeadOrder order, int d);

/// Hints for shapes that fit several layouts.
struct LayoutHints {
  std::optional<HeadLayout> said{};
  HeadOrder likely = HeadOrder::heads_first;  ///< preferred if two fit
  bool asks = true;                           ///< throw if two fit and `likely` has more heads than tokens
  const StoredTensor* sibling = nullptr;      ///< an output, which may show d if heads are side by side
};

/// Orders and sizes of Q, K and V: equal batch and d, equal tokens and heads of K and V; the heads of K divide those of Q.
/// Throws std::runtime_error with one sentence that names a tensor, its shape and what was expected, or the layouts that fit;
/// always if K has fewer tokens than Q in the likely order, heads first, and Q more heads than tokens in the other.
std::array<HeadShape, 3> shapes_of_call(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints = {});

/// Layouts of two or more usual heads side by side that Q, K and V may have.
std::vector<HeadLayout> layouts_side_by_side(const std::array<StoredTensor, 3>& qkv);

/// "q has shape [12, 32, 64], read as h n d (...); n h d (...), n (2 d) would fit, too" if no layout is given, two fit, and the
/// other one has at most 128 heads; else "".
std::string other_reading(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints);

/// Shape of an output that must have the `wanted` heads and rows (of Q) and columns (of V). It may have more columns unless its
/// heads are side by side; the first ones are V's. None if it does not fit.
std::optional<HeadShape> shape_of_output(const StoredTensor& output, const HeadShape& wanted);

/// The first `kept` of `columns` columns of row-major values.
std::vector<double> first_columns(std::vector<double> values, int columns, int kept);

/// Reads one head of a tensor of this shape, row-major n x d; `index` counts the heads of all batches.
std::vector<double> read_head(const InputFile& file, const StoredTensor& tensor, const HeadShape& shape, int index,
                              const ReadWatch& watch = {});

}  // namespace attoscope::app
