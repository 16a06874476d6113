/// The answer to a session's experiment: asked of a worker, with some rows first where all of them take long.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "ui/frame/panel_input.h"

namespace attoscope {

/// What a worker is asked.
struct Question {
  Experiment experiment;
  std::string device;  ///< as Options::device
  Wanted wanted{};     ///< as Options::wanted
  friend bool operator==(const Question&, const Question&) = default;
};

/// What answers: `compute`, or a test's stand-in.
using Compute = std::function<Result(const Experiment&, const Options&)>;

/// Belongs to one thread; the worker has its own.
class MainAnswer {
 public:
  using Answer = std::shared_ptr<const Result>;

  /// `published` is called from another thread whenever `update` has something to take.
  MainAnswer(std::function<void()> published, Compute compute);

  /// The question that was asked last; none: nothing was asked yet.
  const std::optional<Question>& asked() const { return asked_; }
  void ask(const Question& question);
  /// Takes the newest answer. Returns a sentence about it, or about why there is none; "" where there is nothing to say.
  std::string update();
  /// Stops what is being computed.
  void cancel();

  /// True while an answer is on its way.
  bool busy() const { return worker_.busy(); }
  /// The answer to all rows of `experiment`, as of the last update; null: it is not known.
  Answer complete(const Experiment& experiment) const;
  /// The newest one, of some rows or all; null: none yet.
  const Answer& newest() const { return result_; }
  /// What the panels are told; `device` is empty while there is no answer.
  AnswerInput input() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// What the worker's thread and the window's tell each other about the work.
  struct Effort {
    std::atomic<bool> unwanted{false};
    std::atomic<double> share{0};      ///< how much is done, 0 .. 1
    std::atomic<Clock::rep> began{0};  ///< when, in the clock's ticks
  };

  static Worker<Question, Answer>::Work work(std::shared_ptr<Effort> effort, Compute compute);
  std::string stopped_sentence() const;

  std::optional<Question> asked_;
  Clock::time_point asked_at_{};
  std::shared_ptr<Effort> effort_ = std::make_shared<Effort>();
  bool busy_ = false;  ///< an answer was on its way when the newest one was taken
  Answer result_;
  Worker<Question, Answer> worker_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
