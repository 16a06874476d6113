#include "kernels/parallel/pooled.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace attoscope::pooled {
namespace {

/// A running loop; owned by the call that waits for its end.
struct Loop {
  Body body;
  std::size_t count;
  ThreadLimit* limit;  ///< null: no limit
  const Loop* outer;   ///< the enclosing loop, or null
  std::atomic<std::size_t> next{0};
  int helpers = 0;  ///< threads in the loop besides its caller; guarded, like `error`, by the pool's lock
  std::exception_ptr error;

  bool is_within(const Loop* other) const {
    for (const Loop* loop = this; loop != nullptr; loop = loop->outer)
      if (loop == other) return true;
    return other == nullptr;
  }
};

/// The loop and the limit of the current thread.
struct Place {
  Loop* loop = nullptr;
  ThreadLimit* limit = nullptr;
};
thread_local Place here;

/// Blocks all signals for threads started during its lifetime: signals are for threads that wait for them.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(WithoutSignals&&) = delete;

 private:
  sigset_t before_;
};

class Pool {
 public:
  void run(std::size_t count, Body body) {
    Loop loop{body, count, here.limit, here.loop, {}, 0, {}};
    std::unique_lock lock(mutex_);
    grow(max_concurrency() - 1);
    open_.push_back(&loop);
    lock.unlock();
    changed_.notify_all();
    work(loop);
    lock.lock();
    std::erase(open_, &loop);
    while (loop.helpers > 0) wait_or_help(lock, &loop);
    if (loop.error) std::rethrow_exception(loop.error);
  }

  void enter(ThreadLimit& limit, int threads) {
    const std::lock_guard lock(mutex_);
    limit.inside += threads;
  }

 private:
  /// Starts detached threads, which wait for loops until the process ends.
  void grow(int workers) {
    if (workers_ >= workers) return;
    const WithoutSignals quiet;
    try {
      for (; workers_ < workers; ++workers_)
        std::thread([this] {
          std::unique_lock lock(mutex_);
          while (true) wait_or_help(lock, nullptr);
        }).detach();
    } catch (const std::system_error&) {  // the system allows no more threads: the existing ones do all work
    }
  }

  /// Helps a loop within `outer`; if none needs help, waits for a change.
  void wait_or_help(std::unique_lock<std::mutex>& lock, const Loop* outer) {
    const auto found = std::ranges::find_if(open_, [&](const Loop* loop) {
      return loop->next < loop->count && (!enters(*loop) || loop->limit->inside < loop->limit->threads()) &&
             loop->is_within(outer);
    });
    found == open_.end() ? changed_.wait(lock) : help(lock, **found);
  }

  /// True if this thread would count as an additional thread within the loop's limit.
  static bool enters(const Loop& loop) { return loop.limit != nullptr && loop.limit != here.limit; }

  void help(std::unique_lock<std::mutex>& lock, Loop& loop) {
    ThreadLimit* const limit = enters(loop) ? loop.limit : nullptr;
    ++loop.helpers;
    if (limit != nullptr) ++limit->inside;
    lock.unlock();
    work(loop);
    lock.lock();
    if (limit != nullptr) --limit->inside;
    if (--loop.helpers == 0 || limit != nullptr) changed_.notify_all();
  }

  void work(Loop& loop) {
    const Place before = std::exchange(here, {&loop, loop.limit});
    try {
      for (std::size_t i = 0; (i = loop.next.fetch_add(1, std::memory_order_relaxed)) < loop.count;) loop.body(i);
    } catch (...) {
      loop.next = loop.count;
      const std::lock_guard lock(mutex_);
      if (!loop.error) loop.error = std::current_exception();
    }
    here = before;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Loop*> open_;  ///< outer loops first
  int workers_ = 0;
};

/// Never destroyed: its threads may still run while the process ends.
Pool& pool() {
  static Pool& only = *new Pool;
  return only;
}

int usable_processors() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int default_concurrency() {
  static const int count = usable_processors();
  return count;
}

int max_concurrency() { return here.limit != nullptr ? here.limit->threads() : default_concurrency(); }

void run(std::size_t count, Body body) {
  if (count > 1 && max_concurrency() > 1) return pool().run(count, body);
  for (std::size_t i = 0; i < count; ++i) body(i);
}

ThreadLimit::ThreadLimit(int threads) : threads_(threads > 0 ? threads : default_concurrency()) {}

ThreadLimit::Entered::Entered(ThreadLimit& limit) : before_(std::exchange(here.limit, &limit)) { pool().enter(limit, 1); }
ThreadLimit::Entered::~Entered() {
  pool().enter(*here.limit, -1);
  here.limit = before_;
}

}  // namespace attoscope::pooled
