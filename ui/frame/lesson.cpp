#include "ui/frame/lesson.h"

#include <algorithm>
#include <optional>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"

namespace attoscope::ui {
namespace {

/// Languages of blocks that are plain code.
constexpr std::array<std::string_view, 9> plain_languages{"", "text", "c", "cpp", "cuda", "python", "sh", "json", "markdown"};

/// Beginning of a live number's target, after the text in brackets.
constexpr std::string_view live = "](live:";

/// The lines of a text, without their ends.
std::vector<std::string> lines_of(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  const std::vector<std::string_view> parts = split(text.substr(text.starts_with(mark) ? mark.size() : 0), "\n");
  std::vector<std::string> lines(parts.begin(), parts.end());
  if (lines.back().empty()) lines.pop_back();
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

/// Opening of a fenced block: at least three backticks or tildes, at most three blanks before them.
struct Fence {
  char sign = '`';
  std::size_t length = 0;
  std::string_view language;
};
std::optional<Fence> fence_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos || first > 3) return std::nullopt;
  line.remove_prefix(first);
  if (line[0] != '`' && line[0] != '~') return std::nullopt;
  const std::size_t length = std::min(line.find_first_not_of(line[0]), line.size());
  if (length < 3) return std::nullopt;
  const std::string_view info = trimmed(line.substr(length));
  return Fence{line[0], length, info.substr(0, info.find_first_of(" \t"))};
}
bool closes(const Fence& open, std::string_view line) {
  const std::optional<Fence> fence = fence_of(line);
  return fence && fence->sign == open.sign && fence->length >= open.length && fence->language.empty();
}

/// Replaces the live numbers by `<num0/>`, `<num1/>`, ... and keeps their questions.
void take_numbers(LessonBlock& block) {
  std::string text;
  std::string_view rest = block.markdown;
  int line = block.line;
  for (std::size_t at = rest.find(live); at != std::string_view::npos; at = rest.find(live)) {
    const std::size_t open = rest.rfind('[', at), end = rest.find(')', at);
    if (open == std::string_view::npos || end == std::string_view::npos) break;
    line += static_cast<int>(std::ranges::count(rest.substr(0, at), '\n'));
    LessonNumber number;
    number.written = rest.substr(open + 1, at - open - 1);
    number.target = rest.substr(at + live.size(), end - at - live.size());
    number.line = line;
    text += std::string(rest.substr(0, open)) + "<num" + std::to_string(block.numbers.size()) + "/>";
    block.numbers.push_back(std::move(number));
    rest.remove_prefix(end + 1);
  }
  block.markdown = text + std::string(rest);
}

/// Reads the lines of one lesson from first to last.
class LessonReader {
 public:
  LessonReader(std::string name, std::string_view text) : lines_(lines_of(text)) {
    lesson_.name = std::move(name);
    lesson_.title = lesson_.name;
  }

  Lesson read() {
    read_title();
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      if (const std::optional<Fence> fence = fence_of(line))
        read_fence(*fence);
      else if (line.starts_with("## "))
        begin_step(trimmed(line.substr(3)));
      else
        add_text(lines_[at_++]);
    }
    end_text();
    if (lesson_.steps.empty()) step_for_text();
    return std::move(lesson_);
  }

 private:
  int line_number() const { return static_cast<int>(at_) + 1; }

  void read_title() {
    while (at_ < lines_.size() && trimmed(lines_[at_]).empty()) ++at_;
    if (at_ < lines_.size() && lines_[at_].starts_with("# ")) {
      lesson_.title = trimmed(lines_[at_++].substr(2));
    } else {
      add_problem("A lesson begins with '# ' and its title; line " + std::to_string(line_number()) + " does not.");
    }
    while (at_ < lines_.size() && trimmed(lines_[at_]).empty()) ++at_;
    if (at_ < lines_.size() && lines_[at_].starts_with("Needs ")) lesson_.needs = trimmed(lines_[at_++]);
  }
  void begin_step(std::string_view title) {
    end_text();
    lesson_.steps.push_back({std::string(title), {}});
    ++at_;
  }
  /// Current step; text before the first heading is a step of its own.
  LessonStep& step_for_text() {
    if (lesson_.steps.empty()) lesson_.steps.push_back({lesson_.title, {}});
    return lesson_.steps.back();
  }
  void add_text(std::string_view line) {
    if (text_.empty()) {
      if (trimmed(line).empty()) return;
      text_line_ = static_cast<int>(at_);
    }
    text_ += std::string(line) + "\n";
  }
  void end_text() {
    if (text_.empty()) return;
    LessonBlock block{.markdown = std::move(text_), .numbers = {}, .view = {}, .line = text_line_};
    text_.clear();
    take_numbers(block);
    step_for_text().blocks.push_back(std::move(block));
  }
  void add_problem(std::string sentence) {
    end_text();
    LessonView view;
    view.line = line_number();
    view.index = -1;
    view.problem = std::move(sentence);
    add_view(std::move(view));
  }
  void add_view(LessonView view) {
    const int line = view.line;
    step_for_text().blocks.push_back({.markdown = {}, .numbers = {}, .view = {std::move(view)}, .line = line});
  }

