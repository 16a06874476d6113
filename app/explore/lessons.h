/// Lessons from files, each view's and live number's experiment set; and what pages ask, answered.
#pragma once

#include <string>
#include <string_view>

#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "ui/frame/lesson.h"

namespace attoscope {

/// The lessons of a directory (assets/lessons), by the names of their files; one that cannot be read says so in its place.
Lessons read_lessons(const std::string& directory);
/// The directory of the shipped lessons; empty where there are none.
std::string lessons_directory();

/// Sets the experiments of a lesson's views and live numbers; what cannot be set is told by their `problem`.
void resolve(Lesson& lesson);

/// `LearnInput::vary`: sets a parameter as lessons write it. An input called "example" is the shipped tensors,
/// "presets/FILE" those of a probe. Returns one sentence where it cannot be, else "".
std::string vary_in_lesson(Experiment& experiment, std::string_view key, const std::string& value);

/// What live numbers are of: "a.mean_abs?policy=eager&n=256". Throws std::invalid_argument in a sentence.
LessonQuestion parse_live(std::string_view target);

/// The answer, found at once; a question that cannot be answered is told by its `problem`. Throws Stopped.
LessonAnswer answer(const LessonQuestion& question, const Options& options);

/// Answers what the page on screen asks, on a thread of its own, and remembers.
class LessonDesk {
 public:
  /// `published` is called on another thread whenever `update` has something to take.
  explicit LessonDesk(std::function<void()> published);

  /// The shipped lessons, read when they are first wanted.
  const std::shared_ptr<const Lessons>& lessons();
  /// Asks for what is not yet known.
  void ask(const std::vector<LessonQuestion>& questions);
  /// Takes what was published.
  void update();
  /// All that is known.
  const std::shared_ptr<const LessonAnswers>& answers() const { return answers_; }
  bool busy() const { return worker_.busy(); }

 private:
  using Questions = std::vector<LessonQuestion>;
  std::shared_ptr<const Lessons> lessons_;
  std::shared_ptr<const LessonAnswers> answers_;
  Questions asked_;
  Worker<Questions, std::shared_ptr<const LessonAnswers>> worker_;  ///< last: it joins before anything it uses goes away
};

}  // namespace attoscope
