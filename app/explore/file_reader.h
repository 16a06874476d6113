/// Reads large files and long texts on a thread, one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "app/tensors/stored_tensor.h"
#include "app/threads/job_queue.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Used on the window's thread, which applies the results. Destruction stops reading.
class FileReader {
 public:
  /// Applies a result, on the window's thread; throws with one sentence on failure.
  using Then = std::function<void(ui::Session&)>;
  /// Reads on another thread and returns the function that applies the result; throws with one sentence on failure.
  using Read = std::function<Then(const ReadWatch&)>;
  /// Receives the sentence on a failure or cancellation.
  using Failed = std::function<void(const std::string& sentence)>;

  /// The other thread calls `published` whenever `update` has something to do.
  explicit FileReader(std::function<void()> published) : jobs_(std::move(published)) {}

  /// Queues a read.
  void read(Read read, Failed failed);
  /// Applies all finished reads.
  void update(ui::Session& session);
  /// Stops reading and drops the queue; the result of a read that cannot be stopped is ignored.
  void cancel();

  bool busy() const { return !tasks_.empty(); }
  /// Share of the current read, 0 .. 1, and seconds since the queue was last empty.
  double share() const { return tasks_.empty() ? 0 : tasks_.front()->share.load(); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    Read read;
    Failed failed;
    Then then{};
    std::string failure{};
    std::atomic<bool> done{false};
    std::atomic<bool> early{false};  ///< its file was not fetched yet: `update` starts it again
    std::atomic<double> share{0};
  };
  void begin(const std::shared_ptr<Task>& task);
  static void work(Task& task, const Cancelled& cancelled);

  std::deque<std::shared_ptr<Task>> tasks_;  ///< in the order of `read`
  Clock::time_point since_{};
  JobQueue jobs_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
