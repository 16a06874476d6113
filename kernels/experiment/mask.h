/// The keys that a query sees.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attoscope {

/// Rule for the keys that a query sees. window: the key at which it stands and the `window` - 1 keys before it (causal).
/// padding: causal, without the first `window` keys (a sequence padded on the left), so that as many rows see no key at all.
/// With more keys than queries, or fewer, the last query stands at the last key, or with top_left the first at the first.
struct Mask {
  enum class Kind : std::uint8_t { none, causal, window, padding };
  Kind kind = Kind::none;
  int window = 256;
  bool top_left = false;

  constexpr bool has_width() const { return kind == Kind::window || kind == Kind::padding; }
  friend constexpr bool operator==(const Mask& x, const Mask& y) {
    return x.kind == y.kind && x.top_left == y.top_left && (!x.has_width() || x.window == y.window);
  }
};
inline constexpr std::array<std::string_view, 4> mask_names{"none", "causal", "window", "padding"};

/// The keys [first, end) that the query at `row` of n keys sees; empty, with end = first, where it sees none. A query may stand
/// before the first key or after the last (see `diagonal`).
struct Keys {
  int first = 0, end = 0;
  constexpr bool empty() const { return end <= first; }
};
constexpr Keys visible_keys(const Mask& mask, int row, int n) {
  if (mask.kind == Mask::Kind::none) return {0, n};
  const int end = row < 0 ? 0 : (row + 1 < n ? row + 1 : n);
  if (mask.kind == Mask::Kind::causal) return {0, end};
  if (mask.kind == Mask::Kind::padding) return mask.window < end ? Keys{mask.window, end} : Keys{end, end};
  const int first = row + 1 - mask.window;
  return {first > 0 ? (first < end ? first : end) : 0, end};
}

}  // namespace attoscope
