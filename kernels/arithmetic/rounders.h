/// Fast rounding to a format: short sequences of operations with the same bits as `round`; the method is chosen once per step.
/// V is a scalar or a vector of lanes; T is its element type.
#pragma once

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// Method of rounding a step in working type T.
enum class RounderKind : std::uint8_t {
  none,       ///< T holds every number of the format: nothing to do
  bits,       ///< the format has T's exponents, and a mantissa: integer rounding of the bit pattern
  half,       ///< fp16 in float, by conversion instructions if the lanes have them
  magic,      ///< fewer exponents than T: add and subtract 2^k, then overflow
  slow,       ///< anything else: `round`, element by element
  stochastic  ///< `round_stochastic`, element by element
};

/// Key of one rounding. The random bits of stochastic rounding depend on row, step, i and k (key, tile or column; see the
/// callers), never on lanes or threads. `r` is the index of the vector of lanes that holds the rows.
struct RoundingKey {
  int r = 0, i = 0, k = 0;
};

/// RoundingKey of an element of O or of a tile's P.V: i is the column.
struct ColumnRoundingKey : RoundingKey {};

/// Constants of the rounding operations, derived from a Format once.
template <class T>
struct RounderPlan {
  RounderKind kind = RounderKind::none;
  Format format{};
  int dropped = 0;  ///< mantissa bits of T that the format lacks
  T largest = 0;    ///< largest finite number
  T beyond = 0;     ///< result for numbers beyond `largest`
  /// True if ShortRounder's two operations suffice while values stay far from T's limits.
  bool can_be_short = false;

  /// Mantissa bits of the rounded result.
  ATTOSCOPE_HOST_DEVICE_INLINE int mantissa_bits() const {
    return kind == RounderKind::none ? Layout<T>::mantissa_bits : format.mantissa_bits;
  }
  ATTOSCOPE_HOST_DEVICE_INLINE bool rounds() const { return kind != RounderKind::none; }
};

/// The plan for `r` with main format `main`.
template <class T>
RounderPlan<T> plan(const Rounding& r, const Format& main) {
  using L = Layout<T>;
  if (r.kind == Rounding::Kind::exact) return {};
  const Format& f = format_of(r, main);
  RounderPlan<T> p{.kind = RounderKind::slow,
                   .format = f,
                   .dropped = L::mantissa_bits - f.mantissa_bits,
                   .largest = largest<T>(f),
                   .beyond = overflowed<T>(f, false)};
  const bool plain = f.overflow == Overflow::infinity && !f.top_code_nan;
  if (plain && f.exponent_bits >= L::exponent_bits && p.dropped <= 0) {
    p.kind = RounderKind::none;
  } else if (plain && f.exponent_bits == L::exponent_bits && f.mantissa_bits > 0) {
    p.kind = RounderKind::bits;
    p.can_be_short = p.dropped >= f.mantissa_bits + 2 && !r.stochastic;
  } else if (std::is_same_v<T, float> && f == fp16) {
    p.kind = RounderKind::half;
  } else if (f.exponent_bits < L::exponent_bits && p.dropped >= 1) {
    p.kind = RounderKind::magic;
  }
  if (r.stochastic && p.kind != RounderKind::none) p.kind = RounderKind::stochastic;
  return p;
}

struct NoRounder {
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(V x, RoundingKey = {}) const {
    return x;
  }
};

/// Two operations for a short significand with T's exponents. Exact for x = 0 or 2^-100 <= |x| < 2^100, with at most 10 (float)
/// or 25 (double) mantissa bits. Loses the sign of -0, which sums starting at +0 never reach in that domain.
template <class T>
struct ShortRounder {
  static constexpr int domain = 100;
  T down, up;
  ATTOSCOPE_HOST_DEVICE_INLINE explicit ShortRounder(const RounderPlan<T>& p)
      : down(power_of_two<T>(p.dropped) - 1), up(power_of_two<T>(p.dropped)) {}

  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(V x, RoundingKey = {}) const {
    const V y = x * down;
    return fused_of_exact_product(x, splat<V>(up), -y);
  }
};

/// Rounds half to even on the bit pattern: carries run into the exponent, subnormals share T's spacing, overflow is infinity.
template <class T>
struct BitsRounder {
  using Bits = typename Layout<T>::Bits;
  int dropped;
  ATTOSCOPE_HOST_DEVICE_INLINE explicit BitsRounder(const RounderPlan<T>& p) : dropped(p.dropped) {}

  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(V x, RoundingKey = {}) const {
    using UInt = typename Lane<V>::UInt;  // unsigned: the addition may overflow for NaN
    const UInt u = bit_as<UInt>(x);
    const UInt odd = (u >> dropped) & Bits{1};
    const UInt kept = (u + odd + ((Bits{1} << (dropped - 1)) - 1)) & ~((Bits{1} << dropped) - 1);
    return x != x ? x : bit_as<V>(kept);
  }
};

/// |x| + c - c with c = 2^(T's mantissa bits) * the format's spacing at x: the last bit of |x| + c equals that spacing.
template <class T>
struct MagicRounder {
  using Element = typename Lane<T>::Int;
  Element lowest, highest, lift;
  T largest, beyond;
  ATTOSCOPE_HOST_DEVICE_INLINE explicit MagicRounder(const RounderPlan<T>& p)
      : lowest(static_cast<Element>(min_exponent(p.format) + Layout<T>::max_exponent) << Layout<T>::mantissa_bits),
        highest(static_cast<Element>(max_exponent(p.format) + 1 + Layout<T>::max_exponent) << Layout<T>::mantissa_bits),
        lift(static_cast<Element>(p.dropped) << Layout<T>::mantissa_bits),
        largest(p.largest),
        beyond(p.beyond) {}

  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(V x, RoundingKey = {}) const {
    using L = Layout<T>;
    using Int = typename Lane<V>::Int;
    const Int u = bits_of(x), sign = u & static_cast<Element>(L::sign);
    const Int magnitude = u ^ sign;
    Int exponent = magnitude & static_cast<Element>(L::infinity);
    exponent = exponent < lowest ? Int{} + lowest : exponent;
    exponent = exponent > highest ? Int{} + highest : exponent;
    const V c = from_bits<V>(exponent + lift);
    V y = (from_bits<V>(magnitude) + c) - c;
    y = y > largest ? splat<V>(beyond) : y;
    return from_bits<V>(bits_of(y) | sign);
  }
};

}  // namespace attoscope
