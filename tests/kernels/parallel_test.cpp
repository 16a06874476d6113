// Loops on all threads, with this build's threading library and with the standard library's threads alone. Made to run under
// ThreadSanitizer.
#include "kernels/parallel/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/parallel/pooled.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;

struct Chosen {
  static void each(auto first, auto end, const auto& f) { parallel_for(first, end, f); }
  static void one_by_one(auto first, auto end, const auto& f) { parallel_for_single(first, end, f); }
  static void invoke(const auto&... f) { parallel_invoke(f...); }
  static void alone(const auto& f) { isolated(f); }
  static int concurrency() { return max_concurrency(); }
  using Limit = ThreadLimit;
  using Counts = PerThread<int>;
};

struct Pooled {
  static void each(auto first, auto end, const auto& f) { pooled::parallel_for(first, end, f); }
  static void one_by_one(auto first, auto end, const auto& f) { pooled::parallel_for_single(first, end, f); }
  static void invoke(const auto&... f) { pooled::parallel_invoke(f...); }
  static void alone(const auto& f) { pooled::isolated(f); }
  static int concurrency() { return pooled::max_concurrency(); }
  using Limit = pooled::ThreadLimit;
  using Counts = pooled::PerThread<int>;
};

template <class Threads>
class Parallel : public ::testing::Test {};
using Backends = ::testing::Types<Chosen, Pooled>;
TYPED_TEST_SUITE(Parallel, Backends);

/// Largest number of threads that were inside the work at the same time.
class Meter {
 public:
  void within(auto f) {
    {
      const std::lock_guard lock(mutex_);
      most_ = std::max(most_, ++now_[std::this_thread::get_id()] == 1 ? ++threads_ : threads_);
    }
    f();
    const std::lock_guard lock(mutex_);
    if (--now_[std::this_thread::get_id()] == 0) --threads_;
  }
  int most() const { return most_; }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, int> now_;
  int threads_ = 0, most_ = 0;
};

TYPED_TEST(Parallel, CallsEveryIndexOnce) {
  for (const int count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count) + 10);
    TypeParam::each(10, 10 + count, [&](int i) { ++calls[static_cast<std::size_t>(i)]; });
    TypeParam::one_by_one(std::size_t{0}, calls.size(), [&](std::size_t i) { ++calls[i]; });
    for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], i < 10 ? 1 : 2) << i << " of " << count;
  }
  TypeParam::each(5, 3, [](int) { FAIL(); });
}

TYPED_TEST(Parallel, LoopsAreNested) {
  typename TypeParam::Limit limit(4);
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::atomic<int> sum{0};
    limit.execute([&] {
      TypeParam::each(0, 5, [&](int i) {
        TypeParam::invoke([&] { TypeParam::one_by_one(0, 7, [&](int j) { sum += i * j; }); },
                          [&] { TypeParam::each(0, 3, [&](int) { TypeParam::each(0, 4, [&](int) { ++sum; }); }); },
                          [&] { ++sum; });
      });
    });
    EXPECT_EQ(sum, 10 * 21 + 5 * 12 + 5);
  }
}

TYPED_TEST(Parallel, ThrowsToTheCaller) {
  typename TypeParam::Limit limit(3);
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::string what;
    try {
      limit.execute([&] {
        TypeParam::invoke([&] { TypeParam::each(0, 100, [](int) {}); },
                          [&] {
                            TypeParam::one_by_one(0, 100, [&](int i) {
                              if (i == 37) throw std::invalid_argument("thirty-seven");
                            });
                          });
      });
    } catch (const std::invalid_argument& error) {
      what = error.what();
    }
    ASSERT_EQ(what, "thirty-seven");
  }
  EXPECT_EQ(limit.execute([] { return 5; }), 5);
}

TYPED_TEST(Parallel, IsCancelledByAThrow) {
  struct Gave {};
  std::atomic<bool> cancelled{false};
  std::atomic<int> calls{0};
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THROW(TypeParam::each(0, 1000,
                               [&](int) {
                                 TypeParam::each(0, 1000, [&](int) {
                                   if (cancelled) throw Gave();
                                   if (++calls == 20) cancelled = true;
                                   std::this_thread::sleep_for(1ms);
                                 });
                               }),
               Gave);
  EXPECT_LT(calls, 1000);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 60s);  // all of it would take minutes
}

