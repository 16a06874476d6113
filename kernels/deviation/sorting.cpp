#include "kernels/deviation/sorting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/lanes/job.h"

namespace attoscope {
namespace {

/// Number of values for each digit of `digit_bits` bits.
template <int digit_bits>
using Counts = std::array<std::uint32_t, 1 << digit_bits>;

/// Converts counts to the first place of each digit.
template <std::size_t size>
void take_places(std::array<std::uint32_t, size>& counts) {
  std::uint32_t start = 0;
  for (std::uint32_t& c : counts) start += std::exchange(c, start);
}

/// Counts of the ranks with each of two digits, then the next free place of each. The loops are separate functions: inlined
/// next to a check of the stop sign, they would load the rank's constants from memory for each number.
template <int digit_bits>
struct Digits {
  static constexpr std::uint32_t mask = (1u << digit_bits) - 1;
  std::array<Counts<digit_bits>, 2> places{};

  template <class T, class Rank>
  [[gnu::noinline]] void count(const T* x, const T* end, Rank rank) {
    for (; x != end; ++x) {
      const std::uint32_t r = rank(*x);
      ++places[0][r & mask];
      ++places[1][r >> digit_bits];
    }
  }
  /// Moves each number to the place of its digit; digit 0 is the lower one.
  template <int digit, class T, class Rank>
  [[gnu::noinline]] void place(const T* x, const T* end, Rank rank, T* to) {
    for (; x != end; ++x) to[places[digit][digit == 0 ? rank(*x) & mask : rank(*x) >> digit_bits]++] = *x;
  }
};

/// Sorts x by the two digits of rank(x), the lower one first.
template <int digit_bits, class T, class Rank>
std::vector<T> sorted_by_rank(std::span<const T> x, const StopSign& stop, Rank rank) {
  Digits<digit_bits> digits;
  each_range(x.size(), stop, [&](std::size_t first, std::size_t end) { digits.count(x.data() + first, x.data() + end, rank); });
  for (Counts<digit_bits>& c : digits.places) take_places(c);
  const auto half = std::make_unique_for_overwrite<T[]>(x.size());
  each_range(x.size(), stop, [&](std::size_t first, std::size_t end) {
    digits.template place<0>(x.data() + first, x.data() + end, rank, half.get());
  });
  std::vector<T> y = zeros<T>(x.size(), stop);
  each_range(x.size(), stop, [&](std::size_t first, std::size_t end) {
    digits.template place<1>(half.get() + first, half.get() + end, rank, y.data());
  });
  return y;
}

/// Sorts values that are nearly sorted; returns false, with x partly sorted, if they are not.
template <class T>
bool sort_nearly_sorted(std::vector<T>& x, const StopSign& stop) {
  const std::size_t most = 4 * x.size();
  std::size_t moves = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (i % (1 << 14) == 0) stop.check();
    if (!(x[i - 1] > x[i])) continue;
    const T value = x[i];
    std::size_t to = i;
    do {
      x[to] = x[to - 1];
    } while (--to > 0 && x[to - 1] > value);
    x[to] = value;
    moves += i - to;
    if (moves > most) return false;
  }
  return true;
}

/// Bounds of the magnitudes of some numbers, as bits: all are multiples of 2^low; the least other than 0; the greatest.
template <class T>
struct Magnitude {
  using Bits = typename Layout<T>::Bits;
  int low = 0;
  Bits least = 0, greatest = 0;

