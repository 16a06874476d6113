#include "ui/learn/views/views.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "imgui.h"
#include "kernels/experiment/text.h"

namespace attoscope::ui {

bool is_on_page(const LessonScene& scene) { return scene.input.learn.page_part > 0; }

int shown_step(const LessonScene& scene, int at, int last) {
  if (is_on_page(scene) && written(scene.view, "at").empty()) at = last * scene.input.learn.page_part / page_parts;
  return std::clamp(at, 0, std::max(0, last));
}

void take_next_speed(Stepping& stepping) {
  constexpr std::array speeds{1, 2, 3, 5, 10, 20};
  const auto next = std::ranges::upper_bound(speeds, stepping.speed);
  stepping.speed = next == speeds.end() ? speeds.front() : *next;
}

int play_or_pause(LessonScene& scene, int at, int last) {
  Stepping& s = scene.stepping;
  const bool starts = s.playing != scene.view.index;
  s.playing = starts ? scene.view.index : -1;
  s.next = ImGui::GetTime() + 1.0 / s.speed;
  return starts && at == last ? 0 : at;
}

int stepped(LessonScene& scene, int at, int start, int last) {
  Stepping& s = scene.stepping;
  constexpr float enough = 200;  // of a view is on screen
  if (is_on_page(scene) || !ImGui::IsRectVisible({scene.width, enough})) return at;
  const bool is_first = !s.found, is_asked = is_first && s.view == scene.view.index;
  if (is_first && s.restarts) at = start;
  if (is_asked && s.toggles) at = play_or_pause(scene, at, last);
  if (is_asked && s.by != 0) {
    at = std::clamp(at + std::clamp(s.by, -last, last), 0, last);
    s.playing = -1;
  }
  if (s.playing == scene.view.index) {
    scene.requests.animate = true;
    if (const double now = ImGui::GetTime(); now >= s.next) {
      at = std::min(last, at + 1);
      s.next = std::max(s.next, now - 1.0 / s.speed) + 1.0 / s.speed;
    }
    if (at >= last) s.playing = -1;
  }
  if (is_first) {
    s.found = true;
    s.view = scene.view.index;
    s.at = at, s.start = start, s.last = last;
  }
  return at;
}

float flexible_height(LessonScene& scene, float wanted, float least) {
  if (scene.room <= 0) return wanted;
  ViewFit& fit = scene.state.fit;
  const float height = std::max(least, wanted + fit.stretch);
  fit.stretch = height - wanted;
  fit.flexes = true;
  fit.is_lowest = height <= least;
  return height;
}

void fit(ViewFit& fit, float taken) {
  const float excess = taken - fit.room;
  if (std::abs(excess) <= 1) return;
  if (fit.flexes && (excess < 0 || !fit.is_lowest))
    fit.stretch = std::min(fit.stretch - excess, fit.room);
  else if (excess > 0)
    fit.shrink = std::max(0.4f, fit.shrink * fit.room / taken);
}

std::string value_of(const LessonScene& scene, std::string_view key, std::string_view otherwise) {
  const auto& changes = scene.edits.changes;
  const auto changed = std::ranges::find(changes, key, &LessonParameter::key);
  if (changed != changes.end()) return changed->value;
  const std::string_view value = written(scene.view, key);
  return std::string(value.empty() ? otherwise : value);
}

int whole_of(const LessonScene& scene, std::string_view key, int otherwise, int least, int most, std::string& problem) {
  const std::string text = value_of(scene, key);
  if (text.empty()) return otherwise;
  if (const auto value = to_number<int>(text); value && *value >= least && *value <= most) return *value;
  problem = refusal(key, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return otherwise;
}

std::vector<std::string> list_of(const LessonScene& scene, std::string_view key, std::string_view otherwise) {
  return listed_words(value_of(scene, key, otherwise));
}

void change(LessonScene& scene, std::string_view key, std::string value) {
  auto& changes = scene.edits.changes;
  const auto changed = std::ranges::find(changes, key, &LessonParameter::key);
  const bool as_written = value == written(scene.view, key);
  if (changed == changes.end()) {
    if (!as_written && changes.size() < max_lesson_changes) changes.push_back({std::string(key), std::move(value)});
  } else if (as_written) {
    changes.erase(changed);
  } else {
    changes.erase(changed);  // the newest change is applied last
    changes.push_back({std::string(key), std::move(value)});
  }
}

void restore(LessonScene& scene) { scene.edits.changes.clear(); }

std::string refusal(std::string_view key, std::string_view value, std::string_view expected) {
  return std::string(key) + " is '" + std::string(value) + "', expected " + std::string(expected);
}

LessonAnswerPtr ask(LessonScene& scene, const LessonQuestion& question, int slot) {
  scene.requests.lesson.push_back(question);
  LessonAnswerPtr& latest = scene.state.latest[slot];
  if (LessonAnswerPtr answer = answer_of(scene.input.learn.answers.get(), question)) latest = std::move(answer);
  return latest;
}

}  // namespace attoscope::ui
