/// std::from_chars of floating-point numbers for libc++ before 20, which has it only for integers. Every source of the build
/// for browsers includes this first.
#pragma once

#ifdef __cplusplus
#include <charconv>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace attoscope::app::web {

/// The end of the number at the front of a text; `first` if there is none.
inline const char* end_of_number(const char* first, const char* last) {
  const char* at = first;
  const auto digits = [&] {
    const char* const begin = at;
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at != begin;
  };
  const auto take = [&](std::string_view signs) { return at != last && signs.find(*at) != signs.npos && (++at, true); };
  const auto take_word = [&](std::string_view word) {
    const std::string_view rest = std::string_view(at, static_cast<std::size_t>(last - at)).substr(0, word.size());
    const bool there = std::ranges::equal(rest, word, [](char c, char small) { return (c | 0x20) == small; });
    if (there) at += word.size();
    return there;
  };
  take("-");
  if (take_word("infinity") || take_word("inf") || take_word("nan")) return at;
  const bool whole = digits(), fraction = take(".") && digits();
  if (!whole && !fraction) return first;
  const char* const mantissa = at;
  if (!take("eE")) return at;
  take("+-");
  return digits() ? at : mantissa;
}

/// Reads by strtof or strtod, which round correctly in this C library, whose only locale is C.
template <class T>
std::from_chars_result from_chars(const char* first, const char* last, T& value) {
  const char* const end = end_of_number(first, last);
  if (end == first) return {first, std::errc::invalid_argument};
  const std::string text(first, end);
  T found{};
  if constexpr (std::is_same_v<T, float>)
    found = std::strtof(text.c_str(), nullptr);
  else
    found = std::strtod(text.c_str(), nullptr);
  const bool is_word = text.find_first_of("nN") != text.npos;  // inf, nan
  const bool not_zero = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != text.npos;
  if ((!is_word && std::isinf(found)) || (not_zero && found == 0)) return {end, std::errc::result_out_of_range};
  value = found;
  return {end, {}};
}

}  // namespace attoscope::app::web

namespace std {
inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  return attoscope::app::web::from_chars(first, last, value);
}
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  return attoscope::app::web::from_chars(first, last, value);
}
}  // namespace std
#endif
#endif
