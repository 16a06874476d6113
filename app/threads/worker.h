/// A thread that answers the newest question; older questions are dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "app/threads/effort.h"

namespace attoscope::app {

/// Holds the newest question and the newest answer; a thread computes one from the other.
///
/// A new question does not cancel the running work: it finishes and publishes, otherwise a drag would show no picture. Work
/// that runs longer than `patience` is cancelled while a newer question waits; patience then doubles until something is
/// published, so that a long drag over slow work still shows pictures. Work that has published a first answer is cancelled as
/// soon as a newer question waits. `cancel` stops it as well; an exception that it then throws is published. Destruction
/// cancels the work at its next poll and joins.
template <class Question, class Answer>
class Worker {
 public:
  using Poll = std::function<bool()>;  ///< true: the work must stop by throwing; thread-safe
  using Publish = app::Publish<Answer>;
  using Work = std::function<Answer(const Question&, const Poll& cancelled, const Publish& publish)>;
  using Patience = std::chrono::milliseconds;

  /// The worker's thread calls `published` (may be empty) whenever `take` has an answer or an error.
  Worker(Work work, std::function<void()> published, Patience patience = Patience(250))
      : work_(std::move(work)), published_(std::move(published)), patience_(patience) {}

  /// Cancels the running work and waits for it.
  ~Worker() = default;

  /// Sets the next question, replacing a waiting one. The first starts the thread: many workers of a window never get a
  /// question.
  void submit(Question question) {
    const std::lock_guard lock(mutex_);
    if (!working_) effort_.tell(0);
    question_ = std::move(question);
    waiting_ = true;
    ++asked_;
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    wake_.notify_one();
  }

  /// Cancels all questions submitted so far.
  void cancel() { unwanted_ = asked_.load(); }

  /// The newest answer not taken yet; or throws an exception of the work, once.
  std::optional<Answer> take() {
    std::unique_lock lock(mutex_);
    if (std::exception_ptr error = std::exchange(error_, nullptr)) {
      lock.unlock();
      std::rethrow_exception(std::move(error));
    }
    return std::exchange(answer_, std::nullopt);
  }

  /// True while a question waits or is being answered.
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return working_ || question_.has_value();
  }
  /// Progress of the current question, or else of the last one.
  const Effort& effort() const { return effort_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop) {
    Patience patience = patience_;
    while (std::optional<Question> question = next(stop)) {
      const bool told = answer(*question, stop, patience);
      patience = told ? patience_ : 2 * patience;
      if (told && published_ && !stop.stop_requested()) published_();
    }
  }

  /// Waits for a question and takes it; none when the worker ends.
  std::optional<Question> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    working_ = false;
    if (!wake_.wait(lock, stop, [this] { return question_.has_value(); }) || stop.stop_requested()) return std::nullopt;
    working_ = true;
    waiting_ = false;
    effort_.tell(0);
    answered_ = asked_.load();
    return std::exchange(question_, std::nullopt);
  }

  /// Runs the work and stores its answer. False if the work was cancelled before it published anything.
  bool answer(const Question& question, const std::stop_token& stop, Patience patience) {
    const Clock::time_point start = Clock::now();
    std::atomic<bool> asked{false}, shown{false};
    const Poll cancelled = [&] {
      if (unwanted_ >= answered_) return true;
      if (!stop.stop_requested() && !(waiting_ && (shown || Clock::now() - start > patience))) return false;
      asked = true;
      return true;
    };
    const auto show = [&](Answer first) {
      {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(first);
      }
      shown = true;
      if (published_ && !stop.stop_requested()) published_();
    };
    const Publish publish{show, [this](double share) { effort_.tell(share); }};
    std::optional<Answer> answer;
    std::exception_ptr error;
    try {
      answer = work_(question, cancelled, publish);
    } catch (...) {
      if (asked) return shown;
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (answer || !shown) answer_ = std::move(answer);  // a published answer stays if the work then failed
    error_ = std::move(error);
    working_ = false;
    return true;
  }

  const Work work_;
  const std::function<void()> published_;
  const Patience patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Question> question_;  ///< newest, not started
  std::optional<Answer> answer_;      ///< newest, not taken
  std::exception_ptr error_;          ///< instead of an answer
  bool working_ = false;
  Effort effort_;
  std::atomic<bool> waiting_{false};                                 ///< question_.has_value(), readable without the mutex
  std::atomic<std::uint64_t> asked_{0}, answered_{0}, unwanted_{0};  ///< numbers of questions: the newest, the one begun last,
                                                                     ///< and the last that was cancelled
  std::jthread thread_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
