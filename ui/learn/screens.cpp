// The screens of a presented step, and how keys turn them.
#include <algorithm>

#include "ui/learn/learn_state.h"

namespace attoscope::ui {

namespace {

/// The parts of a text between empty lines.
std::vector<std::string> paragraphs_of(const std::string& markdown) {
  std::vector<std::string> all{""};
  for (const std::string& line : split(markdown, '\n')) {
    if (!trimmed(line).empty())
      all.back() += line + "\n";
    else if (!all.back().empty())
      all.emplace_back();
  }
  std::erase(all, "");
  return all;
}

/// True if the next item belongs on the same screen: a formula or a list follows, or what a line in bold is the title of.
bool leads_on(const ScreenItem& item) {
  return item.block == nullptr || item.paragraph.ends_with(":\n") || item.paragraph.ends_with("**\n");
}

}  // namespace

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
