/// Formulas that a reader types: numbers, names, + - * / max exp and parentheses, in double.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attoscope {

inline constexpr std::size_t longest_expression = 200;  ///< in bytes
inline constexpr int deepest_expression = 32;           ///< parentheses, functions and signs within each other

/// The value of a formula where each name has the value at its place. Greek letters may be spelled out: alpha for α. The dot ·
/// multiplies as * does. Throws std::invalid_argument in one sentence that says at which character, counted from 1.
double evaluated(std::string_view text, std::span<const std::string> names, std::span<const double> values);

}  // namespace attoscope
