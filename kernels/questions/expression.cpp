#include "kernels/questions/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/setting.h"

namespace attoscope {
namespace {

constexpr std::string_view dot = "\xc2\xb7";
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> spelled{{{"alpha", "α"}, {"beta", "β"}}};

bool begins_name(char c) { return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '\'' || c == '~'; }

/// Evaluates an expression by recursive descent.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::span<const std::string> names, std::span<const double> values)
      : text_(text), names_(names), values_(values) {}

  double read() {
    if (text_.size() > longest_expression)
      throw std::invalid_argument("the expression has " + std::to_string(text_.size()) + " bytes, expected at most " +
                                  std::to_string(longest_expression));
    const double value = sum();
    if (!at_end()) refuse("+ - * / or the end");
    return value;
  }

 private:
  double sum() {
    double value = product();
    while (!at_end() && (text_[at_] == '+' || text_[at_] == '-')) {
      const double sign = text_[at_++] == '+' ? 1 : -1;
      value += sign * product();
    }
    return value;
  }
  double product() {
    double value = factor();
    while (!at_end() && (text_[at_] == '*' || text_[at_] == '/' || text_.substr(at_).starts_with(dot))) {
      const bool divides = text_[at_] == '/';
      at_ += divides || text_[at_] == '*' ? 1 : dot.size();
      const double by = factor();
      value = divides ? value / by : value * by;
    }
    return value;
  }
  double factor() {
    if (++depth_ > deepest_expression)
      throw std::invalid_argument("the expression is nested too deeply" + place() + ", expected at most " +
                                  std::to_string(deepest_expression) + " levels");
    if (at_end()) refuse("a number, a name or a parenthesis");
    const double value = take('-') ? -factor() : take('(') ? closed(sum()) : number_or_name();
    --depth_;
    return value;
  }
  double number_or_name() {
    if (is_digit(text_[at_]) || text_[at_] == '.') return number();
    if (begins_name(text_[at_]) && !text_.substr(at_).starts_with(dot)) return name();
    refuse("a number, a name or a parenthesis");
  }
  double number() {
    double x = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), x);
    if (error != std::errc{}) refuse("a number such as 0.5");
    at_ += static_cast<std::size_t>(stop - begin);
    return x;
  }
  double name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_]) && !text_.substr(at_).starts_with(dot)) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "exp" || word == "max") return function(word);
    const auto* const letter = std::ranges::find(spelled, word, &std::pair<std::string_view, std::string_view>::first);
    const auto found = std::ranges::find(names_, letter == spelled.end() ? word : letter->second);
    if (found != names_.end()) return values_[static_cast<std::size_t>(found - names_.begin())];
    at_ = begin;
    throw std::invalid_argument(in_quotes(word) + " is no name here" + place() + ", expected one of " + listed(names_, ", "));
  }
  double function(std::string_view word) {
    if (!take('(')) refuse("a parenthesis after " + std::string(word));
    double value = sum();
    while (word == "max" && take(',')) {
      const double other = sum();
      value = value > other ? value : other;
    }
    return word == "exp" ? std::exp(closed(value)) : closed(value);
  }
  double closed(double value) {
    if (!take(')')) refuse("a closing parenthesis");
    return value;
  }

  bool at_end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// " at character 5".
  std::string place() const {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
    return " at character " + std::to_string(std::ranges::count_if(text_.substr(0, at_), begins) + 1);
  }
  [[noreturn]] void refuse(const std::string& expected) {
    const bool ends = at_end();
    const std::size_t bytes = ends ? 0 : decoded(text_, at_).value_or(Decoded{}).bytes;
    throw std::invalid_argument((ends ? "the expression ends" : "there is " + in_quotes(text_.substr(at_, bytes))) + place() +
                                ", expected " + expected);
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::span<const double> values_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluated(std::string_view text, std::span<const std::string> names, std::span<const double> values) {
  return ExpressionReader(text, names, values).read();
}

}  // namespace attoscope
