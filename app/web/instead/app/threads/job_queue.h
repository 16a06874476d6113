/// Replaces a thread: `take` runs the next job within the page's turn.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "app/threads/job.h"

namespace attoscope::app {

/// The class of app/threads/job_queue.h for a page. Nothing interrupts a job.
class JobQueue {
 public:
  explicit JobQueue(std::function<void()> done) : done_(std::move(done)) {}

  void add(JobWork job) {
    jobs_.push_back(std::move(job));
    if (done_) done_();
  }
  void stop() { jobs_.clear(); }
  bool busy() const { return !jobs_.empty(); }
  std::optional<JobOutcome> take() {
    if (jobs_.empty()) return std::nullopt;
    const JobWork job = std::move(jobs_.front());
    jobs_.pop_front();
    return outcome_of(job, [] { return false; });
  }

 private:
  const std::function<void()> done_;
  std::deque<JobWork> jobs_;
};

}  // namespace attoscope::app
