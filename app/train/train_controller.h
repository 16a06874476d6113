/// Controller of the Train workspace: passes requests to the training thread, and plan, record and progress to the panels.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "app/threads/side_question.h"
#include "app/train/train_thread.h"
#include "ui/frame/train_answer.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The result of reading a plan's text.
struct TextAnswer {
  TextSource asked, text;
  std::string wrong;  ///< the reason if there is no text: one sentence
};

/// A session's plan with its text, or the reason why it cannot be trained.
struct PlannedTraining {
  TrainPlan plan;
  std::string wrong;  ///< one sentence; "" if it can
};
PlannedTraining planned(const TrainPlan& plan, const TextAnswer& text);

/// Trains the session's whole plan and returns its view. Throws Stopped when cancelled; a wrong plan or a divergence is in the
/// view's progress.
ui::TrainView computed_training(const ui::Session& session, const Cancelled& cancelled = {});

/// Trains in the background on the panels' requests. Independent of the window.
///
/// No step begins while Explore computes, nor within 0.2 s after that; otherwise training has all threads.
class TrainController {
 public:
  /// `published` is called from other threads whenever `update` has something to take.
  TrainController(std::function<void()> published, TrainKeeping keeping, MakeDevice make = primitives_on);

  /// Reads the plan and its text if the Train workspace is shown, and takes the reports of the thread. An opened checkpoint
  /// puts its plan into the session.
  void update(ui::Session& session, bool explore_computes);
  /// The input of the panels in this frame.
  ui::TrainView view() const;
  /// Starts the request, or passes it to the thread.
  void handle(const ui::TrainRequest& request, const ui::Session& session);
  /// The newest note about a finished action, one sentence, returned once.
  std::optional<std::string> take_note();
  /// Requested Q, K, V, returned once.
  std::optional<CapturedFile> take_captured();
  /// True during training and during work that ends by itself.
  bool busy() const;

 private:
  using Clock = std::chrono::steady_clock;

  void plan(const ui::Session& session);
  void take(ui::Session& session);

  std::string left_over_;
  int seeds_ = 1;                                ///< number of seeds of the session
  std::optional<TrainPlan> read_;                ///< the source of `planned_`
  std::shared_ptr<const TextAnswer> read_text_;  ///< text of `planned_`
  std::optional<PlannedTraining> planned_;       ///< none while the text is read
  bool reading_ = false;                         ///< the text was still being read when the newest answer was taken
  TrainTold told_;
  std::string note_;
  std::optional<CapturedFile> captured_;
  std::optional<TrainOrder> waiting_;  ///< waits for the text
  Clock::time_point explored_at_{};
  /// The text of a source, and the state of its file.
  SideQuestion<std::pair<TextSource, std::string>, TextAnswer>
      text_;  ///< last, so they join before anything they use goes away
  TrainThread thread_;
};

}  // namespace attoscope::app
