#include "ui/learn/lesson_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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
  int digits = 0, decimals = 0;  ///< of the mantissa
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
  constexpr double least_width = 560;  // at 100 %: in less, controls lie on each other
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

}  // namespace attoscope::ui
