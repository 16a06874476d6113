/// Formulas typed by a reader: numbers, names, + - * / max exp and parentheses, in double.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attoscope {

inline constexpr std::size_t longest_expression = 200;  ///< in bytes
inline constexpr int deepest_expression = 32;           ///< nested parentheses, functions and signs

/// Value of a formula; names[i] has the value values[i]. Greek letters may be spelled out: alpha for α. The dot · multiplies as
/// * does. Throws std::invalid_argument with one sentence that names the position of the wrong character, counted from 1.
double evaluated(std::string_view text, std::span<const std::string> names, std::span<const double> values);

}  // namespace attoscope