TYPED_TEST(Parallel, KeepsToItsThreads) {
  for (const int threads : {1, 2, 3}) {
    typename TypeParam::Limit limit(threads);
    EXPECT_EQ(limit.threads(), threads);
    Meter meter;
    std::atomic<int> calls{0};
    const auto work = [&](int) {
      meter.within([&] {
        ++calls;
        std::this_thread::sleep_for(100us);
      });
    };
    limit.execute([&] {
      EXPECT_EQ(TypeParam::concurrency(), threads);
      TypeParam::each(0, 20, [&](int) {
        meter.within([&] { TypeParam::one_by_one(0, 5, work); });
        TypeParam::invoke([&] { work(0); }, [&] { work(1); });
      });
    });
    EXPECT_EQ(calls, 140);
    EXPECT_LE(meter.most(), threads);
  }
  EXPECT_GE(typename TypeParam::Limit(0).threads(), 1);
}

TYPED_TEST(Parallel, OneThreadIsTheCallers) {
  std::vector<int> order;
  const std::thread::id caller = std::this_thread::get_id();
  typename TypeParam::Limit(1).execute([&] {
    TypeParam::each(0, 8, [&](int i) {
      TypeParam::invoke([&] { EXPECT_EQ(std::this_thread::get_id(), caller); }, [&] { order.push_back(i); });
    });
  });
  EXPECT_EQ(order.size(), 8u);
}

// A thread that waits inside one part must not begin another part: both would use the same numbers of this thread.
TYPED_TEST(Parallel, AThreadThatWaitsBeginsNothingOutside) {
  typename TypeParam::Limit limit(4);
  std::atomic<int> twice{0};
  static thread_local int depth = 0;
  limit.execute([&] {
    TypeParam::one_by_one(0, 40, [&](int) {
      if (++depth > 1) ++twice;
      TypeParam::alone([&] { TypeParam::one_by_one(0, 4, [](int) { std::this_thread::sleep_for(200us); }); });
      --depth;
    });
  });
  EXPECT_EQ(twice, 0);
}

TYPED_TEST(Parallel, SeveralThreadsCallAtOnce) {
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  typename TypeParam::Limit shared(2);
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        TypeParam::each(0, 10, [&](int) { ++sum; });
        shared.execute([&] { TypeParam::each(0, 10, [&](int) { ++sum; }); });
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 20 * 20);
}

TYPED_TEST(Parallel, EveryThreadHasItsOwn) {
  typename TypeParam::Counts counts;
  std::mutex mutex;
  std::map<std::thread::id, std::set<int*>> places;
  TypeParam::one_by_one(0, 200, [&](int) {
    int& mine = counts.local();
    ++mine;
    const std::lock_guard lock(mutex);
    places[std::this_thread::get_id()].insert(&mine);
  });
  std::set<int*> all;
  int sum = 0;
  for (const auto& [thread, own] : places) {
    EXPECT_EQ(own.size(), 1u);
    all.insert(*own.begin());
    sum += **own.begin();
  }
  EXPECT_EQ(all.size(), places.size());
  EXPECT_EQ(sum, 200);
}

/// True if `threads` threads call this within 20 s.
bool meet(std::atomic<int>& here, int threads) {
  ++here;
  for (const auto until = std::chrono::steady_clock::now() + 20s; here < threads; std::this_thread::yield())
    if (std::chrono::steady_clock::now() > until) return false;
  return true;
}

TEST(Pooled, SharesALoop) {
  std::atomic<int> here{0}, met{0};
  pooled::ThreadLimit(3).execute([&] { pooled::parallel_for(0, 3, [&](int) { met += meet(here, 3); }); });
  EXPECT_EQ(met, 3);
}

TEST(Pooled, AThreadThatWaitsHelpsWithWhatItWaitsFor) {
  std::atomic<int> here{0}, met{0};
  pooled::ThreadLimit(2).execute(
      [&] { pooled::parallel_invoke([] {}, [&] { pooled::parallel_for(0, 2, [&](int) { met += meet(here, 2); }); }); });
  EXPECT_EQ(met, 2);
}

}  // namespace
}  // namespace attoscope
