/// One thread that answers the newest question: nothing queues, latest wins.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace attoscope {

/// Holds the newest question and the newest answer; a thread computes one from the other.
///
/// A new question does not cancel the running work: it finishes and publishes, or a drag would starve the picture. Only work
/// that outlasts its patience is told to stop while a newer question waits; patience then doubles until something is
/// published, so that a long drag over slow work still shows pictures. Work that has published a first answer has no claim to
/// patience any more. Destruction stops the work at its next poll and joins.
template <class Question, class Answer>
class Worker {
 public:
  using Poll = std::function<bool()>;           ///< true asks the work to stop by throwing; may be called from many threads
  using Publish = std::function<void(Answer)>;  ///< shows a first answer while the work goes on
  using Work = std::function<Answer(const Question&, const Poll& cancelled, const Publish& publish)>;
  using Patience = std::chrono::milliseconds;

  /// `published` is called on the worker's thread whenever an answer or an error is there to be taken; it may be empty.
  Worker(Work work, std::function<void()> published, Patience patience = Patience(250))
      : work_(std::move(work)),
        published_(std::move(published)),
        patience_(patience),
        thread_([this](std::stop_token stop) { run(stop); }) {}

  /// The same for work that answers at once: (question, cancelled) -> answer.
  template <class F>
    requires std::is_invocable_r_v<Answer, F, const Question&, const Poll&>
  Worker(F work, std::function<void()> published, Patience patience = Patience(250))
      : Worker(Work([work = std::move(work)](const Question& question, const Poll& cancelled, const Publish&) mutable {
                 return work(question, cancelled);
               }),
               std::move(published), patience) {}

  /// Asks the running work to stop and waits for it.
  ~Worker() = default;

  /// Replaces the waiting question, if there is one.
  void submit(Question question) {
    {
      const std::lock_guard lock(mutex_);
      question_ = std::move(question);
      waiting_ = true;
    }
    wake_.notify_one();
  }

  /// The newest answer that was not yet taken. Throws what the work threw instead, once.
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
    return std::exchange(question_, std::nullopt);
  }

  /// Works, and fills the answer's slot. False if the work gave up, because it was asked to, before it had
  /// shown anything.
  bool answer(const Question& question, const std::stop_token& stop, Patience patience) {
    const Clock::time_point start = Clock::now();
    std::atomic<bool> asked{false}, shown{false};
    const Poll cancelled = [&] {
      if (!stop.stop_requested() && !(waiting_ && (shown || Clock::now() - start > patience))) return false;
      asked = true;
      return true;
    };
    const Publish publish = [&](Answer first) {
      {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(first);
      }
      shown = true;
      if (published_ && !stop.stop_requested()) published_();
    };
    std::optional<Answer> answer;
    std::exception_ptr error;
    try {
      answer = work_(question, cancelled, publish);
    } catch (...) {
      if (asked) return shown;
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    error_ = std::move(error);
    working_ = false;
    return true;
  }

  const Work work_;
  const std::function<void()> published_;
  const Patience patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Question> question_;  ///< newest, not yet begun
  std::optional<Answer> answer_;      ///< newest, not yet taken
  std::exception_ptr error_;          ///< instead of an answer
  bool working_ = false;
  std::atomic<bool> waiting_{false};  ///< question_.has_value(), to be polled without the mutex
  std::jthread thread_;               ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
