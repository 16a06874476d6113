/// The keys that a query sees, by a rule and by a mask that is given as a tensor.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

/// Rule for the keys that a query sees. window: the key at which it stands, the `window` - 1 keys before it and the `right`
/// keys behind it. padding: causal, without the first `window` keys (a sequence padded on the left), so that as many rows see
/// no key at all. right_padding: causal, without the last `window` keys. prefix: causal, and every query sees the first
/// `window` keys. chunk: causal within chunks of `window` keys, counted from key 0. With more keys than queries, or fewer, the
/// last query stands at the last key, or with top_left the first at the first.
struct Mask {
  enum class Kind : std::uint8_t { none, causal, window, padding, prefix, chunk, right_padding };
  Kind kind = Kind::none;
  int window = 256;
  bool top_left = false;
  int right = 0;

  constexpr bool has_width() const { return kind != Kind::none && kind != Kind::causal; }
  friend constexpr bool operator==(const Mask& x, const Mask& y) {
    return x.kind == y.kind && x.top_left == y.top_left && (!x.has_width() || x.window == y.window) &&
           (x.kind != Kind::window || x.right == y.right);
  }
};
inline constexpr EnumArray<Mask::Kind> mask_names{"none", "causal", "window", "padding", "prefix", "chunk", "right_padding"};

/// `key` clamped to 0 .. n.
constexpr int key_within(int key, int n) { return key < 0 ? 0 : (key < n ? key : n); }

/// The keys [first, end) that the query at `row` of n keys sees; empty, with end = first, if it sees none. A query may stand
/// before the first key or after the last (see `diagonal`). Both ends grow with the row.
struct Keys {
  int first = 0, end = 0;
  constexpr bool empty() const { return end <= first; }
  constexpr bool contains(int key) const { return first <= key && key < end; }
  friend constexpr bool operator==(const Keys&, const Keys&) = default;
};
constexpr Keys visible_keys(const Mask& mask, int row, int n) {
  using M = Mask::Kind;
  if (mask.kind == M::none) return {0, n};
  int first = 0, end = key_within(row + 1, n);
  if (mask.kind == M::window) {
    end = row + 1 < n - mask.right ? key_within(row + 1 + mask.right, n) : n;
    first = key_within(row + 1 - mask.window, n);
  }
  if (mask.kind == M::padding) first = mask.window;
  if (mask.kind == M::chunk) first = row > 0 ? row - row % mask.window : 0;
  if (mask.kind == M::prefix && end < mask.window) end = key_within(mask.window, n);
  if (mask.kind == M::right_padding && end > n - mask.window) end = key_within(n - mask.window, n);
  return {first < end ? first : end, end};
}

/// A mask tensor of one head as the lanes read it (see MaskTensor).
struct MaskView {
  const Keys* rows = nullptr;     ///< [query]: from the first key that it keeps to the last; null: there is no mask tensor
  const double* terms = nullptr;  ///< [query * n_k + key]: added to S, -infinity where the key is dropped; null: all are kept
  int n_k = 0;                    ///< keys of a row of `terms`
  double factor = 1;              ///< multiplies the terms

  /// Requires `terms`.
  constexpr double term(int row, int key) const { return factor * terms[static_cast<std::int64_t>(row) * n_k + key]; }
  constexpr bool drops(int row, int key) const { return term(row, key) == -std::numeric_limits<double>::infinity(); }
  /// `keys`, the range of the rule for a row, cut to the first and last key that the tensor keeps.
  constexpr Keys within(int row, Keys keys) const {
    if (rows == nullptr) return keys;
    int first = keys.first > rows[row].first ? keys.first : rows[row].first,
        end = keys.end < rows[row].end ? keys.end : rows[row].end;
    if (terms != nullptr) {
      while (first < end && drops(row, first)) ++first;
      while (first < end && drops(row, end - 1)) --end;
    }
    return {first < end ? first : keys.end, first < end ? end : keys.end};
  }
};

/// The mask tensor of one head. A dropped key takes part in nothing; a term is added to S after scale, soft cap and ALiBi,
/// before S is rounded.
struct MaskTensor {
  int n = 0, n_k = 0;
  std::vector<Keys> rows;     ///< [n]: from the first key that the query keeps to the last; empty if it keeps none
  std::vector<double> terms;  ///< n x n_k, -infinity where the key is dropped; empty: the queries keep all keys of `rows`
  bool of_one_head = false;   ///< heads or sequences of the call have masks of their own

  MaskView view() const { return {rows.data(), terms.empty() ? nullptr : terms.data(), n_k}; }
};

/// Builds the mask of n x n_k terms; keeps key ranges alone if a row's terms are 0 in one run of keys and -infinity outside.
MaskTensor mask_of_terms(int n, int n_k, std::vector<double> terms);

/// The largest magnitude among the terms of a row's keys within 1e4 of its largest term; 0 without terms, or if the largest
/// term is 1e30 or more in magnitude.
double term_size(const MaskView& mask, int row, Keys keys);

/// The rule, bottom-right or top-left, that shows every query the same keys; none if no rule does or the mask adds terms.
std::optional<Mask> rule_of(const MaskTensor& mask);

}  // namespace attoscope
