/// Formulas that a reader types: numbers, names, + - * / max exp and parentheses, in double.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

inline constexpr std::size_t longest_expression = 200;  ///< in bytes
inline constexpr int deepest_expression = 32;           ///< parentheses, functions and signs within each other

/// A formula over names. Greek letters may be spelled out: alpha for α. The dot · multiplies as * does.
class Expression {
 public:
  /// Throws std::invalid_argument in one sentence with the place of the error, in characters counted from 1.
  Expression(std::string_view text, std::span<const std::string> names);
  /// The value if each name, in the order given, has one of `values`.
  double operator()(std::span<const double> values) const;

 private:
  friend class ExpressionReader;
  /// A number, a name by its place, or a function of the one or two values that were left before.
  struct Operation {
    double number = 0;
    std::optional<std::size_t> name{};
    double (*of_one)(double) = nullptr;
    double (*of_two)(double, double) = nullptr;
  };
  std::vector<Operation> operations_;  ///< in postfix order
};

}  // namespace attoscope
