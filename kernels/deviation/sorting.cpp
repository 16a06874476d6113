#include "kernels/deviation/sorting.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attoscope {
namespace {

constexpr int digit_bits = 11, digits = 1 << digit_bits;
template <class Key>
constexpr int digit_count = (sizeof(Key) * 8 + digit_bits - 1) / digit_bits;

/// Sorts by the digits from `first` on, the least significant first, all histograms in one pass; digits that all keys share are
/// skipped.
template <class Key>
void radix_sort(std::vector<Key>& keys, int first, const StopSign& stop) {
  std::vector<std::array<std::uint32_t, digits>> counts(digit_count<Key>);
  each_element(keys.size(), stop, [&](std::size_t i) {
    for (int p = first; p < digit_count<Key>; ++p)
      ++counts[static_cast<std::size_t>(p)][(keys[i] >> (p * digit_bits)) & (digits - 1)];
  });
  std::vector<Key> other = zeros<Key>(keys.size(), stop);
  for (int p = first; p < digit_count<Key>; ++p) {
    auto& count = counts[static_cast<std::size_t>(p)];
    if (count[(keys.front() >> (p * digit_bits)) & (digits - 1)] == keys.size()) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& c : count) start += std::exchange(c, start);
    each_element(keys.size(), stop,
                 [&](std::size_t i) { other[count[(keys[i] >> (p * digit_bits)) & (digits - 1)]++] = keys[i]; });
    keys.swap(other);
  }
}

void sort_keys(std::vector<std::uint32_t>& keys, const StopSign& stop) { radix_sort(keys, 0, stop); }

/// By the upper digits alone, which tell nearly all numbers apart; then what they do not, if it is little.
void sort_keys(std::vector<std::uint64_t>& keys, const StopSign& stop) {
  constexpr int upper = digit_count<std::uint64_t> / 2;
  constexpr std::size_t little = 64;
  const auto same = [&](std::size_t i, std::size_t j) {
    return keys[i] >> (upper * digit_bits) == keys[j] >> (upper * digit_bits);
  };
  radix_sort(keys, upper, stop);
  for (std::size_t i = 0; i + 1 < keys.size();) {
    if (i % (1 << 14) == 0) stop.check();
    std::size_t end = i + 1;
    while (end < keys.size() && same(i, end) && end - i <= little) ++end;
    if (end - i > little) return radix_sort(keys, 0, stop);
    if (end - i > 1) std::sort(keys.begin() + static_cast<std::ptrdiff_t>(i), keys.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
}

/// The values x as numbers of T, sorted, as numbers of X.
template <class T, class X>
std::vector<X> sorted_as(std::span<const X> x, const StopSign& stop) {
  if (x.empty()) return {};
  auto keys = zeros<typename Layout<T>::Bits>(x.size(), stop);
  each_element(x.size(), stop, [&](std::size_t i) { keys[i] = key_of(static_cast<T>(x[i])); });
  sort_keys(keys, stop);
  std::vector<X> sorted = zeros<X>(x.size(), stop);
  each_element(x.size(), stop, [&](std::size_t i) { sorted[i] = static_cast<X>(value_of<T>(keys[i])); });
  return sorted;
}

}  // namespace

std::vector<double> sorted_values(const std::vector<double>& x, bool as_float, const StopSign& stop) {
  return as_float ? sorted_as<float>(std::span(x), stop) : sorted_as<double>(std::span(x), stop);
}

std::vector<float> sorted_values(std::span<const float> x, const StopSign& stop) { return sorted_as<float>(x, stop); }

}  // namespace attoscope
