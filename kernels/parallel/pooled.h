/// Loops whose calls all threads share, with the standard library alone. They may be nested. A thread that waits for the end of
/// a loop does meanwhile what is nested in that loop, and nothing else: so two threads never wait for each other, and what a
/// thread began is interrupted by its own parts alone. The first exception of a loop ends it and is thrown to its caller.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

namespace attoscope::pooled {

/// A function of an index, which lives elsewhere.
struct Body {
  void (*call)(const void* f, std::size_t i);
  const void* f;
  void operator()(std::size_t i) const { call(f, i); }
};

/// body(i) for 0 .. count - 1.
void run(std::size_t count, Body body);

/// The processors that this process may use.
int default_concurrency();
/// The threads that may work together where this is called.
int max_concurrency();

/// f(i) for first .. end - 1. With oneTBB, a thread takes neighbours together.
template <class Index, class F>
void parallel_for(Index first, Index end, const F& f) {
  if (first >= end) return;
  const auto call = [&](std::size_t i) { f(static_cast<Index>(first + static_cast<Index>(i))); };
  using Call = decltype(call);
  run(static_cast<std::size_t>(end - first), {[](const void* g, std::size_t i) { (*static_cast<Call*>(g))(i); }, &call});
}
/// The same for calls that take long: a thread takes one, then the next that nobody has.
template <class Index, class F>
void parallel_for_single(Index first, Index end, const F& f) {
  parallel_for(first, end, f);
}

/// f(), whatever the index.
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

/// f(): a thread that waits in it does nothing that lies outside. Here, none ever does.
template <class F>
auto isolated(const F& f) {
  return f();
}

/// Loops within `execute` are done by at most so many threads, of which the caller is one; 0: by all.
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

  /// Changed by the pool alone, under its lock.
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

/// A value for each thread that asks for one.
template <class T>
class PerThread {
 public:
  /// This thread's, made when it first asks.
  T& local() {
    const std::lock_guard lock(mutex_);
    return values_[std::this_thread::get_id()];
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, T> values_;
};

}  // namespace attoscope::pooled
