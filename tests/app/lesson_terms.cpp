// No term of the lessons occurs before the step that explains it.

#include <algorithm>
#include <span>
#include <utility>

#include "app/explore/lessons.h"
#include "app/files/files.h"
#include "tests/app/lesson_prose.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// A term as written in a lesson's file, and the step that explains it.
struct Term {
  std::string_view says;
  int lesson, step;  ///< from 1
};
constexpr Term terms[] = {{"ulp", 1, 2},          {"unit roundoff", 1, 2},
                          {"method a", 1, 3},     {"golden", 1, 3},
                          {"Attention", 1, 3},    {"NaN", 1, 4},
                          {"saturates", 1, 4},    {"subnormal", 1, 5},
                          {"policy", 1, 7},       {"base_all", 1, 7},
                          {"pv_step", 1, 7},      {"query", 2, 1},
                          {"key", 2, 1},          {"score", 2, 2},
                          {"scores", 2, 1},       {"softmax", 2, 1},
                          {"\\sqrt{d}", 2, 1},    {"scale", 2, 2},
                          {"row sum", 2, 4},      {"- m}", 2, 4},
                          {"stepper", 2, 4},      {"O_1", 2, 4},
                          {"three_pass", 2, 4},   {"kernel", 2, 5},
                          {"baseline", 2, 5},     {"Method b", 2, 5},
                          {"b_error", 2, 5},      {"ratio", 2, 6},
                          {"PV", 3, 5},           {"base_hw", 3, 4},
                          {"hw", 3, 4},           {"base_floor", 3, 6},
                          {"base_eager", 3, 6},   {"base_ops", 3, 6},
                          {"two_pass", 4, 1},     {"rescaled", 4, 2},
                          {"traced row", 4, 4},   {"trace", 4, 4},
                          {"split_kv", 4, 6},     {"O_i", 5, 2},
                          {"state", 5, 2},        {"sum_rounded_P", 5, 3},
                          {"flash1", 5, 4},       {"tile", 5, 5},
                          {"tiles", 5, 5},        {"HBM", 6, 1},
                          {"tensor cores", 6, 3}, {"fusion", 6, 3},
                          {"registers", 6, 6},    {"backward pass", 6, 7},
                          {"log-sum-exp", 5, 6},  {"accumulator", 7, 6},
                          {"multiply-add", 7, 8}, {"all_tile", 7, 8},
                          {"eager", 8, 1},        {"all_direct", 8, 1},
                          {"flash4", 8, 8},       {"tau", 8, 8},
                          {"p_exponent", 9, 5},   {"bias", 10, 1},
                          {"tie_beta", 10, 5},    {"causal", 11, 1},
                          {"Wasserstein", 12, 4}, {"flush", 13, 6},
                          {"smooth_K", 14, 10},   {"hadamard", 14, 10},
                          {"pinned", 14, 9},      {"Kahan", 7, 9},
                          {"surrogate", 4, 1},    {"chain rule", 15, 1},
                          {"atomic", 17, 1},      {"grad_hw", 15, 7},
                          {"grad_exact", 15, 7},  {"residual stream", 18, 2},
                          {"logits", 18, 3},      {"log-probability", 18, 3},
                          {"yardstick", 18, 4},   {"\\tilde", 19, 1}};  // must never occur: O is undivided, o is divided

bool is_of_word(char c) { return is_letter(c) || is_digit(c); }

/// True if `text` has the term as a whole word.
bool has_term(std::string_view text, std::string_view term) {
  for (std::size_t at = text.find(term); at != std::string_view::npos; at = text.find(term, at + 1)) {
    const std::size_t end = at + term.size();
    const bool begins = at == 0 || !is_of_word(term.front()) || !is_of_word(text[at - 1]);
    const bool ends = end == text.size() || !is_of_word(term.back()) || !is_of_word(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// The steps of a lesson's file with their views, without live numbers and sources.
std::vector<std::string> steps_of(std::string text) {
  text.resize(std::min(text.find("**Sources**"), text.size()));
  take_live_numbers(text);
  std::vector<std::string> steps;
  for (std::size_t at = text.find("\n## "); at != std::string::npos;) {
    const std::size_t next = text.find("\n## ", at + 1);
    steps.push_back(text.substr(at, next == std::string::npos ? next : next - at));
    at = next;
  }
  return steps;
}

/// Terms that occur before the step that explains them, or not in it.
std::vector<std::string> faults_of(std::span<const Term> listed, const std::vector<std::vector<std::string>>& lessons) {
  std::vector<std::string> faults;
  for (const Term& t : listed) {
    const std::pair due{t.lesson, t.step};
    bool is_explained = due.first > static_cast<int>(lessons.size());
    for (int lesson = 1; lesson <= static_cast<int>(lessons.size()); ++lesson) {
      int step = 0;
      for (const std::string& text : lessons[static_cast<std::size_t>(lesson - 1)]) {
        if (std::pair(lesson, ++step) > due || !has_term(text, t.says)) continue;
        if (std::pair(lesson, step) == due)
          is_explained = true;
        else
          faults.push_back(std::string(t.says) + " in lesson " + std::to_string(lesson) + ", step " + std::to_string(step));
      }
    }
    if (!is_explained) faults.push_back(std::string(t.says) + " is missing where it is explained");
  }
  return faults;
}

TEST(LessonTerms, OccurNowhereBeforeTheirExplanation) {
  std::vector<std::vector<std::string>> lessons;
  for (const Lesson& lesson : shipped_lessons())
    lessons.push_back(steps_of(read_file(lessons_directory() + "/" + lesson.name + ".md", 1 << 20)));
  EXPECT_THAT(faults_of(terms, lessons), IsEmpty());
}

TEST(LessonTerms, ThatComeTooEarlyAreFound) {
  const std::vector<std::vector<std::string>> lessons{steps_of("# T\n\n## A\n\nIt is [3](live:a.bias?policy=hw), the tilewise "
                                                               "way.\n\n## B\n\nA *tile*.\n\n**Sources**\n\n- A bias.\n"),
                                                      steps_of("# U\n\n## C\n\n```plot\npolicy: hw\n```\n")};
  constexpr Term right[] = {{"tile", 1, 2}, {"hw", 2, 1}, {"\\tilde", 3, 1}};
  EXPECT_THAT(faults_of(right, lessons), IsEmpty());
  constexpr Term wrong[] = {{"tile", 2, 1}, {"bias", 1, 2}};
  EXPECT_THAT(faults_of(wrong, lessons), ElementsAre("tile in lesson 1, step 2", "tile is missing where it is explained",
                                                     "bias is missing where it is explained"));
}

}  // namespace
}  // namespace attoscope
