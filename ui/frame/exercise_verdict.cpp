// Judgement of answers to exercises.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/letters.h"
#include "kernels/experiment/text.h"
#include "kernels/questions/expression.h"
#include "ui/frame/exercise.h"

namespace attoscope::ui {
namespace {

constexpr double tolerance = 1e-9;  ///< relative tolerance between two ways to compute a number in double

bool same(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::fabs(x - y) <= tolerance * std::max(std::fabs(x), std::fabs(y));
}

std::string number(double x, int digits) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-∞" : "∞";
  return fmt::format("{:.{}g}", x, digits);
}

/// "yours gives l = 1.14, the recurrence 1.52", with enough digits for the numbers to differ.
std::string both_numbers(const Blank& blank, double mine, double right) {
  int digits = 4;
  while (digits < 17 && number(mine, digits) == number(right, digits)) ++digits;
  return fmt::format("yours gives {} = {}, {} {}", blank.target, number(mine, digits), blank.of_right, number(right, digits));
}

std::vector<double> values_of(const Blank& blank, std::string_view expression) {
  std::vector<double> values;
  for (const BlankCase& c : blank.cases) values.push_back(evaluated(expression, blank.names, c.values));
  return values;
}

/// Sentence of the mistake with these values, preceded by a space; or "".
std::string detail_of(const Blank& blank, const std::vector<double>& mine) {
  const auto found = std::ranges::find_if(
      blank.mistakes, [&](const Mistake& m) { return std::ranges::equal(values_of(blank, m.expression), mine, same); });
  return found == blank.mistakes.end() ? "" : " " + found->sentence;
}

int bits_of(const Format& f) { return 1 + f.exponent_bits + f.mantissa_bits; }

/// Rounded numbers of a run in a format: their count, those beyond the largest number of the format, and those that become 0.
struct LostNumbers {
  int rounded = 0;
  std::vector<RoundedNumber> overflowed, underflowed;

  bool survives() const { return overflowed.empty() && underflowed.empty(); }
};

LostNumbers lost_in(const Exercise& x, const Format& format) {
  StepQuestion q = x.row;
  q.format = format;
  const Steps row = steps(q);
  LostNumbers all;
  const auto count = [&](const RoundedNumber& n) {
    ++all.rounded;
    if (std::isfinite(n.before) && std::fabs(n.before) > largest(format_of(q.precision[n.step], format)))
      all.overflowed.push_back(n);
    else if (n.before != 0 && n.after == 0)
      all.underflowed.push_back(n);
  };
  for (std::size_t j = 0; q.precision[Step::S] != exact && j < row.S.size(); ++j)
    count({.step = Step::S, .key = static_cast<int>(j), .before = q.scores[j], .after = row.S[j]});
  for (const RowStep& step : row.steps)
    for (const RoundedNumber& n : step.numbers)
      if (n.rounds) count(n);
  return all;
}

/// "In e4m3 4 of 8 rounded numbers overflow: the first is S = 500 of key 1, the largest number is 448."; "" where none is lost.
std::string lost_sentence(const Format& format, const LostNumbers& all, bool overflows) {
  const std::vector<RoundedNumber>& lost = overflows ? all.overflowed : all.underflowed;
  if (lost.empty()) return "";
  const RoundedNumber& first = lost.front();
  const bool one = lost.size() == 1;
  const char* const verb = overflows ? (one ? "overflows" : "overflow") : (one ? "becomes 0" : "become 0");
  return fmt::format("In {} {} of {} rounded numbers {}: the first is {} = {}{}, the {}.", name(format), lost.size(),
                     all.rounded, verb, name(first.step), number(first.before, 4),
                     first.key < 0 ? "" : fmt::format(" of key {}", first.key + 1),
                     overflows ? "largest number is " + number(largest(format), 4)
                               : "smallest number is " + number(smallest_subnormal(format), 2));
}

}  // namespace

std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = capital_letter(text[0]);
  return text.ends_with('?') ? text : with_full_stop(std::move(text));
}

std::string answer_key(std::size_t blank) { return blank == 0 ? "answer" : "answer" + std::to_string(blank + 1); }

AnswerVerdict judge_blank(const Blank& blank, std::string_view answer) {
  std::vector<double> mine;
  try {
    mine = values_of(blank, answer);
  } catch (const std::invalid_argument& error) {
    return {false, as_sentence(error.what())};
  }
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (const BlankCase& c = blank.cases[i]; !same(mine[i], c.right))
      return {false, fmt::format("At {} {}.{}", c.place, both_numbers(blank, mine[i], c.right), detail_of(blank, mine))};
  return {true, fmt::format("Right at all {} places where it was run.", mine.size())};
}

LessonQuestion order_question(const Exercise& x) {
  return {.experiment = step_experiment(x.row), .measure = std::string(order_measure)};
}

std::string order_text(const std::vector<int>& order) {
  std::string text;
  for (const int key : order) text += (text.empty() ? "" : " ") + std::to_string(key);
  return text;
}

std::vector<int> order_of(std::string_view text, std::size_t keys) {
  std::vector<int> order;
  for (const std::string_view word : split(text, " ")) {
    const std::optional<int> key = to_number<int>(word);
    if (!key || *key < 0 || *key >= static_cast<int>(keys) || std::ranges::find(order, *key) != order.end()) return {};
    order.push_back(*key);
  }
  return order.size() == keys ? order : std::vector<int>{};
}

AnswerVerdict judge_order(const Exercise& x, const OrderedRow& mine, double most) {
  const std::string error =
      fmt::format("This order has {} and an error of {}", counted(mine.rescales, "rescale"), number(mine.error, 3));
  const bool is_most = most == mine.error || (std::isnan(most) && std::isnan(mine.error));
  const double share = is_most ? 1 : std::isnan(most) ? 0 : mine.error / most;
  const bool right = share >= 1 - x.tolerance;
  return {right, fmt::format("{}: {:.1f} % of {}, the largest of all orders.", error, 100 * share, number(most, 3))};
}

AnswerVerdict judge_format(const Exercise& x, std::string_view answer) {
  const auto chosen = std::ranges::find_if(x.formats, [&](const Format& f) { return name(f) == answer; });
  if (chosen == x.formats.end()) return {false, as_sentence(in_quotes(answer) + " is no choice here")};
  const LostNumbers lost = lost_in(x, *chosen);
  if (!lost.survives()) {
    const std::string over = lost_sentence(*chosen, lost, true), under = lost_sentence(*chosen, lost, false);
    return {false, over + (over.empty() || under.empty() ? "" : " ") + under};
  }
  const Format least = least_formats(x).front();
  const std::string all = fmt::format("All {} rounded numbers survive in {}", lost.rounded, answer);
  if (bits_of(least) < bits_of(*chosen))
    return {false, fmt::format("{}, of {} bits. They survive in {} too, of {} bits.", all, bits_of(*chosen), name(least),
                               bits_of(least))};
  return {true, fmt::format("{}, of {} bits. Every choice of fewer bits loses some.", all, bits_of(least))};
}

std::vector<Format> least_formats(const Exercise& x) {
  std::vector<Format> least;
  for (const Format& f : x.formats) {
    if (!lost_in(x, f).survives()) continue;
    if (!least.empty() && bits_of(f) < bits_of(least.front())) least.clear();
    if (least.empty() || bits_of(f) == bits_of(least.front())) least.push_back(f);
  }
  return least;
}

}  // namespace attoscope::ui
