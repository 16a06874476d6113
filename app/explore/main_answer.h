/// The answer to a session's experiment, computed by a worker, with a preview of some rows if all take long.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "ui/frame/panel_input.h"

namespace attoscope::app {

/// Question to the worker.
struct Question {
  Experiment experiment;
  std::string device;  ///< Options::device
  Wanted wanted{};     ///< Options::wanted
  int reading = 0;     ///< changes when numbers that the experiment's digests do not cover are read again
  friend bool operator==(const Question&, const Question&) = default;
};

/// Rows of the preview; 0: none. `rows_at_a_time`: rows that the GPU holds (0: CPU). Fewer rows would not be faster on a GPU:
/// time grows with the keys, and with the rows only once the GPU is full.
int first_rows(const Problem& problem, int rows_at_a_time);

/// Computes an answer: `compute`, or a test's replacement.
using Compute = std::function<Result(const Experiment&, const Options&)>;

/// Used by one thread; the worker has its own.
class MainAnswer {
 public:
  using Answer = std::shared_ptr<const Result>;

  /// Another thread calls `published` whenever `update` has something to take.
  MainAnswer(std::function<void()> published, Compute compute);

  /// The last question; none if there was none yet.
  const std::optional<Question>& asked() const { return asked_; }
  void ask(const Question& question);
  /// Takes the newest answer. Returns a sentence on it, or on its failure, or "".
  std::string update();
  /// Stops the computation.
  void cancel() { worker_.cancel(); }

  /// True while an answer is being computed.
  bool busy() const { return worker_.busy(); }
  /// The answer to all rows of `experiment`, as of the last update; null: unknown.
  Answer complete(const Experiment& experiment) const;
  /// The newest answer, of some rows or all; null: none yet.
  const Answer& newest() const { return result_; }
  /// Input of the panels; `device` is empty without an answer.
  ui::AnswerInput input() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Background = Worker<Question, Answer>;

  static Background::Work work(Compute compute);
  std::string stopped_sentence() const;

  std::optional<Question> asked_;
  Clock::time_point asked_at_{};
  bool busy_ = false;  ///< an answer was being computed when the newest one was taken
  Answer result_;
  Background worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
