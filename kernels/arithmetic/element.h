/// The elements of scaled tensors: small floats and integers without infinities, which saturate.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/arithmetic/rounders.h"

namespace attoscope {

/// Storage format of a scaled tensor's elements. Numbers beyond the largest become the largest; NaN stays NaN.
struct Element {
  enum class Kind : std::uint8_t {
    none,     ///< the tensor is not scaled
    format,   ///< the finite numbers of `format`
    finite,   ///< every code of `format` is a number, as in OCP MX's e2m1, e2m3 and e3m2
    integer,  ///< -(2^(bits-1) - 1) .. 2^(bits-1) - 1
  };
  Kind kind = Kind::none;
  Format format{};  ///< for `format` and `finite`
  int bits = 8;     ///< for `integer`

  friend constexpr bool operator==(const Element& x, const Element& y) {
    if (x.kind != y.kind || x.kind == Kind::none) return x.kind == y.kind;
    return x.kind == Kind::integer ? x.bits == y.bits : x.format == y.format;
  }
};

inline constexpr Element element_e2m1{Element::Kind::finite, {2, 1}, 4}, element_e2m3{Element::Kind::finite, {2, 3}, 6},
    element_e3m2{Element::Kind::finite, {3, 2}, 6}, element_e4m3{Element::Kind::format, e4m3, 8},
    element_e5m2{Element::Kind::format, e5m2, 8}, element_int8{Element::Kind::integer, {}, 8},
    element_int4{Element::Kind::integer, {}, 4};

/// A named element; the table has the order of menus.
struct NamedElement {
  std::string_view name;
  Element element;
};
inline constexpr std::array<NamedElement, 7> named_elements{{{"int8", element_int8},
                                                             {"int4", element_int4},
                                                             {"e4m3", element_e4m3},
                                                             {"e5m2", element_e5m2},
                                                             {"e3m2", element_e3m2},
                                                             {"e2m3", element_e2m3},
                                                             {"e2m1", element_e2m1}}};

/// Limits of an element. Few exponent bits keep every operation of its rounding far from float's limits.
inline constexpr int max_element_exponent_bits = 5, min_element_bits = 2, max_element_bits = 8;

/// The largest number of an element: 448 for e4m3, 6 for e2m1, 127 for int8.
constexpr double largest(const Element& e) {
  if (e.kind == Element::Kind::integer) return (1 << (e.bits - 1)) - 1;
  if (e.kind == Element::Kind::format) return largest<double>(e.format);
  return (2 - power_of_two<double>(-e.format.mantissa_bits)) * power_of_two<double>(max_exponent(e.format) + 1);
}
/// floor(log2(largest(e))).
constexpr int largest_exponent(const Element& e) { return exponent_of<double>(bit_as<std::uint64_t>(largest(e))); }

/// Bits of an element.
constexpr int bits_of_element(const Element& e) {
  return e.kind == Element::Kind::integer ? e.bits : 1 + e.format.exponent_bits + e.format.mantissa_bits;
}
/// Stored bits of an element's significand, without the hidden bit.
constexpr int mantissa_bits(const Element& e) { return e.kind == Element::Kind::integer ? e.bits - 1 : e.format.mantissa_bits; }

/// The rounder plan of an element that is not an integer.
template <class T>
constexpr RounderPlan<T> plan(const Element& e) {
  return {.kind = RounderKind::magic,
          .format = e.format,
          .dropped = Layout<T>::mantissa_bits - e.format.mantissa_bits,
          .largest = static_cast<T>(largest(e)),
          .beyond = static_cast<T>(largest(e))};
}

/// Rounding of ties to an integer element.
enum class Tie : std::uint8_t { even, away };

/// Rounds numbers to one element; the method is chosen once, to keep loops over many numbers short.
template <class T>
class ElementRounder {
 public:
  explicit ElementRounder(const Element& e, Tie tie = Tie::even)
      : is_integer_(e.kind == Element::Kind::integer),
        away_(tie == Tie::away),
        most_(static_cast<T>(largest(e))),
        magic_(is_integer_ ? RounderPlan<T>{.format = fp16} : plan<T>(e)) {}

  /// Rounds x[0] .. x[count - 1] in place.
  void operator()(T* x, std::size_t count) const {
    if (!is_integer_) {
      for (std::size_t i = 0; i < count; ++i) x[i] = magic_(x[i]);
    } else if (away_) {
      for (std::size_t i = 0; i < count; ++i) x[i] = cut(x[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) x[i] = even(x[i]);
    }
  }

  /// The element nearest to x. Ties to even, or away from 0 for integers: x + 1/2, summed in T, cut towards 0.
  T operator()(T x) const { return !is_integer_ ? magic_(x) : away_ ? cut(x) : even(x); }

 private:
  T bounded(T x) const { return x > most_ ? most_ : (x < -most_ ? -most_ : x); }
  T even(T x) const {
    constexpr T c = T(1.5) * power_of_two<T>(Layout<T>::mantissa_bits);
    return (bounded(x) + c) - c;
  }
  /// x +- 1/2 cut towards 0; NaN stays NaN.
  T cut(T x) const {
    const T y = bounded(x), half = y < 0 ? y - T(0.5) : y + T(0.5);
    const auto whole = static_cast<T>(static_cast<std::int32_t>(half != half ? T(0) : half));
    return half != half ? half : whole;
  }

  bool is_integer_, away_;
  T most_;
  MagicRounder<T> magic_;
};

/// "int8", "e2m1", "e4m3": the text that `parse_element` reads back.
std::string name(const Element& e);
/// Parses intN (N 2..8), e2m1, e2m3, e3m2 (OCP MX), or any format with up to five exponent bits. Throws std::invalid_argument
/// with one sentence.
Element parse_element(std::string_view text);

}  // namespace attoscope
