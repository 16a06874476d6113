#include "app/threads/each_head.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace attoscope::app {
namespace {

/// Progress over all heads, from the progress of each; many threads may call `tell`.
class HeadsProgress {
 public:
  /// Calls `told`, if not empty, one call at a time; it must outlive this object.
  HeadsProgress(std::size_t heads, const Progress& told) : shares_(heads), told_(told) {}

  void tell(std::size_t head, double share) {
    if (!told_) return;
    const std::lock_guard lock(mutex_);
    if (share <= shares_[head]) return;
    sum_ += share - shares_[head];
    shares_[head] = share;
    told_(std::min(1.0, sum_ / static_cast<double>(shares_.size())));
  }

 private:
  std::mutex mutex_;
  std::vector<double> shares_;
  double sum_ = 0;
  const Progress& told_;
};

}  // namespace

void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work) {
  HeadsProgress progress(heads.size(), options.progress);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_heads = [&] {
    ComputeCache cache;
    Options own = options;
    own.threads = heads.size() == 1 ? options.threads : 1;
    own.cache = &cache;
    own.cancelled = [&] { return failed || (options.cancelled && options.cancelled()); };
    try {
      for (std::size_t i = next++; i < heads.size(); i = next++) {
        if (own.cancelled()) throw Stopped{};
        if (options.progress) own.progress = [&progress, i](double share) { progress.tell(i, share); };
        work(heads[i], own);
        progress.tell(i, 1);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto wanted = std::min(static_cast<std::size_t>(thread_count(options.threads)), heads.size());
    for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back(take_heads);
    take_heads();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attoscope::app
