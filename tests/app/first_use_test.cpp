// Commands on a GPU whose driver has to compile their code: messages meanwhile, and the end.
#include "app/commands/first_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/slow_code.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::SlowCode;
using ::testing::StartsWith;

constexpr auto long_enough = 1300ms;  // until a message appears

/// Messages of a command whose parts are loaded after so long.
struct Told {
  std::string terminal, plain;
};
Told told(std::chrono::milliseconds after, bool on_terminal) {
  SlowCode slow({"attention in float", "deviations"});
  CodeLoader code("NVIDIA RTX", slow.parts());
  std::jthread lets([&] {
    std::this_thread::sleep_for(after);
    slow.let(2);
  });
  std::ostringstream terminal, plain;
  watch_compiling(code, StopSign{}, on_terminal ? &terminal : nullptr, plain);
  EXPECT_TRUE(code.ready());
  return {terminal.str(), plain.str()};
}

TEST(FirstUse, WhatIsQuickIsNotTold) {
  for (const bool on_terminal : {false, true}) {
    const Told quick = told(0ms, on_terminal);
    EXPECT_EQ(quick.terminal, "");
    EXPECT_EQ(quick.plain, "");
  }
}

TEST(FirstUse, OnATerminalALineIsWrittenOverItselfAndCleared) {
  const Told slow = told(long_enough, true);
  EXPECT_THAT(slow.terminal,
              AllOf(StartsWith("\rcompiling the code for NVIDIA RTX: 1 of 2 (attention in float), 1 s"), EndsWith("\r\x1b[K")));
  EXPECT_EQ(slow.plain, "");
}

TEST(FirstUse, ElsewhereItIsOnePlainLine) {
  EXPECT_EQ(told(long_enough, false).plain,
            "attoscope: the driver compiles the code for NVIDIA RTX, once: about half a minute\n");
}

TEST(FirstUse, WhatFailsIsLeftToWhoNeedsTheCode) {
  SlowCode slow({"attention in float"});
  slow.let(1, "The driver refused.");
  CodeLoader code("NVIDIA RTX", slow.parts());
  std::ostringstream err;
  EXPECT_NO_THROW(watch_compiling(code, StopSign{}, nullptr, err));
  EXPECT_EQ(code.progress().state, CodeLoader::State::failed);
  EXPECT_EQ(err.str(), "");
}

TEST(FirstUse, CtrlCEndsItWithinAPart) {
  SlowCode slow({"attention in float", "deviations"});
  CodeLoader code("NVIDIA RTX", slow.parts());
  sigset_t set, before;  // other threads of this test must not take the signal
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  std::jthread sender([self = getpid()] {
    std::this_thread::sleep_for(50ms);
    kill(self, SIGINT);
  });
  std::string why;
  try {
    compile_code(&code);
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  sender.join();
  const timespec soon{};
  sigtimedwait(&set, nullptr, &soon);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(why, "stopped while the driver compiled the GPU's code; nothing was written");
  EXPECT_EQ(code.progress().done, 0) << "the part was not waited for";
  slow.let(2);
}

TEST(FirstUse, NothingIsWaitedForWhereNothingIsMissing) {
  EXPECT_NO_THROW(compile_code(nullptr));
  EXPECT_NO_THROW(compile_code(std::vector<int>{}));
  EXPECT_NO_THROW(compile_code("cpu"));
  EXPECT_NO_THROW(compile_code("auto"));
}

}  // namespace
}  // namespace attoscope
