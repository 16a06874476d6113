// The worker: the latest question wins, no queue, no starvation, no hangs. Also side questions, which are cancelled when
// outdated, and jobs, which never replace each other. Runs under ThreadSanitizer.
#include "app/threads/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/threads/job_queue.h"
#include "app/threads/side_question.h"
#include "tests/support/eventually.h"
#include "ui/frame/side_list.h"

namespace attoscope::app {
namespace {

using namespace std::chrono_literals;
using testing::awaited, testing::eventually;
using Poll = std::function<bool()>;
using Squarer = Worker<int, int>;

struct Gave {};  // thrown by cancelled work
constexpr int attempts = 1000;

/// Submits a question and waits until it is answered.
void settle(Squarer& worker, int x) {
  worker.submit(x);
  EXPECT_TRUE(eventually([&] { return !worker.busy(); }));
}

/// Work that fails for numbers below 0.
int not_negative(int x, const Poll&, const Squarer::Publish&) {
  if (x < 0) throw std::runtime_error("negative");
  return x;
}

TEST(Worker, Answers) {
  std::atomic<int> published{0};
  Squarer worker([](int x, const Poll&, const auto&) { return x * x; }, [&] { ++published; });
  EXPECT_FALSE(worker.busy());
  EXPECT_EQ(worker.take(), std::nullopt);
  worker.submit(7);
  EXPECT_EQ(awaited(worker), 49);
  EXPECT_EQ(worker.take(), std::nullopt);
  EXPECT_TRUE(eventually([&] { return published == 1 && !worker.busy(); }));
}

TEST(Worker, WorksWithoutListener) {
  Squarer worker([](int x, const Poll&, const auto&) { return x; }, {});
  worker.submit(1);
  EXPECT_EQ(awaited(worker), 1);
}

TEST(Worker, ShowsAFirstAnswerWhileItWorksOn) {
  std::binary_semaphore go{0};
  Squarer worker(
      [&](int x, const Poll&, const std::function<void(int)>& publish) {
        publish(-x);
        go.acquire();
        return x * x;
      },
      {});
  worker.submit(3);
  EXPECT_EQ(awaited(worker), -3);
  EXPECT_TRUE(worker.busy());
  go.release();
  EXPECT_EQ(awaited(worker), 9);
}

TEST(Worker, WorkThatHasShownSomethingMakesRoomAtOnce) {
  std::atomic<int> given_up{0};
  Squarer worker(
      [&](int x, const Poll& cancelled, const std::function<void(int)>& publish) {
        publish(-x);
        while (x == 1 && !cancelled()) std::this_thread::sleep_for(1ms);
        if (cancelled()) {
          ++given_up;
          throw Gave{};
        }
        return x;
      },
      {}, 1h);
  worker.submit(1);
  EXPECT_EQ(awaited(worker), -1);
  worker.submit(2);
  EXPECT_TRUE(eventually([&] { return worker.take() == 2; }));
  EXPECT_EQ(given_up, 1);
}

TEST(Worker, ADragRunsTheFirstAndTheLast) {
  std::mutex mutex;
  std::vector<int> ran;
  std::binary_semaphore begun{0}, go{0};
  Squarer worker(
      [&](int x, const Poll&, const auto&) {
        {
          const std::lock_guard lock(mutex);
          ran.push_back(x);
        }
        if (x == 0) {
          begun.release();
          go.acquire();
        }
        return x;
      },
      {}, 1h);
  worker.submit(0);
  begun.acquire();
  for (int i = 1; i <= 100; ++i) worker.submit(i);
  EXPECT_TRUE(worker.busy());
  go.release();
  EXPECT_TRUE(eventually([&] { return !worker.busy(); }));
  EXPECT_EQ(worker.take(), 100);
  EXPECT_EQ(ran, (std::vector<int>{0, 100}));
}

TEST(Worker, ARunningAnswerIsPublishedThoughItIsStale) {
  std::binary_semaphore begun{0}, go{0};
  Squarer worker(
      [&](int x, const Poll& cancelled, const auto&) {
        begun.release();
        go.acquire();
        if (cancelled()) throw Gave{};
        return x;
      },
      {}, 1h);
  worker.submit(1);
  begun.acquire();
  worker.submit(2);
  go.release();
  begun.acquire();  // question 2 runs, so question 1 has its answer
  EXPECT_EQ(worker.take(), 1);
  EXPECT_TRUE(worker.busy());
  go.release();
  EXPECT_EQ(awaited(worker), 2);
}

TEST(Worker, ANewerAnswerReplacesOneThatWasNotTaken) {
  Squarer worker([](int x, const Poll&, const auto&) { return x; }, {});
  settle(worker, 1);
  settle(worker, 2);
  EXPECT_EQ(worker.take(), 2);
  EXPECT_EQ(worker.take(), std::nullopt);
}

TEST(Worker, PatienceEndsWhileANewerQuestionWaits) {
  std::atomic<int> gave_up{0}, asked{0};
  Squarer worker(
      [&](int x, const Poll& cancelled, const auto&) {
        while (x == 1) {
          if (cancelled()) {
            ++gave_up;
            throw Gave{};
          }
          std::this_thread::sleep_for(1ms);
          ++asked;
        }
        return x;
      },
      {}, 10ms);
  worker.submit(1);
  EXPECT_TRUE(eventually([&] { return asked > 50; }));  // far longer than its patience
  EXPECT_EQ(gave_up, 0) << "no question waits, so it is not cancelled";
  worker.submit(2);
  EXPECT_EQ(awaited(worker), 2);
  EXPECT_EQ(gave_up, 1);
}

TEST(Worker, ALongDragOverSlowWorkStillShowsPictures) {
  Squarer worker(
      [](int x, const Poll& cancelled, const auto&) {
        for (int i = 0; i < 40; ++i) {
          if (cancelled()) throw Gave{};
          std::this_thread::sleep_for(1ms);
        }
        return x;
      },
      {}, 5ms);  // patience is far shorter than the work
  int pictures = 0, x = 0;
  EXPECT_TRUE(eventually([&] {
    worker.submit(++x);
    pictures += worker.take().has_value() ? 1 : 0;
    return pictures == 3;
  }));
}

TEST(Worker, AnErrorIsThrownWhereItIsTakenOnce) {
  Squarer worker(not_negative, {});
  settle(worker, -1);
  EXPECT_THROW(worker.take(), std::runtime_error);
  EXPECT_EQ(worker.take(), std::nullopt);
  worker.submit(3);
  EXPECT_EQ(awaited(worker), 3);
}

TEST(Worker, AFirstAnswerStaysIfTheWorkThenFails) {
  Squarer worker(
      [](int x, const Poll&, const Squarer::Publish& publish) -> int {
        publish(x);
        throw std::runtime_error("failed");
      },
      {});
  settle(worker, 7);
  EXPECT_THROW(worker.take(), std::runtime_error);
  EXPECT_EQ(worker.take(), 7);
  EXPECT_EQ(worker.take(), std::nullopt);
}

TEST(Worker, AnErrorIsReplacedByALaterAnswerAndTheOtherWayRound) {
  Squarer worker(not_negative, {});
  settle(worker, -1);
  settle(worker, 1);
  EXPECT_EQ(worker.take(), 1);
  settle(worker, 1);
  settle(worker, -1);
  EXPECT_THROW(worker.take(), std::runtime_error);
  EXPECT_EQ(worker.take(), std::nullopt);
}

TEST(Worker, DestroyedWhileRunning) {
  std::atomic<bool> begun{false}, published{false};
  {
    Squarer worker(
        [&](int x, const Poll& cancelled, const auto&) {
          begun = true;
          while (!cancelled()) std::this_thread::sleep_for(1ms);
          if (x == 1) throw Gave{};
          return x;
        },
        [&] { published = true; }, 1h);
    worker.submit(1);
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    worker.submit(2);
  }
  EXPECT_FALSE(published);
}

TEST(Worker, DestroyedAtAnyMoment) {
  for (int i = 0; i < 500; ++i) {
    Squarer worker([](int x, const Poll&, const auto&) { return x; }, [] {});
    for (int k = 0; k < i % 4; ++k) worker.submit(k);
    if (i % 3 == 0) std::this_thread::yield();
    if (i % 5 == 0) worker.take();
  }
}

TEST(Worker, CarriesWhatCannotBeCopiedCheaply) {
  Worker<std::vector<std::string>, std::shared_ptr<const std::string>> worker(
      [](const auto& words, const Poll&, const auto&) { return std::make_shared<const std::string>(words.back()); }, {});
  worker.submit({"a", "b"});
  EXPECT_EQ(*awaited(worker), "b");
}

TEST(Worker, PolledFromManyThreads) {
  Squarer worker(
      [](int x, const Poll& cancelled, const auto&) {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
          threads.emplace_back([&] {
            for (int i = 0; i < 1000 && !cancelled(); ++i) std::this_thread::yield();
          });
        }
        threads.clear();
        if (cancelled()) throw Gave{};
        return x;
      },
      {}, 1ms);
  for (int i = 0; i < 200; ++i) worker.submit(i);
  std::optional<int> last;
  EXPECT_TRUE(eventually([&] {
    if (auto answer = worker.take()) last = answer;
    return last == 199;
  }));
}

TEST(Worker, EffortIsTheShareThatTheWorkTellsAndBeginsAnewWithEachQuestion) {
  std::atomic<int> step{0};
  Squarer worker(
      [&](int x, const Poll&, const Squarer::Publish& publish) {
        publish.share(0.25 * x);
        step = x;
        while (step == x) std::this_thread::yield();
        return x;
      },
      {}, 1h);
  EXPECT_EQ(worker.effort().seconds_left(), std::nullopt) << "no question was submitted";
  for (const int x : {2, 1}) {
    worker.submit(x);
    ASSERT_TRUE(eventually([&] { return step == x; }));
    EXPECT_EQ(worker.effort().share(), 0.25 * x);
    const std::optional<double> left = worker.effort().seconds_left();
    ASSERT_TRUE(left);
    EXPECT_GT(*left, 0);
    step = 0;
    EXPECT_EQ(awaited(worker), x);
  }
}

TEST(Effort, ThreeTimesAsMuchIsLeftAfterAQuarter) {
  const auto before = std::chrono::steady_clock::now();
  Effort effort;
  effort.tell(0);
  EXPECT_EQ(effort.seconds_left(), std::nullopt);
  std::this_thread::sleep_for(20ms);
  effort.tell(0.25);
  const double left = effort.seconds_left().value_or(0);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - before;
  EXPECT_GE(left, 3 * 0.02);
  EXPECT_LE(left, 3 * spent.count());
}

/// Work that runs until it is cancelled.
void work_until_stopped(const Poll& cancelled) {
  while (!cancelled()) std::this_thread::yield();
  throw Stopped();
}

TEST(Worker, CancelStopsWhatWasAskedBeforeItAndNothingAfter) {
  std::atomic<int> working{0};
  Squarer worker(
      [&](int x, const Poll& cancelled, const auto&) {
        working = x;
        if (x % 2 == 1) work_until_stopped(cancelled);
        return x;
      },
      {}, 1h);
  for (int x = 1; x < attempts; x += 2) {
    worker.submit(x);
    ASSERT_TRUE(x % 4 != 1 || eventually([&] { return working == x; }));
    worker.cancel();
    EXPECT_TRUE(x % 3 != 0 || eventually([&] { return !worker.busy(); }));
    worker.submit(x + 1);
    ASSERT_TRUE(eventually([&] {
      try {
        return worker.take() == x + 1;
      } catch (const Stopped&) {
        return false;
      }
    }));
  }
}

/// Waits until the question has this answer and is idle; false after the timeout.
bool shows(SideQuestion<int, int>& question, int answer) {
  return eventually([&] {
    question.update();
    return !question.busy() && question.answer() && *question.answer() == answer;
  });
}

TEST(SideQuestion, AnswersEachQuestionOnceAndAgainWhenForgotten) {
  std::atomic<int> asked{0};
  SideQuestion<int, int> square([&](int x, const auto&) { return ++asked, x * x; }, {});
  square.ask(3);
  EXPECT_TRUE(shows(square, 9));
  square.ask(3);
  EXPECT_TRUE(shows(square, 9));
  EXPECT_EQ(asked, 1);
  square.forget();
  square.ask(3);
  EXPECT_TRUE(eventually([&] { return asked == 2; }));
  square.ask(4);
  EXPECT_TRUE(shows(square, 16));
}

TEST(SideQuestion, TheNextQuestionNeverBringsTheForgottenOneBack) {
  std::atomic<int> working{0};
  SideQuestion<int, int> question(
      [&](int x, const SideRun<int>& run) {
        working = x;
        if (x % 2 == 1) work_until_stopped(run.options.cancelled);
        return x;
      },
      {});
  for (int x = 1; x < attempts; x += 2) {
    question.ask(x);
    ASSERT_TRUE(eventually([&] { return working == x; }));
    question.forget();
    question.ask(x + 1);  // at any moment while the forgotten work ends
    ASSERT_TRUE(eventually([&] {
      EXPECT_NO_THROW(question.update());
      return question.answer() && *question.answer() == x + 1;
    }));
  }
}

/// The work continues from the known answer and publishes each number.
TEST(SideQuestion, GoesOnFromWhatIsKnownUntilItIsCleared) {
  std::atomic<int> started_at{-1};
  SideQuestion<int, int> count(
      [&](int to, const SideRun<int>& run) {
        int now = started_at = run.known ? *run.known : 0;
        while (now < to) run.publish(++now);
        return now;
      },
      {});
  count.ask(3);
  EXPECT_TRUE(shows(count, 3));
  count.ask(5);
  EXPECT_TRUE(shows(count, 5));
  EXPECT_EQ(started_at, 3);
  count.ask(5, "cuda");
  EXPECT_TRUE(eventually([&] { return started_at == 5; })) << "another device starts the work again";
  count.clear();
  count.update();
  EXPECT_EQ(count.answer(), nullptr) << "answers from before clear() are dropped";
  count.ask(2);
  EXPECT_TRUE(shows(count, 2));
  EXPECT_EQ(started_at, 0);
}

template <class, class>
using OneByte = char;

TEST(SideList, EveryQuestionIsVisitedOnce) {
  ui::SideList<OneByte> list{};
  ui::for_each_side([](char& visits) { ++visits; }, list);
  const auto* const bytes = reinterpret_cast<const char*>(&list);
  EXPECT_EQ(std::string(bytes, sizeof list), std::string(sizeof list, 1));
}

/// A job that sets `begun` and runs until it is cancelled.
auto endless_job(std::atomic<bool>& begun) {
  return [&begun](const Poll& cancelled) -> std::string {
    begun = true;
    work_until_stopped(cancelled);
    return "";
  };
}

TEST(JobQueue, DoesJobsInTheirOrderAndSaysHowTheyEnded) {
  std::atomic<int> told{0};
  JobQueue jobs([&] { ++told; });
  EXPECT_FALSE(jobs.busy());
  jobs.add([](const Poll&) { return std::string("one"); });
  jobs.add([](const Poll&) -> std::string { throw std::runtime_error("two failed"); });
  jobs.add([](const Poll&) -> std::string { throw std::bad_alloc(); });
  jobs.add([](const Poll&) { return std::string("four"); });
  const JobOutcome one = awaited(jobs), two = awaited(jobs), three = awaited(jobs), four = awaited(jobs);
  EXPECT_TRUE(one.well && four.well);
  EXPECT_FALSE(two.well || three.well);
  EXPECT_EQ(one.sentence + ", " + two.sentence + ", " + four.sentence, "one, two failed, four");
  EXPECT_NE(three.sentence.find("not enough memory"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return told == 4 && !jobs.busy(); }));
}

TEST(JobQueue, StopEndsTheRunningOneAndDropsTheRest) {
  std::atomic<bool> begun{false}, reached{false};
  JobQueue jobs({});
  jobs.add(endless_job(begun));
  jobs.add([&](const Poll&) { return reached = true, std::string("never"); });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  jobs.stop();
  EXPECT_FALSE(awaited(jobs).well);
  EXPECT_TRUE(eventually([&] { return !jobs.busy(); }));
  EXPECT_FALSE(reached);
  jobs.add([](const Poll& cancelled) { return std::string(cancelled() ? "stopped" : "goes on"); });
  EXPECT_EQ(awaited(jobs).sentence, "goes on");
}

TEST(JobQueue, DestroyedWhileOneRunsAndOthersWait) {
  std::atomic<bool> begun{false}, told{false};
  {
    JobQueue jobs([&] { told = true; });
    for (int i = 0; i < 3; ++i) jobs.add(endless_job(begun));
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace attoscope::app
