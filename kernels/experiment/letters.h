/// ASCII letters and digits in every locale: the window's libraries set the user's locale, which may have other letters.
#pragma once

#include <algorithm>
#include <string>

namespace attoscope {

constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return is_capital(c) || (c >= 'a' && c <= 'z'); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

constexpr char small_letter(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char capital_letter(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// `text` in small letters (ASCII).
inline std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), small_letter);
  return text;
}
inline std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), capital_letter);
  return text;
}

}  // namespace attoscope
