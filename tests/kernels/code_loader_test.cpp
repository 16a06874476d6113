// Code that is loaded part by part: in order, each part once, with stops between two of them, continued, and failed.
#include "kernels/gpu/code_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "kernels/gpu/gpu_code.h"
#include "tests/support/slow_code.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::IsEmpty;
using testing::SlowCode;
using State = CodeLoader::State;

bool reaches(const CodeLoader& code, State state) {
  return eventually([&] { return code.progress().state == state; });
}
bool begins(const SlowCode& code, std::size_t parts) {
  return eventually([&] { return code.begun().size() == parts; });
}

TEST(CodeLoader, LoadsPartAfterPartAndTellsWhich) {
  SlowCode slow({"first", "second", "third"});
  CodeLoader code("a GPU", slow.parts());
  EXPECT_EQ(code.progress().state, State::waiting);
  EXPECT_THAT(slow.begun(), IsEmpty()) << "nothing is loaded before somebody wants it";
  code.start();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(begins(slow, static_cast<std::size_t>(i + 1)));
    const CodeProgress now = code.progress();
    EXPECT_EQ(now.state, State::loading);
    EXPECT_EQ(now.done, i);
    EXPECT_EQ(now.all, 3);
    EXPECT_EQ(now.part, slow.begun().back());
    slow.let(1);
  }
  ASSERT_TRUE(reaches(code, State::ready));
  EXPECT_TRUE(code.ready());
  const CodeProgress end = code.progress();
  EXPECT_EQ(end.done, 3);
  EXPECT_EQ(end.part, "");
  EXPECT_GT(end.seconds, 0);
  code.start();
  EXPECT_TRUE(code.ready());
  EXPECT_EQ(code.progress().seconds, end.seconds) << "the clock stands";
  EXPECT_THAT(slow.begun(), ElementsAre("first", "second", "third"));
}

TEST(CodeLoader, IsStoppedBetweenPartsAndGoesOnWithTheNext) {
  SlowCode slow({"first", "second"});
  CodeLoader code("a GPU", slow.parts());
  code.start();
  ASSERT_TRUE(begins(slow, 1));
  code.stop();
  EXPECT_EQ(code.progress().state, State::stopping) << "a driver is not interrupted";
  slow.let(1);
  ASSERT_TRUE(reaches(code, State::stopped));
  EXPECT_EQ(code.progress().done, 1);
  EXPECT_EQ(code.progress().part, "second") << "the next one";
  const double seconds = code.progress().seconds;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(code.progress().seconds, seconds);
  EXPECT_THAT(slow.begun(), ElementsAre("first"));
  code.start();
  slow.let(1);
  ASSERT_TRUE(reaches(code, State::ready));
  EXPECT_THAT(slow.begun(), ElementsAre("first", "second")) << "what is there is not loaded again";
  EXPECT_GE(code.progress().seconds, seconds);
}

TEST(CodeLoader, AStopThatIsTakenBackStopsNothing) {
  SlowCode slow({"first", "second"});
  CodeLoader code("a GPU", slow.parts());
  code.stop();
  EXPECT_EQ(code.progress().state, State::waiting);
  code.start();
  ASSERT_TRUE(begins(slow, 1));
  code.stop();
  code.start();
  EXPECT_EQ(code.progress().state, State::loading);
  slow.let(2);
  ASSERT_TRUE(reaches(code, State::ready));
  EXPECT_THAT(slow.begun(), ElementsAre("first", "second"));
}

TEST(CodeLoader, TellsWhyAPartFailedAndTriesItAgain) {
  SlowCode slow({"first", "second"});
  CodeLoader code("a GPU", slow.parts());
  code.start();
  slow.let(1);
  ASSERT_TRUE(begins(slow, 2));
  slow.let(1, "The driver refused.");
  ASSERT_TRUE(reaches(code, State::failed));
  EXPECT_EQ(code.progress().failure, "The driver refused.");
  EXPECT_EQ(code.progress().done, 1);
  code.start();
  EXPECT_EQ(code.progress().failure, "");
  slow.let(1);
  ASSERT_TRUE(reaches(code, State::ready));
  EXPECT_THAT(slow.begun(), ElementsAre("first", "second", "second"));
}

TEST(CodeLoader, ItsEndWaitsForThePresentPartAlone) {
  SlowCode slow({"first", "second"});
  auto code = std::make_unique<CodeLoader>("a GPU", slow.parts());
  code->start();
  ASSERT_TRUE(begins(slow, 1));
  std::jthread lets([&] {
    std::this_thread::sleep_for(20ms);
    slow.let(2);
  });
  code.reset();
  EXPECT_THAT(slow.begun(), ElementsAre("first"));
}

/// Stops from the third check on.
struct SoonStopped final : StopSign {
  void check() const override {
    if (++checks > 2) throw DeviceFailure("stopped");
  }
  mutable int checks = 0;
};

TEST(CodeLoader, WhoWaitsIsReleasedByTheEndByTimeOrByItsSign) {
  SlowCode slow({"first"});
  CodeLoader code("a GPU", slow.parts());
  EXPECT_EQ(code.wait(24h, StopSign{}), State::waiting) << "nothing was begun";
  code.start();
  EXPECT_EQ(code.wait(10ms, StopSign{}), State::loading);
  EXPECT_THROW(code.wait(24h, SoonStopped()), DeviceFailure);
  EXPECT_EQ(code.progress().state, State::loading) << "others may want it";
  std::jthread lets([&] { slow.let(1); });
  EXPECT_EQ(code.wait(24h, StopSign{}), State::ready);
}

TEST(CodeLoader, NothingIsReadyAtOnce) { EXPECT_TRUE(CodeLoader("a GPU", {}).ready()); }

TEST(CodeLoader, ManyMayStartAndStopIt) {
  SlowCode slow({"a", "b", "c", "d", "e", "f"});
  slow.let(6);
  CodeLoader code("a GPU", slow.parts());
  {
    std::vector<std::jthread> users;
    for (int i = 0; i < 4; ++i)
      users.emplace_back([&code, i] {
        for (int k = 0; k < 50; ++k) (k + i) % 3 == 0 ? code.stop() : code.start();
      });
  }
  ASSERT_TRUE(eventually([&] {
    code.start();
    return code.ready();
  }));
  EXPECT_THAT(slow.begun(), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST(GpuCode, NothingIsMissingOnAGpuThatIsNotThere) {
  EXPECT_EQ(code_to_compile(1000), nullptr);
  EXPECT_EQ(missing_code({1000, 1001}), nullptr);
  EXPECT_NO_THROW(wait_for_code({1000}, StopSign{}));
  EXPECT_FALSE(is_compiling());
}

}  // namespace
}  // namespace attoscope
