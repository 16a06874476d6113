/// Judges the loaded output on screen, and all heads of its call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/heads/heads.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/loaded_output.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The verdict on a `verdict_question`, one head. Throws as `judge_experiment`.
ui::HeadVerdict head_verdict(const Experiment& question, const Options& options = {});

/// The traced row of the algorithm shown beside a loaded output; `question` is a `followed_beside`. Throws as `compute`.
ui::FollowedRow followed_row(const Experiment& question, const Options& options = {});

/// Judges every head, as `attoscope judge --head` does; `found` is told each from many threads, one call at a time. Throws
/// Stopped when cancelled, and a sentence where one cannot be read.
void judge_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                 const std::function<void(const ui::JudgedHead&)>& found);

/// The heads of the input and of the loaded output that are shown.
struct HeadsOnShow {
  std::string input_file, output_file;
  int input = 0, output = 0;
  friend bool operator==(const HeadsOnShow&, const HeadsOnShow&) = default;
};
HeadsOnShow heads_on_show(const Experiment& experiment);

/// Selects the worst wrong head of an opened output once all its heads are judged.
class JudgedAnswer {
 public:
  /// An output was opened with these heads: once all are judged, the worst of those that are wrong is shown.
  void open(const Experiment& shown) { opened_ = heads_on_show(shown); }
  /// Shows it, unless another head was chosen meanwhile.
  void show_worst(ui::Session& session, const std::shared_ptr<const ui::JudgedView>& judged);
  /// Takes the errors over their tolerances from the verdict, once these are known.
  void take(const std::shared_ptr<const Result>& answer, const std::shared_ptr<const ui::HeadVerdict>& verdict);
  /// The answer with them in it; another answer as it is.
  std::shared_ptr<const Result> shown(std::shared_ptr<const Result> answer) const;

 private:
  std::optional<HeadsOnShow> opened_;
  std::shared_ptr<const Result> answer_, shown_;
  std::shared_ptr<const ui::HeadVerdict> verdict_;
};

}  // namespace attoscope::app
