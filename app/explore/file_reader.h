/// Files that take longer than a frame to read, and other long texts: read by a thread of their own, one after the other.
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

namespace attoscope {

/// Belongs to the window's thread, which does whatever follows of what was read. Destruction stops reading.
class FileReader {
 public:
  /// What follows, on the window's thread; throws in a sentence where that fails.
  using Then = std::function<void(Session&)>;
  /// Reads, on another thread, and returns what follows; throws in a sentence where it fails.
  using Read = std::function<Then(const ReadWatch&)>;
  /// Told the sentence of what failed, or was cancelled.
  using Failed = std::function<void(const std::string& sentence)>;

  /// `published` is called from the other thread whenever `update` has something to do.
  explicit FileReader(std::function<void()> published) : jobs_(std::move(published)) {}

  /// Reads after whatever is being read.
  void read(Read read, Failed failed);
  /// Does what follows of all that has been read.
  void update(Session& session);
  /// Stops reading, and drops what waits for it; what cannot be stopped is read for nothing.
  void cancel();

  bool busy() const { return !tasks_.empty(); }
  /// How much of what is being read is read, 0 .. 1, and for how long there has been something to read.
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
    std::atomic<double> share{0};
  };
  static void work(Task& task, const Cancelled& cancelled);

  std::deque<std::shared_ptr<Task>> tasks_;  ///< in their order
  Clock::time_point since_{};
  JobQueue jobs_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
