/// Runs jobs one after another on a thread; each ends with a sentence.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/threads/job.h"

namespace attoscope::app {

/// Unlike Worker, it drops no job for a newer one. Destruction stops the running job at its next poll, drops waiting ones, and
/// joins.
class JobQueue {
 public:
  /// The thread calls `done` (may be empty) whenever `take` has something.
  explicit JobQueue(std::function<void()> done) : done_(std::move(done)) {}

  /// The first job starts the thread.
  void add(JobWork job) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    wake_.notify_one();
  }
  /// Drops waiting jobs and cancels the running one.
  void stop() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    unwanted_ = true;
  }
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return working_ || !waiting_.empty();
  }
  /// The oldest outcome not taken yet.
  std::optional<JobOutcome> take() {
    const std::lock_guard lock(mutex_);
    if (outcomes_.empty()) return std::nullopt;
    JobOutcome first = std::move(outcomes_.front());
    outcomes_.pop_front();
    return first;
  }

 private:
  void run(const std::stop_token& stop) {
    while (std::optional<JobWork> job = next(stop)) {
      JobOutcome outcome = outcome_of(*job, [&] { return unwanted_ || stop.stop_requested(); });
      {
        const std::lock_guard lock(mutex_);
        outcomes_.push_back(std::move(outcome));
        working_ = false;
      }
      if (done_ && !stop.stop_requested()) done_();
    }
  }

  /// Waits for a job and takes it; none when the thread ends.
  std::optional<JobWork> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait(lock, stop, [this] { return !waiting_.empty(); }) || stop.stop_requested()) return std::nullopt;
    JobWork job = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    unwanted_ = false;
    return job;
  }

  const std::function<void()> done_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<JobWork> waiting_;
  std::deque<JobOutcome> outcomes_;
  bool working_ = false;
  std::atomic<bool> unwanted_{false};  ///< cancels the running job
  std::jthread thread_;                ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
