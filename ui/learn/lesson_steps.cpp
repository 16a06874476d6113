// The steps of lessons, the screens of a presented one, and how keys turn them.
#include "ui/learn/lesson_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/learn/learn_state.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// Scale of the type while a lesson is presented in a window of this size, in pixels: text of 22 pixels and code of 20 from
/// 1024x768 on, the same share of smaller windows; 1.5 up to 1920x1080, and the same share of larger ones.
double presenting_scale(double width, double height) {
  const auto share = [&](double of_width, double of_height) { return std::min(width / of_width, height / of_height); };
  const double least = std::min(1.4, share(731, 548)), usual = std::min(1.5, share(914, 571)), large = 1.5 * share(1920, 1080);
  return std::max({0.75, least, usual, large});
}

int steps_in(const Lesson& lesson) { return static_cast<int>(lesson.steps.size()); }

/// The notation of a number: digits, exponent and unit.
struct Notation {
  bool plus = false, has_exponent = false;
  int digits = 0, decimals = 0;  ///< digits of the mantissa
  std::string_view unit;
};

Notation notation_of(std::string_view text) {
  Notation n;
  n.plus = text.starts_with('+');
  if (n.plus || text.starts_with('-')) text.remove_prefix(1);
  bool after_point = false;
  std::size_t at = 0;
  for (; at < text.size() && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); ++at) {
    if (text[at] == '.') {
      after_point = true;
      continue;
    }
    n.digits += text[at] != '0' || n.digits > 0;
    n.decimals += after_point;
  }
  if (at < text.size() && text[at] == 'e') {
    n.has_exponent = true;
    at = std::min(text.find_first_not_of("+-0123456789", at + 1), text.size());
  }
  n.unit = text.substr(at);
  return n;
}

/// The factor that converts a value to the unit.
double factor_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{{{"%", 100}, {"kB", 1e-3}, {"MB", 1e-6}, {"GB", 1e-9}}};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, factor] : units)
    if (unit == name) return factor;
  return 1;
}

/// The parts of a text between empty lines.
std::vector<std::string> paragraphs_of(const std::string& markdown) {
  std::vector<std::string> all{""};
  for (const std::string_view line : split(markdown, "\n")) {
    if (!trimmed(line).empty())
      all.back().append(line).append("\n");
    else if (!all.back().empty())
      all.emplace_back();
  }
  std::erase(all, "");
  return all;
}

/// True if the next item belongs on the same screen: this one is the title, ends with a colon, or is a heading in bold.
bool leads_on(const ScreenItem& item) {
  return item.block == nullptr || item.paragraph.ends_with(":\n") || item.paragraph.ends_with("**\n");
}

}  // namespace

LessonPlace place_of(const LessonState& state, const Lessons* lessons) {
  if (lessons == nullptr || lessons->empty()) return {};
  const auto found = std::ranges::find(*lessons, state.name, &Lesson::name);
  if (found == lessons->end()) return {.lesson = &lessons->front()};
  return {&*found, static_cast<int>(found - lessons->begin()), std::clamp(state.step, 0, steps_in(*found) - 1)};
}

const LessonStep& step_of(const LessonPlace& place) { return place.lesson->steps[static_cast<std::size_t>(place.step)]; }

void open_lesson(LessonState& state, const Lesson& lesson, int step) {
  state.name = lesson.name;
  state.step = std::clamp(step, 0, steps_in(lesson) - 1);
}

void turn_page(LessonState& state, const Lessons* lessons, int by) {
  LessonPlace p = place_of(state, lessons);
  if (p.lesson == nullptr) return;
  const int last = static_cast<int>(lessons->size()) - 1;
  p.step += by;
  if (p.step < 0 && p.index > 0) {
    p.lesson = &(*lessons)[static_cast<std::size_t>(p.index - 1)];
    p.step = steps_in(*p.lesson) - 1;
  } else if (p.step >= steps_in(*p.lesson) && p.index < last) {
    p.lesson = &(*lessons)[static_cast<std::size_t>(p.index + 1)];
    p.step = 0;
  }
  open_lesson(state, *p.lesson, p.step);
}