  void read_fence(const Fence& fence) {
    if (std::ranges::find(plain_languages, fence.language) != plain_languages.end()) return copy_fence(fence);
    end_text();
    const auto* const found = std::ranges::find(lesson_views, fence.language, &LessonViewInfo::name);
    LessonView view;
    view.line = line_number();
    if (found == lesson_views.end()) {
      view.index = -1;
      view.problem = in_quotes(fence.language) + " is no live view, expected " + listed(names_in(lesson_views));
    } else {
      view.kind = found->kind;
      view.index = views_++;
    }
    read_parameters(fence, view);
    add_view(std::move(view));
  }
  /// Copies a block of plain code as it is.
  void copy_fence(const Fence& fence) {
    add_text(lines_[at_++]);
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_++];
      text_ += std::string(line) + "\n";
      if (closes(fence, line)) return;
    }
  }
  void read_parameters(const Fence& fence, LessonView& view) {
    const auto complain = [&](std::string sentence) {
      if (view.problem.empty()) view.problem = std::move(sentence);
    };
    for (++at_; at_ < lines_.size(); ++at_) {
      const std::string_view line = trimmed(lines_[at_]);
      if (closes(fence, lines_[at_])) return void(++at_);
      if (line.empty()) continue;
      const std::size_t colon = line.find(':');
      std::string_view key = trimmed(line.substr(0, colon));
      if (key == "vary" && !written(view, key).empty()) key = "vary2";
      if (colon == std::string_view::npos || key.empty()) {
        complain(in_quotes(line) + " has no key, expected 'key: value'");
      } else if (!written(view, key).empty() && !may_repeat(view.kind, key)) {
        complain(in_quotes(key) + " is given twice, expected once");
      } else if (const std::string_view value = trimmed(line.substr(colon + 1)); value.empty()) {
        complain(in_quotes(key) + " has no value, expected 'key: value'");
      } else {
        view.parameters.push_back({std::string(key), std::string(value)});
      }
    }
    complain("the block is never closed, expected a line of " + std::string(fence.length, fence.sign));
  }
  static bool may_repeat(LessonViewKind kind, std::string_view key) {
    return kind == LessonViewKind::exercise && (key == "blank" || key == "mistake");
  }

  Lesson lesson_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string text_;
  int text_line_ = 0, views_ = 0;
};

}  // namespace

bool is_own_key(LessonViewKind kind, std::string_view key) {
  const bool one_word = key.find(' ') == std::string_view::npos;
  return one_word && info(kind).own_keys.find(" " + std::string(key) + " ") != std::string_view::npos;
}

LessonAnswerPtr answer_of(const LessonAnswers* answers, const LessonQuestion& question) {
  if (answers == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*answers, [&](const LessonAnswerPtr& a) { return a->question == question; });
  return found == answers->end() ? nullptr : *found;
}

std::vector<std::string> listed_words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words = split(text, separators);
  std::erase(words, "");
  return {words.begin(), words.end()};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

Lesson parse_lesson(std::string name, std::string_view text) { return LessonReader(std::move(name), text).read(); }

Experiment lesson_experiment() {
  Experiment e = default_experiment();
  e.problem.n = 256;
  return e;
}

std::string_view written(const LessonView& view, std::string_view key) {
  const auto found = std::ranges::find(view.parameters, key, &LessonParameter::key);
  return found == view.parameters.end() ? std::string_view() : std::string_view(found->value);
}

}  // namespace attoscope::ui
