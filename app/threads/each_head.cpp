#include "app/threads/each_head.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace attoscope {
namespace {

/// Threads that take heads one by one; the first failure stops all.
class Crew {
 public:
  Crew(const std::vector<int>& heads, const Options& options, const std::function<void(int, const Options&)>& work)
      : heads_(heads), options_(options), work_(work), progress_(heads.size(), options.progress) {}

  void run() {
    const unsigned machine = std::max(std::thread::hardware_concurrency(), 1U);
    const std::size_t wanted = options_.threads > 0 ? static_cast<std::size_t>(options_.threads) : machine;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < std::min(wanted, heads_.size()); ++i) threads.emplace_back([this] { take_heads(); });
      take_heads();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  bool stops() const { return failed_ || (options_.cancelled && options_.cancelled()); }

  void take_heads() {
    ComputeCache cache;
    Options own = options_;
    own.threads = 1;
    own.cache = &cache;
    own.cancelled = [this] { return stops(); };
    for (std::size_t i = next_++; i < heads_.size(); i = next_++) {
      try {
        if (stops()) throw Stopped{};
        if (options_.progress) own.progress = [this, i](double share) { progress_.tell(i, share); };
        work_(heads_[i], own);
        progress_.tell(i, 1);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        failed_ = true;
        return;
      }
    }
  }

  const std::vector<int>& heads_;
  const Options& options_;
  const std::function<void(int, const Options&)>& work_;
  HeadsProgress progress_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void HeadsProgress::tell(std::size_t head, double share) {
  if (!told_) return;
  const std::lock_guard lock(mutex_);
  if (share <= shares_[head]) return;
  sum_ += share - shares_[head], shares_[head] = share;
  told_(std::min(1.0, sum_ / static_cast<double>(shares_.size())));
}

void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work) {
  Crew(heads, options, work).run();
}

}  // namespace attoscope
