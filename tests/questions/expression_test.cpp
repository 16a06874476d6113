// Formulas that a reader types: their values, errors with their places, and random formulas against C++.
#include "kernels/questions/expression.h"

#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

const std::vector<std::string> names{"m'", "m", "S_t", "α", "l", "m~"};
constexpr std::array<double, 6> values{1, 3, 2, 0.5, 4, -1};

double value_of(std::string_view text) { return evaluated(text, names, values); }
std::string refusal_of(std::string_view text) {
  return message_of<std::invalid_argument>([&] { value_of(text); });
}

TEST(Expression, IsComputedAsItIsRead) {
  EXPECT_EQ(value_of("1 + 2*3"), 7);
  EXPECT_EQ(value_of("(1 + 2)*3"), 9);
  EXPECT_EQ(value_of("8 - 3 - 2"), 3);
  EXPECT_EQ(value_of("8 / 4 / 2"), 1);
  EXPECT_EQ(value_of("-2*-3"), 6);
  EXPECT_EQ(value_of("--m"), 3);
  EXPECT_EQ(value_of(" .5 + 1e1 "), 10.5);
  EXPECT_EQ(value_of("max(1, m, S_t)"), 3);
  EXPECT_EQ(value_of("max(S_t)"), 2);
  EXPECT_EQ(value_of("exp(m'-m)"), std::exp(-2.0));
  EXPECT_EQ(value_of("α·l + exp(S_t - m)"), 2 + std::exp(-1.0));
  EXPECT_EQ(value_of("alpha*l"), 2) << "a Greek letter that is spelled out";
  EXPECT_EQ(value_of("m~+m'"), 0);
  EXPECT_EQ(value_of("exp(-1/0)"), 0);
}

TEST(Expression, SaysWhereItIsNone) {
  EXPECT_EQ(refusal_of("exp(m_nev - m)"), "'m_nev' is no name here at character 5, expected one of m', m, S_t, α, l, m~");
  EXPECT_EQ(refusal_of(""), "the expression ends at character 1, expected a number, a name or a parenthesis");
  EXPECT_EQ(refusal_of("l + "), "the expression ends at character 5, expected a number, a name or a parenthesis");
  EXPECT_EQ(refusal_of("α·x"), "'x' is no name here at character 3, expected one of m', m, S_t, α, l, m~");
  EXPECT_EQ(refusal_of("(l"), "the expression ends at character 3, expected a closing parenthesis");
  EXPECT_EQ(refusal_of("l)"), "there is ')' at character 2, expected + - * / or the end");
  EXPECT_EQ(refusal_of("2 l"), "there is 'l' at character 3, expected + - * / or the end");
  EXPECT_EQ(refusal_of("exp m"), "there is 'm' at character 5, expected a parenthesis after exp");
  EXPECT_EQ(refusal_of("exp(1, 2)"), "there is ',' at character 6, expected a closing parenthesis");
  EXPECT_EQ(refusal_of("l ^ 2"), "there is '^' at character 3, expected + - * / or the end");
  EXPECT_EQ(refusal_of("1e999"), "there is '1' at character 1, expected a number such as 0.5");
  EXPECT_THAT(refusal_of("exp"), HasSubstr("a parenthesis after exp"));
  EXPECT_THAT(refusal_of("+l"), HasSubstr("'+' at character 1"));
  EXPECT_THAT(refusal_of("l + \xff"), HasSubstr("'?' is no name"));
}

TEST(Expression, IsBounded) {
  EXPECT_THAT(refusal_of(std::string(201, '1')), HasSubstr("201 bytes, expected at most 200"));
  const std::string open(40, '('), close(40, ')');
  EXPECT_THAT(refusal_of(open + "1" + close), AllOf(HasSubstr("nested too deeply"), HasSubstr("at most 32 levels")));
  EXPECT_THAT(refusal_of(std::string(40, '-') + "1"), HasSubstr("nested too deeply"));
  EXPECT_EQ(value_of(open.substr(10) + "1" + close.substr(10)), 1);
}

/// A random formula as text, and its value computed by C++ while the text is built.
struct Made {
  std::string text;
  double value = 0;
};
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}
  Made make(int depth) {
    const int kind = depth == 0 ? below(2) : below(9);
    if (kind == 0) return number();
    if (kind == 1) return name();
    const Made x = make(depth - 1);
    if (kind == 2) return {"-(" + x.text + ")", -x.value};
    if (kind == 3) return {"exp(" + x.text + ")", std::exp(x.value)};
    const Made y = make(depth - 1);
    if (kind == 4) return {"max(" + x.text + ", " + y.text + ")", x.value > y.value ? x.value : y.value};
    const std::string left = "(" + x.text + ")", right = "(" + y.text + ")";
    if (kind == 5) return {x.text + " + " + right, x.value + y.value};
    if (kind == 6) return {x.text + "-" + right, x.value - y.value};
    if (kind == 7) return {left + " * " + right, x.value * y.value};
    return {left + "/" + right, x.value / y.value};
  }

 private:
  int below(int n) { return std::uniform_int_distribution(0, n - 1)(random_); }
  Made number() {
    const int x = below(1000);
    return {std::to_string(x), static_cast<double>(x)};
  }
  Made name() {
    const auto i = static_cast<std::size_t>(below(static_cast<int>(names.size())));
    return {names[i], values[i]};
  }
  std::mt19937 random_;
};

TEST(Expression, HasTheValueThatCppGives) {
  int tried = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    const Made made = Maker(seed).make(static_cast<int>(seed % 5));
    if (made.text.size() > longest_expression) continue;
    const double found = value_of(made.text);
    ++tried;
    EXPECT_TRUE(found == made.value || (std::isnan(found) && std::isnan(made.value))) << made.text;
  }
  EXPECT_GT(tried, 15000);
}

}  // namespace
}  // namespace attoscope
