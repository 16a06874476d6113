/// Scaled storage as plainly as it can be written: finds the nearest element among all elements, and the group of a
/// number again for every number.
#pragma once

#include <array>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::plain {

/// All numbers >= 0 of an element, ascending; in the order of their codes.
const std::vector<double>& numbers_of(const Element& e);

/// The element nearest to x; ties to the even code, or of integers as `tie` says.
template <class T>
T nearest(const Element& e, T x, Tie tie = Tie::even);

/// Q, K and V as stored, with the factors and offsets after the products; row-major.
template <class T>
struct Stored {
  std::vector<T> q, k, v;
  std::vector<T> row_factor, key_factor;  ///< of S; empty: none
  bool uniform = false;                   ///< all of S has one factor, which is part of the scores' factor
  std::vector<T> bias;                    ///< n x n_k, added to S; empty: none
  std::vector<T> o_factor, o_offset;      ///< of a column of O; empty: none
};
/// `all_heads`: the largest magnitudes of Q, K and V over all heads, 0 if there is no other.
template <class T>
Stored<T> stored(const std::vector<T>& q, const std::vector<T>& k, const std::vector<T>& v, const AttentionShape& shape,
                 const Method& method, const Format& main, std::uint64_t seed, const std::array<T, 3>& all_heads = {});

/// The exact output of `row` over `keys` on the stored numbers, without sink, soft-capping and ALiBi.
std::vector<double> truth_of_stored(const Problem& problem, const Stored<float>& s, int row, Keys keys);

/// P of keys of one tile, rounded by its scaling; e[0] is the tile's `index`-th key, and `e` may end before the tile does.
template <class T>
std::vector<T> stored_P(const std::vector<T>& e, int index, const Scaling& s);

}  // namespace attoscope::plain
