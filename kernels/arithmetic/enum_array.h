/// Arrays with an element for each value of an enumeration.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace attoscope {

/// True if `value` is an enumerator. Compilers print one as "Mask::Kind::none" and any other number as "(Mask::Kind)7".
template <auto value>
consteval bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find_first_not_of(" ", text.rfind('=') + 1);
  return text[begin] != '(' && text[begin] != '-' && (text[begin] < '0' || text[begin] > '9');
}
/// Number of enumerators of E, which count from 0 without gaps; at least `least`, at most `most`. Halving asks about few
/// numbers.
template <class E, std::size_t least = 0, std::size_t most = 64>
consteval std::size_t enum_count() {
  constexpr std::size_t middle = (least + most) / 2;
  static_assert(middle < 64, "an enumeration of at most 63 enumerators was expected");
  if constexpr (least == most)
    return least;
  else if constexpr (is_enumerator<static_cast<E>(middle)>())
    return enum_count<E, middle + 1, most>();
  else
    return enum_count<E, least, middle>();
}

/// True if a table has a row for each enumerator, and row i describes enumerator i.
template <class Rows, class Row, class Enum>
constexpr bool is_in_order(const Rows& rows, Enum Row::* described) {
  if (rows.size() != enum_count<Enum>()) return false;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].*described != static_cast<Enum>(i)) return false;
  return true;
}

/// One element for each enumerator of E, in order. A wrong number of elements does not compile.
template <class E, class T = std::string_view>
struct EnumArray : std::array<T, enum_count<E>()> {
  using Base = std::array<T, enum_count<E>()>;

  template <class... X>
    requires(sizeof...(X) == enum_count<E>() && (std::is_convertible_v<X, T> && ...))
  constexpr EnumArray(X... elements) : Base{elements...} {}
  /// Constructs from an array of structs.
  template <std::size_t n>
    requires(n == enum_count<E>() && std::is_aggregate_v<T>)
  constexpr EnumArray(const T (&rows)[n]) {
    for (std::size_t i = 0; i < n; ++i) Base::operator[](i) = rows[i];
  }

  using Base::operator[];
  constexpr const T& operator[](E value) const { return Base::operator[](static_cast<std::size_t>(value)); }
  /// The enumerator with this element; nullopt if there is none.
  constexpr std::optional<E> value_of(const T& element) const {
    for (std::size_t i = 0; i < this->size(); ++i)
      if (Base::operator[](i) == element) return static_cast<E>(i);
    return std::nullopt;
  }
};

}  // namespace attoscope
