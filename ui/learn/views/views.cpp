#include "ui/learn/views/views.h"

#include <algorithm>

#include "kernels/experiment/text.h"

namespace attoscope {

bool is_on_page(const LessonScene& scene) { return scene.input.learn.page_part > 0; }

int shown_step(const LessonScene& scene, int at, int last) {
  if (is_on_page(scene) && written(scene.view, "at").empty()) at = last * scene.input.learn.page_part / page_parts;
  return std::clamp(at, 0, std::max(0, last));
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
  if (LessonAnswerPtr answer = answer_of(scene.input.learn.answers.get(), question)) scene.state.latest[slot] = answer;
  const auto latest = scene.state.latest.find(slot);
  return latest == scene.state.latest.end() ? nullptr : latest->second;
}

}  // namespace attoscope
