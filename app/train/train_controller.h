/// The controller of the Train workspace: passes requests to the thread that trains, and plan, record and progress to the
/// panels.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

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
  std::string wrong;  ///< one sentence; empty: it can
};
PlannedTraining planned(const TrainPlan& plan, const TextAnswer& text);

/// The session's whole plan trained before it returns, as the panels see it. Throws Stopped when cancelled; where the plan is
/// wrong, or diverges, the view says so.
ui::TrainView computed_training(const ui::Session& session, const Cancelled& cancelled = {});

/// Trains as the panels ask, in the background. Knows no window.
///
/// No step begins while Explore computes, nor in the fifth of a second after that; otherwise training has all threads.
class TrainController {
 public:
  /// `published` is called from other threads whenever `update` has something to take.
  TrainController(std::function<void()> published, TrainKeeping keeping, MakeDevice make = primitives_on);

  /// Reads the plan and its text if the Train workspace is shown, and takes the reports of the thread. An opened checkpoint
  /// puts its plan into the session.
  void update(ui::Session& session, bool explore_computes);
  /// The input of the panels in this frame.
  ui::TrainView view() const;
  /// Starts, or passes to the thread, what the request asks for.
  void handle(const ui::TrainRequest& request, const ui::Session& session);
  /// The newest note about a finished action, one sentence, returned once.
  std::optional<std::string> take_note();
  /// Q, K, V that were asked for, once.
  std::optional<CapturedFile> take_captured();
  /// True during training and during work that ends by itself.
  bool busy() const;

 private:
  using Clock = std::chrono::steady_clock;

  void plan(const ui::Session& session);
  void take(ui::Session& session);

  std::string left_over_;
  int seeds_ = 1;                                ///< that the session asks for
  std::optional<TrainPlan> read_;                ///< the source of `planned_`
  std::shared_ptr<const TextAnswer> read_text_;  ///< and its text
  std::optional<PlannedTraining> planned_;       ///< none: the text is still being read
  bool reading_ = false;                         ///< the text was being read when the newest answer was taken
  TrainTold told_;
  std::string note_;
  std::optional<CapturedFile> captured_;
  std::optional<TrainOrder> waiting_;  ///< for the text
  Clock::time_point explored_at_{};
  SideQuestion<TextSource, TextAnswer> text_;  ///< last, so they join before anything they use goes away
  TrainThread thread_;
};

}  // namespace attoscope::app
