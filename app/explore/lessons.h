/// Reads lessons from files, with the experiments of views and live numbers; computes answers to the questions of pages.
#pragma once

#include <string>
#include <string_view>

#include "app/plots/own_numbers.h"  // IWYU pragma: export
#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {

/// Lessons of a directory (assets/lessons), sorted by file name; an unreadable lesson contains a sentence instead.
ui::Lessons read_lessons(const std::string& directory);
/// Directory of the shipped lessons; empty: none.
std::string lessons_directory();

/// Sets the experiments of a lesson's views and live numbers; errors go to their `problem`.
void resolve(ui::Lesson& lesson);

/// `LearnInput::vary`: sets a parameter as written in lessons. The input "example" means the shipped tensors, "presets/FILE"
/// those of a probe. Returns one sentence on failure, else "".
std::string vary_in_lesson(Experiment& experiment, std::string_view key, const std::string& value);

/// Question of a live number: "a.mean_abs?policy=eager&n=256". Throws std::invalid_argument with one sentence.
ui::LessonQuestion parse_live(std::string_view target);

/// Computes answers for the page on screen on a thread, and keeps the newest of them.
class LessonAnswerer {
 public:
  /// Another thread calls `published` whenever `update` has something to take.
  explicit LessonAnswerer(std::function<void()> published);

  /// The shipped lessons, read on the first call; null while they are being fetched.
  const std::shared_ptr<const ui::Lessons>& lessons();
  /// Asks the unanswered questions.
  void ask(const std::vector<ui::LessonQuestion>& questions);
  /// Takes published answers.
  void update();
  /// All known answers.
  const std::shared_ptr<const ui::LessonAnswers>& answers() const { return answers_; }
  bool busy() const { return worker_.busy(); }

 private:
  using Questions = std::vector<ui::LessonQuestion>;
  std::shared_ptr<const ui::Lessons> lessons_;
  std::shared_ptr<const ui::LessonAnswers> answers_;
  Questions asked_;
  Worker<Questions, ui::LessonAnswers> worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
