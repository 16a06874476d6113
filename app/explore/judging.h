/// Judges the loaded output on screen, all heads of its call, and a kernel's gradients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/heads/heads.h"
#include "app/threads/side_question.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/loaded_output.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The verdict on a `verdict_question`, one head. Throws as `judge_experiment`.
ui::HeadVerdict head_verdict(const Experiment& question, const Options& options = {});

/// The traced row of the algorithm shown next to a loaded output; `question` is a `followed_beside`. Throws as `compute`.
ui::FollowedRow followed_row(const Experiment& question, const Options& options = {});

/// Judges every head, as `attoscope judge --head` does; calls `found` for each from many threads, one call at a time. Throws
/// Stopped when cancelled, and a sentence if a head cannot be read.
void judge_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                 const std::function<void(const ui::JudgedHead&)>& found);

/// Reads the files, publishes the answer with their gradients, then judges them. Throws std::runtime_error in a sentence that
/// names the file, the tensor, its shape and what was expected; Stopped when cancelled.
ui::KernelGradientsAnswer found_kernel_gradients(const ui::KernelGradientsQuestion& question,
                                                 const SideRun<ui::KernelGradientsAnswer>& run);

/// The answer to show: `answer` with the gradients of these files if `found` has them; the last such answer while they are read
/// (`busy`); else `answer` itself.
std::shared_ptr<const Result> with_kernel_gradients(const std::shared_ptr<const Result>& answer,
                                                    const ui::KernelGradients& files,
                                                    const std::shared_ptr<const ui::KernelGradientsAnswer>& found, bool busy);

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
  /// Records an opened output and its heads; once all are judged, `show_worst` selects the worst wrong head.
  void open(const Experiment& shown) { opened_ = heads_on_show(shown); }
  /// Selects the worst wrong head, unless another head was chosen meanwhile.
  void show_worst(ui::Session& session, const std::shared_ptr<const ui::JudgedView>& judged);
  /// Takes errors over tolerances from the verdict, once known.
  void take(const std::shared_ptr<const Result>& answer, const std::shared_ptr<const ui::HeadVerdict>& verdict);
  /// The answer with errors over tolerances, if it was given to `take`; another answer unchanged.
  std::shared_ptr<const Result> shown(std::shared_ptr<const Result> answer) const;

 private:
  std::optional<HeadsOnShow> opened_;
  std::shared_ptr<const Result> answer_, shown_;
  std::shared_ptr<const ui::HeadVerdict> verdict_;
};

}  // namespace attoscope::app
