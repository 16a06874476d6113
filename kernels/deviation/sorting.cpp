#include "kernels/deviation/sorting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

namespace attoscope {
namespace {

constexpr int digit_bits = 11;
using Counts = std::array<std::uint32_t, 1 << digit_bits>;

/// Numbers of a digit into where the first of each belongs.
void take_places(Counts& counts) {
  std::uint32_t start = 0;
  for (std::uint32_t& c : counts) start += std::exchange(c, start);
}

/// Keys, and room for as many.
template <class Key>
struct Keys2 {
  std::unique_ptr<Key[]> keys, other;
  std::size_t count = 0;
};

/// Sorts by rank(key) < 2^(2 * bits), by its lower half first.
template <class Key, class Rank>
void sort_by_rank(Keys2<Key>& x, int bits, const StopSign& stop, Rank rank) {
  std::array<Counts, 2> places{};
  const std::uint32_t mask = (1u << bits) - 1;
  each_element(x.count, stop, [&](std::size_t i) {
    const std::uint32_t r = rank(x.keys[i]);
    ++places[0][r & mask];
    ++places[1][r >> bits];
  });
  for (Counts& c : places) take_places(c);
  each_element(x.count, stop, [&](std::size_t i) { x.other[places[0][rank(x.keys[i]) & mask]++] = x.keys[i]; });
  each_element(x.count, stop, [&](std::size_t i) { x.keys[places[1][rank(x.other[i]) >> bits]++] = x.other[i]; });
}

/// Sorts by the bits from `first` on, a digit at a time, the lowest first.
template <class Key>
void sort_by_bits(Keys2<Key>& x, int first, int end, const StopSign& stop) {
  for (; first < end; first += digit_bits) {
    Counts places{};
    const auto digit = [first](Key key) { return static_cast<std::size_t>(key >> first) & (Counts{}.size() - 1); };
    each_element(x.count, stop, [&](std::size_t i) { ++places[digit(x.keys[i])]; });
    take_places(places);
    each_element(x.count, stop, [&](std::size_t i) { x.other[places[digit(x.keys[i])]++] = x.keys[i]; });
    x.keys.swap(x.other);
  }
}

/// Sorts what is nearly sorted; false: it is not, and still is not.
template <class Key>
bool sort_nearly_sorted(Keys2<Key>& x, const StopSign& stop) {
  const std::size_t most = 4 * x.count;
  std::size_t moves = 0;
  Key* const keys = x.keys.get();
  for (std::size_t i = 1; i < x.count; ++i) {
    if (i % (1 << 14) == 0) stop.check();
    if (keys[i - 1] <= keys[i]) continue;
    const Key key = keys[i];
    std::size_t to = i;
    do {
      keys[to] = keys[to - 1];
    } while (--to > 0 && keys[to - 1] > key);
    keys[to] = key;
    moves += i - to;
    if (moves > most) return false;
  }
  return true;
}

/// Sorts by where numbers lie between the least and the greatest, in 2^22 steps, then what these do not tell apart. False, and
/// in any order, where they tell too little.
template <class T, class Key>
bool sort_by_place(Keys2<Key>& x, const StopSign& stop) {
  const auto [least, greatest] = std::minmax_element(x.keys.get(), x.keys.get() + x.count);
  const T low = value_of<T>(*least), scale = static_cast<T>((1 << 2 * digit_bits) - 2) / (value_of<T>(*greatest) - low);
  if (!(scale > 0) || !std::isfinite(scale)) return false;
  sort_by_rank(x, digit_bits, stop,
               [=](Key key) { return static_cast<std::uint32_t>(static_cast<std::int32_t>((value_of<T>(key) - low) * scale)); });
  return sort_nearly_sorted(x, stop);
}

/// The fewest passes that tell the keys apart: over the bits in which they differ, where these are few, as those of numbers with
/// a short significand; else by value.
template <class T, class Key>
void sort_keys(Keys2<Key>& x, const StopSign& stop) {
  Key differ = 0;
  each_element(x.count, stop, [&](std::size_t i) { differ |= x.keys[i] ^ x.keys[0]; });
  if (differ == 0) return;
  const int first = std::countr_zero(differ), end = std::bit_width(differ), bits = (end - first + 1) / 2;
  if (bits > digit_bits)
    return sort_by_place<T>(x, stop) ? void() : sort_by_bits(x, first, end, stop);
  sort_by_rank(x, bits, stop, [=](Key key) { return static_cast<std::uint32_t>(key >> first) & ((1u << 2 * bits) - 1); });
}

/// The values x as numbers of T, sorted, as numbers of X.
template <class T, class X>
std::vector<X> sorted_as(std::span<const X> x, const StopSign& stop) {
  using Key = typename Layout<T>::Bits;
  if (x.empty()) return {};
  Keys2<Key> k{std::make_unique_for_overwrite<Key[]>(x.size()), std::make_unique_for_overwrite<Key[]>(x.size()), x.size()};
  each_element(x.size(), stop, [&](std::size_t i) { k.keys[i] = key_of(static_cast<T>(x[i])); });
  sort_keys<T>(k, stop);
  std::vector<X> sorted = zeros<X>(x.size(), stop);
  each_element(x.size(), stop, [&](std::size_t i) { sorted[i] = static_cast<X>(value_of<T>(k.keys[i])); });
  return sorted;
}

}  // namespace

std::vector<double> sorted_values(const std::vector<double>& x, bool as_float, const StopSign& stop) {
  return as_float ? sorted_as<float>(std::span(x), stop) : sorted_as<double>(std::span(x), stop);
}

std::vector<float> sorted_values(std::span<const float> x, const StopSign& stop) { return sorted_as<float>(x, stop); }

}  // namespace attoscope
