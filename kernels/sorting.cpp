#include "kernels/sorting.h"

#include <array>
#include <utility>

#include "kernels/format.h"

namespace attoscope {
namespace {

constexpr int digit_bits = 11, digits = 1 << digit_bits;

/// Bits whose unsigned order is the numbers' order, and back.
template <class T>
typename Layout<T>::Bits key_of(T x) {
  using L = Layout<T>;
  const auto u = bit_as<typename L::Bits>(x);
  return (u & L::sign) != 0 ? ~u : u | L::sign;
}
template <class T>
T value_of(typename Layout<T>::Bits key) {
  using L = Layout<T>;
  return bit_as<T>((key & L::sign) != 0 ? key ^ L::sign : ~key);
}

/// Least significant digit first, all histograms in one reading; digits that all keys share are skipped.
template <class Key>
void radix_sort(std::vector<Key>& keys) {
  constexpr int passes = (sizeof(Key) * 8 + digit_bits - 1) / digit_bits;
  std::vector<std::array<std::uint32_t, digits>> counts(passes);
  for (const Key key : keys)
    for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][(key >> (p * digit_bits)) & (digits - 1)];
  std::vector<Key> other(keys.size());
  for (int p = 0; p < passes; ++p) {
    auto& count = counts[static_cast<std::size_t>(p)];
    if (count[(keys.front() >> (p * digit_bits)) & (digits - 1)] == keys.size()) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& c : count) start += std::exchange(c, start);
    for (const Key key : keys) other[count[(key >> (p * digit_bits)) & (digits - 1)]++] = key;
    keys.swap(other);
  }
}

template <class T>
std::vector<double> sorted_as(const std::vector<double>& x) {
  std::vector<typename Layout<T>::Bits> keys(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) keys[i] = key_of(static_cast<T>(x[i]));
  radix_sort(keys);
  std::vector<double> sorted(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sorted[i] = static_cast<double>(value_of<T>(keys[i]));
  return sorted;
}

}  // namespace

std::vector<double> sorted_values(const std::vector<double>& x, bool as_float) {
  if (x.empty()) return {};
  return as_float ? sorted_as<float>(x) : sorted_as<double>(x);
}

}  // namespace attoscope
