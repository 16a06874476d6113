#include "kernels/questions/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/arithmetic/quoted.h"

namespace attoscope {
namespace {

constexpr std::string_view dot = "\xc2\xb7";
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> spelled{{{"alpha", "α"}, {"beta", "β"}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '\'' || c == '~'; }

}  // namespace

/// Reads an expression from its first character to its last, by recursive descent.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

  std::vector<Expression::Operation> read() {
    if (text_.size() > longest_expression)
      throw std::invalid_argument("the expression has " + std::to_string(text_.size()) + " bytes, expected at most " +
                                  std::to_string(longest_expression));
    sum();
    if (!at_end()) refuse("+ - * / or the end");
    return std::move(operations_);
  }

 private:
  using Kind = Expression::Kind;

  void sum() {
    product();
    while (!at_end() && (text_[at_] == '+' || text_[at_] == '-')) {
      const Kind kind = text_[at_++] == '+' ? Kind::add : Kind::subtract;
      product();
      operations_.push_back({.kind = kind});
    }
  }
  void product() {
    factor();
    while (!at_end() && (text_[at_] == '*' || text_[at_] == '/' || text_.substr(at_).starts_with(dot))) {
      const Kind kind = text_[at_] == '/' ? Kind::divide : Kind::multiply;
      at_ += text_[at_] == '*' || text_[at_] == '/' ? 1 : dot.size();
      factor();
      operations_.push_back({.kind = kind});
    }
  }
  void factor() {
    if (++depth_ > deepest_expression)
      throw std::invalid_argument("the expression is nested too deeply" + place() + ", expected at most " +
                                  std::to_string(deepest_expression) + " levels");
    if (at_end()) refuse("a number, a name or a parenthesis");
    if (take('-')) {
      factor();
      operations_.push_back({.kind = Kind::negate});
    } else if (take('(')) {
      sum();
      close();
    } else if (is_digit(text_[at_]) || text_[at_] == '.') {
      number();
    } else if (begins_name(text_[at_]) && !text_.substr(at_).starts_with(dot)) {
      name();
    } else {
      refuse("a number, a name or a parenthesis");
    }
    --depth_;
  }
  void number() {
    double x = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), x);
    if (error != std::errc{}) refuse("a number such as 0.5");
    at_ += static_cast<std::size_t>(stop - begin);
    operations_.push_back({.kind = Kind::number, .number = x});
  }
  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_]) && !text_.substr(at_).starts_with(dot)) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "exp" || word == "max") return function(word);
    const auto* const letter = std::ranges::find(spelled, word, &std::pair<std::string_view, std::string_view>::first);
    const auto found = std::ranges::find(names_, letter == spelled.end() ? word : letter->second);
    if (found == names_.end()) {
      at_ = begin;
      throw std::invalid_argument(in_quotes(word) + " is no name here" + place() + ", expected one of " + listed());
    }
    operations_.push_back({.kind = Kind::name, .name = static_cast<std::size_t>(found - names_.begin())});
  }
  void function(std::string_view word) {
    if (!take('(')) refuse("a parenthesis after " + std::string(word));
    sum();
    while (word == "max" && take(',')) {
      sum();
      operations_.push_back({.kind = Kind::maximum});
    }
    close();
    if (word == "exp") operations_.push_back({.kind = Kind::exponential});
  }
  void close() {
    if (!take(')')) refuse("a closing parenthesis");
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
  std::string listed() const {
    std::string text;
    for (const std::string& known : names_) text += (text.empty() ? "" : ", ") + known;
    return text;
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Expression::Operation> operations_;
};

Expression::Expression(std::string_view text, std::span<const std::string> names)
    : operations_(ExpressionReader(text, names).read()) {}

double Expression::operator()(std::span<const double> values) const {
  std::vector<double> stack;
  const auto two = [&](auto join) {
    const double right = stack.back();
    stack.pop_back();
    stack.back() = join(stack.back(), right);
  };
  for (const Operation& o : operations_) switch (o.kind) {
      case Kind::number:
        stack.push_back(o.number);
        break;
      case Kind::name:
        stack.push_back(values[o.name]);
        break;
      case Kind::negate:
        stack.back() = -stack.back();
        break;
      case Kind::exponential:
        stack.back() = std::exp(stack.back());
        break;
      case Kind::add:
        two([](double x, double y) { return x + y; });
        break;
      case Kind::subtract:
        two([](double x, double y) { return x - y; });
        break;
      case Kind::multiply:
        two([](double x, double y) { return x * y; });
        break;
      case Kind::divide:
        two([](double x, double y) { return x / y; });
        break;
      case Kind::maximum:
        two([](double x, double y) { return x > y ? x : y; });
        break;
    }
  return stack.back();
}

}  // namespace attoscope
