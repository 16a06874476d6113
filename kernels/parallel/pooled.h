/// Parallel loops with the standard library alone. They may be nested. While a thread waits for the end of a loop, it runs only
/// loops nested in that loop: two threads never wait for each other, and a thread's work is interrupted only by parts of
/// itself. The first exception of a loop ends the loop and is rethrown to its caller.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

namespace attoscope::pooled {

/// A function of an index; a non-owning reference.
struct Body {
  void (*call)(const void* f, std::size_t i);
  const void* f;
  void operator()(std::size_t i) const { call(f, i); }
};

/// Calls body(i) for 0 .. count - 1, in parallel.
void run(std::size_t count, Body body);

/// Number of processors that this process may use.
int default_concurrency();
/// Number of threads that may work together in the current context.
int max_concurrency();

/// Calls f(i) for first .. end - 1, in parallel. With oneTBB, a thread takes several adjacent indices.
template <class Index, class F>
void parallel_for(Index first, Index end, const F& f) {
  if (first >= end) return;
  const auto call = [&](std::size_t i) { f(static_cast<Index>(first + static_cast<Index>(i))); };
  using Call = decltype(call);
  run(static_cast<std::size_t>(end - first), {[](const void* g, std::size_t i) { (*static_cast<Call*>(g))(i); }, &call});
}
/// `parallel_for` for long calls: a thread takes a single index at a time.
template <class Index, class F>
void parallel_for_single(Index first, Index end, const F& f) {
  parallel_for(first, end, f);
}

/// Calls f() and ignores the index.
template <class F>
void call_once(const void* f, std::size_t) {
  (*static_cast<const F*>(f))();
}
/// Calls each function once.
template <class... F>
void parallel_invoke(const F&... f) {
  const std::array<Body, sizeof...(F)> all{Body{&call_once<F>, &f}...};
  parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) { all[i](i); });
}

/// Returns f(). A thread that waits inside f runs no work from outside; this implementation never does.
template <class F>
auto isolated(const F& f) {
  return f();
}

/// Limits loops within `execute` to `threads` threads, including the caller; 0: all.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ThreadLimit(ThreadLimit&&) = delete;
  int threads() const { return threads_; }

  template <class F>
  auto execute(const F& f) {
    const Entered entered(*this);
    return f();
  }

  /// Number of threads inside; changed only by the pool, under its lock.
  int inside = 0;

 private:
  class Entered {
   public:
    explicit Entered(ThreadLimit& limit);
    ~Entered();
    Entered(Entered&&) = delete;

   private:
    ThreadLimit* before_;
  };
  int threads_;
};

/// One value per thread, created on demand.
template <class T>
class PerThread {
 public:
  /// This thread's value; created at the first call.
  T& local() {
    const std::lock_guard lock(mutex_);
    return values_[std::this_thread::get_id()];
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, T> values_;
};

}  // namespace attoscope::pooled