void turn_to_end(LessonState& state, const Lessons* lessons, bool last) {
  const LessonPlace p = place_of(state, lessons);
  if (p.lesson != nullptr) open_lesson(state, *p.lesson, last ? steps_in(*p.lesson) - 1 : 0);
}

int steps_seen(const LessonState& state, const Lesson& lesson) {
  const auto found = std::ranges::find(state.progress, lesson.name, &LessonProgress::lesson);
  return found == state.progress.end() ? 0 : std::min(found->steps_seen, steps_in(lesson));
}

void see_step(LessonState& state, const LessonPlace& place) {
  const auto found = std::ranges::find(state.progress, place.lesson->name, &LessonProgress::lesson);
  if (found == state.progress.end())
    state.progress.push_back({place.lesson->name, place.step + 1});
  else
    found->steps_seen = std::max(found->steps_seen, place.step + 1);
}

bool is_presenting(const Session& session) { return session.view.workspace == Workspace::learn && session.lesson.presenting; }

double shown_scale(const Session& session, double width, double height) {
  constexpr double least_width = 560;  // at 100 %: in less, controls overlap
  const double scale = std::min(session.view.ui_scale, std::max(1.0, width / least_width));
  return scale * (is_presenting(session) ? presenting_scale(width, height) : 1);
}

std::string live_text(std::string_view written, double value) {
  const Notation n = notation_of(written);
  value *= factor_of(n.unit);
  std::string text = n.has_exponent || !std::isfinite(value) ? scientific(value, std::max(1, n.digits))
                                                             : fmt::format("{:.{}f}", value, n.decimals);
  if (n.plus && value > 0) text = fmt::format("+{}", text);
  return text.append(n.unit);
}

std::vector<ScreenItem> screen_items(const LessonStep& step, bool is_split) {
  std::vector<ScreenItem> items(1);
  for (const LessonBlock& block : step.blocks) {
    if (block.view.empty()) {
      for (int i = 0; std::string& paragraph : paragraphs_of(block.markdown))
        items.push_back({.block = &block, .paragraph = std::move(paragraph), .index = i++});
      continue;
    }
    const LessonViewKind kind = block.view.front().kind;
    if (is_question(kind) || !is_split) items.push_back({.block = &block, .alone = kind != LessonViewKind::code});
  }
  return items;
}

std::vector<std::size_t> screen_starts(std::span<const ScreenItem> items, float height) {
  std::vector<std::size_t> starts{0};
  float used = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_under_title = i == 1 && items[i].alone && is_question(items[i].block->view.front().kind);
    const bool alone = (items[i].alone && !is_under_title) || (i > 0 && items[i - 1].alone);
    if (i > starts.back() && (alone || used + items[i].height > height)) {
      const bool moves_on = !alone && i - 1 > starts.back() && leads_on(items[i - 1]);
      starts.push_back(moves_on ? i - 1 : i);
      used = moves_on ? items[i - 1].height : 0;
    }
    used += items[i].height;
  }
  return starts;
}

int other_screen(const PresentedStep& step) {
  const auto is_view = [&](int screen) {
    const ScreenItem& first = step.items[step.starts[static_cast<std::size_t>(screen)]];
    return first.alone && !is_question(first.block->view.front().kind);
  };
  const auto nearest = [&](int by) {
    int to = step.screen + by;
    while (to >= 0 && to < step.screens && is_view(to) == is_view(step.screen)) to += by;
    return to < step.screens ? to : -1;
  };
  if (step.is_split || std::ssize(step.starts) != step.screens) return -1;
  const int first = is_view(step.screen) ? -1 : 1, found = nearest(first);
  return found >= 0 ? found : nearest(-first);
}

void go_on(LessonState& lesson, const Lessons* lessons, LearnState& state, int by, bool past_steps) {
  Stepping& s = state.stepping;
  PresentedStep& p = state.presented;
  const bool steps = s.view >= 0 && p.shows_view && !past_steps && (by > 0 ? s.at < s.last : s.at > s.start);
  if (steps) {
    s.by = by;
    return;
  }
  s.restarts = by > 0;
  s.playing = -1;
  if (p.screen + by >= 0 && p.screen + by < p.screens) {
    p.screen += by;
    return;
  }
  p.from_end = by < 0;
  turn_page(lesson, lessons, by);
}

}  // namespace attoscope::ui
