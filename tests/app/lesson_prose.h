/// Reads the shipped lessons; splits a text into prose, formulas and numbers; collects the views and live numbers of steps.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "app/explore/lessons.h"
#include "ui/frame/lesson.h"

namespace attoscope::testing {

/// The shipped lessons, read once by a program.
inline const ui::Lessons& shipped_lessons() {
  static const ui::Lessons lessons = app::read_lessons(app::lessons_directory());
  return lessons;
}

/// Text of a lesson, without its views, live numbers, code spans and sources.
struct Prose {
  std::string words;                  ///< headings, paragraphs, tables, questions and explanations; a blank replaces a removed
                                      ///< part
  std::vector<std::string> formulas;  ///< between dollars
  std::vector<std::string> steps;     ///< the words of each step
};

/// The value of a line "key: value"; empty if the line has another key.
inline std::string_view value_after(std::string_view line, std::string_view key) {
  return line.starts_with(key) && line.substr(key.size()).starts_with(": ") ? line.substr(key.size() + 2) : std::string_view();
}

/// Lines outside fences, and the question and explanation of each question block; without the line "Needs ..." and the
/// sources at the end.
inline std::vector<std::string> read_lines(std::string_view text) {
  std::vector<std::string> lines;
  bool in_fence = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("**Sources**")) break;
    if (line.starts_with("Needs ")) continue;
    if (line.starts_with("```")) {
      in_fence = !in_fence;
    } else if (!in_fence) {
      lines.emplace_back(line);
    } else {
      for (const std::string_view key : {"question", "explanation"})
        if (const std::string_view said = value_after(line, key); !said.empty()) lines.emplace_back(said);
    }
  }
  return lines;
}

/// The sentences of the exercises' mistakes, one a line.
inline std::string mistakes_in(std::string_view text) {
  std::string sentences;
  for (std::size_t at = text.find("\nmistake: "); at != std::string_view::npos; at = text.find("\nmistake: ", at + 1)) {
    const std::size_t bar = text.find('|', at), end = text.find('\n', at + 1);
    if (bar < end) sentences += std::string(text.substr(bar + 1, end - bar - 1)) + "\n";
  }
  return sentences;
}

/// Removes and returns the texts between `open` and `close`; each is replaced by a blank.
inline std::vector<std::string> take_between(std::string& text, std::string_view open, std::string_view close) {
  std::vector<std::string> taken;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t begin = at + open.size(), end = text.find(close, begin);
    if (end == std::string::npos) break;
    taken.push_back(text.substr(begin, end - begin));
    text.replace(at, end + close.size() - at, 1, ' ');
  }
  return taken;
}

/// Removes live numbers: "[1.2](live:...)".
inline void take_live_numbers(std::string& text) {
  for (std::size_t at = text.find("](live:"); at != std::string::npos; at = text.find("](live:")) {
    const std::size_t open = text.rfind('[', at), end = text.find(')', at);
    text.replace(open, end + 1 - open, 1, ' ');
  }
}

inline Prose prose_of(std::string_view text) {
  Prose prose;
  for (const std::string& line : read_lines(text)) {
    if (line.starts_with("## ") || prose.steps.empty()) prose.steps.emplace_back();
    prose.steps.back() += line + "\n";
  }
  for (std::string& step : prose.steps) {
    for (const std::string_view dollars : {"$$", "$"})
      for (std::string& formula : take_between(step, dollars, dollars)) prose.formulas.push_back(std::move(formula));
    take_between(step, "`", "`");
    take_live_numbers(step);
    prose.words += step;
  }
  prose.words += mistakes_in(text);
  return prose;
}

inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
inline bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// One past the end of the number that begins at `at`: 12, 0.5, 1.2e-7.
inline std::size_t end_of_number(std::string_view text, std::size_t at) {
  const auto digits = [&](std::size_t i) {
    while (i < text.size() && is_digit(text[i])) ++i;
    return i;
  };
  const auto digit_at = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  std::size_t end = digits(at);
  if (end < text.size() && text[end] == '.' && digit_at(end + 1)) end = digits(end + 1);
  if (end < text.size() && text[end] == 'e') {
    const std::size_t sign = end + 1 < text.size() && text[end + 1] == '-' ? 1 : 0;
    if (digit_at(end + 1 + sign)) end = digits(end + 1 + sign);
  }
  return end;
}

/// The numbers that stand alone, in order: not the digits in "bf16", "FlashAttention-2", "2nd" or "lesson 8".
inline std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> numbers;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    const std::size_t end = end_of_number(text, at);
    const bool minus = at > 0 && text[at - 1] == '-' && (at == 1 || text[at - 2] == ' ');
    const std::size_t begin = minus ? at - 1 : at;
    const char before = begin > 0 ? text[begin - 1] : ' ';
    const bool joined = is_letter(before) || before == '-' || before == '.' || (end < text.size() && is_letter(text[end]));
    const std::string_view ahead = text.substr(0, begin);
    if (!joined && !ahead.ends_with("esson ")) numbers.emplace_back(text.substr(begin, end - begin));
    at = end;
  }
  return numbers;
}

/// One member list of all blocks of a lesson, concatenated.
template <class Part>
std::vector<Part> parts_of(const ui::Lesson& lesson, std::vector<Part> ui::LessonBlock::* part) {
  std::vector<Part> all;
  for (const ui::LessonStep& step : lesson.steps)
    for (const ui::LessonBlock& block : step.blocks) all.insert(all.end(), (block.*part).begin(), (block.*part).end());
  return all;
}
inline std::vector<ui::LessonView> views_of(const ui::Lesson& lesson) { return parts_of(lesson, &ui::LessonBlock::view); }
inline std::vector<ui::LessonNumber> numbers_of(const ui::Lesson& lesson) {
  return parts_of(lesson, &ui::LessonBlock::numbers);
}

}  // namespace attoscope::testing
