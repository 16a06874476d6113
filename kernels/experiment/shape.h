/// Number of queries, keys and columns of an attention head.
#pragma once

namespace attoscope {

/// Q is n x d, K n_k x d, V n_k x d_v, O n x d_v.
struct AttentionShape {
  int n = 0, n_k = 0;  ///< queries, keys
  int d = 0, d_v = 0;  ///< columns of Q and K, of V and O

  static constexpr AttentionShape square(int n, int d) { return {n, n, d, d}; }
  /// True if there are as many keys as queries, and one number of columns.
  constexpr bool is_square() const { return n == n_k && d == d_v; }
  friend constexpr bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

}  // namespace attoscope
