/// Work on all threads, by oneTBB or by the standard library alone (ATTOSCOPE_PARALLEL=threads). kernels/parallel/pooled.h
/// documents these functions.
#pragma once

#ifdef ATTOSCOPE_PARALLEL_THREADS

#include "kernels/parallel/pooled.h"

namespace attoscope {
using pooled::default_concurrency;
using pooled::isolated;
using pooled::max_concurrency;
using pooled::parallel_for;
using pooled::parallel_for_single;
using pooled::parallel_invoke;
using pooled::PerThread;
using pooled::ThreadLimit;
}  // namespace attoscope

#else

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

namespace attoscope {

using tbb::parallel_invoke;
using tbb::info::default_concurrency;
using tbb::this_task_arena::max_concurrency;

template <class Index, class F>
void parallel_for(Index first, Index end, const F& f) {
  tbb::parallel_for(first, end, f);
}

template <class Index, class F>
void parallel_for_single(Index first, Index end, const F& f) {
  tbb::parallel_for(first, end, f, tbb::simple_partitioner{});
}

template <class F>
auto isolated(const F& f) {
  return tbb::this_task_arena::isolate(f);
}

class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) : arena_(threads > 0 ? threads : tbb::task_arena::automatic) {}
  int threads() const { return arena_.max_concurrency(); }
  template <class F>
  auto execute(const F& f) {
    return arena_.execute(f);
  }

 private:
  tbb::task_arena arena_;
};

template <class T>
using PerThread = tbb::enumerable_thread_specific<T>;

}  // namespace attoscope

#endif

namespace attoscope {

/// Calls f() on at most `threads` threads; 0: all threads.
template <class F>
auto on_threads(int threads, const F& f) {
  return ThreadLimit(threads).execute(f);
}

}  // namespace attoscope