  Magnitude(std::span<const T> x, const StopSign& stop) {
    constexpr Bits size = Layout<T>::sign - 1;
    Bits all = 0, below = size;  // below: the least, minus 1
    if constexpr (std::is_same_v<T, double>) {
      const InstructionSet isa = instruction_set(stop.isa);
      each_range(x.size(), stop, [&](std::size_t first, std::size_t end) {
        const BitsOfMagnitudes found = isa.magnitudes(x.data() + first, end - first);
        all |= found.all;
        below = std::min(below, found.below);
        greatest = std::max(greatest, found.greatest);
      });
    } else {
      each_element(x.size(), stop, [&](std::size_t i) {
        const Bits bits = bit_as<Bits>(x[i]) & size;
        all |= bits;
        below = std::min(below, (bits - 1) & size);
        greatest = std::max(greatest, bits);
      });
    }
    low = all == 0 ? 0 : std::countr_zero(all);
    least = all == 0 ? 0 : below + 1;
  }
  /// Number of possible values of one sign, 0 included.
  Bits count() const { return (greatest >> low) - (least >> low) + 2; }
  /// Index of a magnitude, 0 for 0; and the value of an index.
  Bits number(Bits bits) const { return bits == 0 ? 0 : (bits >> low) - (least >> low) + 1; }
  T value(Bits number) const { return number == 0 ? T(0) : bit_as<T>(((number - 1) + (least >> low)) << low); }
};

/// Sorts by counting each value; every 0 becomes +0.
template <class T>
std::vector<T> sorted_by_counting(std::span<const T> x, const Magnitude<T>& m, const StopSign& stop) {
  using Bits = typename Layout<T>::Bits;
  const std::size_t zero = m.count() - 1;
  std::vector<std::uint32_t> counts(2 * zero + 1);
  each_element(x.size(), stop, [&](std::size_t i) {
    const Bits bits = bit_as<Bits>(x[i]);
    const std::size_t number = m.number(bits & (Layout<T>::sign - 1));
    ++counts[(bits & Layout<T>::sign) != 0 ? zero - number : zero + number];
  });
  std::vector<T> y;
  y.reserve(x.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) y.insert(y.end(), counts[i], i < zero ? -m.value(zero - i) : m.value(i - zero));
  return y;
}

/// Sorts by the bits of the keys, two digits at a time, the lowest ones first.
template <class T>
std::vector<T> sorted_by_bits(std::span<const T> x, const StopSign& stop) {
  constexpr int digit_bits = 11;
  std::vector<T> y(x.begin(), x.end());
  for (int first = 0; first < static_cast<int>(8 * sizeof(T)); first += 2 * digit_bits)
    y = sorted_by_rank<digit_bits>(std::span<const T>(y), stop, [=](T v) {
      return static_cast<std::uint32_t>(key_of(v) >> first) & ((1u << 2 * digit_bits) - 1);
    });
  return y;
}

/// Sorts into 2^(2 digit_bits) equal intervals of the range, then within each; sorts by bits if intervals are crowded.
template <int digit_bits, class T>
std::vector<T> sorted_by_place(std::span<const T> x, const Magnitude<T>& m, const StopSign& stop) {
  constexpr int middle = 1 << (2 * digit_bits - 1);
  const T scale = T(middle - 1) / bit_as<T>(m.greatest);
  if (!(scale > 0) || !std::isfinite(scale)) return sorted_by_bits(x, stop);
  std::vector<T> y = sorted_by_rank<digit_bits>(
      x, stop, [=](T v) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(v * scale + T(middle))); });
  return sort_nearly_sorted(y, stop) ? y : sorted_by_bits(x, stop);
}

/// Counting sort if there are few possible values (short significands), else bucket sort with about 16 buckets per value; fewer
/// buckets (10-bit digits) keep the write positions of short arrays in cache.
template <class T>
std::vector<T> sorted(std::span<const T> x, const StopSign& stop) {
  const Magnitude<T> m(x, stop);
  if (m.count() <= x.size() / 2) return sorted_by_counting(x, m, stop);
  return x.size() <= 1 << 17 ? sorted_by_place<10>(x, m, stop) : sorted_by_place<11>(x, m, stop);
}

}  // namespace

std::vector<double> sorted_values(std::span<const double> x, const StopSign& stop) { return sorted(x, stop); }
std::vector<float> sorted_values(std::span<const float> x, const StopSign& stop) { return sorted(x, stop); }

}  // namespace attoscope
