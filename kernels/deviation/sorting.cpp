#include "kernels/deviation/sorting.h"

#include <array>
#include <utility>

namespace attoscope {
namespace {

constexpr int digit_bits = 11, digits = 1 << digit_bits;

/// Least significant digit first, all histograms in one pass; digits that all keys share are skipped.
template <class Key>
void radix_sort(std::vector<Key>& keys, const StopSign& stop) {
  constexpr int passes = (sizeof(Key) * 8 + digit_bits - 1) / digit_bits;
  std::vector<std::array<std::uint32_t, digits>> counts(passes);
  each_element(keys.size(), stop, [&](std::size_t i) {
    for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][(keys[i] >> (p * digit_bits)) & (digits - 1)];
  });
  std::vector<Key> other = zeros<Key>(keys.size(), stop);
  for (int p = 0; p < passes; ++p) {
    auto& count = counts[static_cast<std::size_t>(p)];
    if (count[(keys.front() >> (p * digit_bits)) & (digits - 1)] == keys.size()) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& c : count) start += std::exchange(c, start);
    each_element(keys.size(), stop,
                 [&](std::size_t i) { other[count[(keys[i] >> (p * digit_bits)) & (digits - 1)]++] = keys[i]; });
    keys.swap(other);
  }
}

/// The values x as numbers of T, sorted, as numbers of X.
template <class T, class X>
std::vector<X> sorted_as(std::span<const X> x, const StopSign& stop) {
  if (x.empty()) return {};
  auto keys = zeros<typename Layout<T>::Bits>(x.size(), stop);
  each_element(x.size(), stop, [&](std::size_t i) { keys[i] = key_of(static_cast<T>(x[i])); });
  radix_sort(keys, stop);
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
