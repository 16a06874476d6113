// The progress line overwrites itself on a terminal and is not written elsewhere.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>
#include <vector>

#include "app/commands/command.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// While this lives, standard error of this process goes to the file descriptor `to`.
class StandardError {
 public:
  explicit StandardError(int to) : before_(::dup(STDERR_FILENO)) { ::dup2(to, STDERR_FILENO); }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  int before_;
};

/// A pseudo-terminal whose output the test reads.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0)
      slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
  }
  ~PseudoTerminal() {
    ::close(slave_);
    ::close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  int descriptor() const { return slave_; }  ///< -1: this machine has none
  /// Text written to the terminal up to `end`; all text if `end` does not come within 10 s.
  std::string text_until(std::string_view end) const {
    std::string text;
    pollfd there{.fd = master_, .events = POLLIN, .revents = 0};
    while (!text.ends_with(end) && ::poll(&there, 1, 10'000) == 1) {
      std::array<char, 512> part{};
      const ssize_t count = ::read(master_, part.data(), part.size());
      if (count <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int master_, slave_ = -1;
};

/// Commands that take more than a moment, each with the text of its progress line.
struct LongCommand {
  std::vector<std::string> arguments;
  const char* progress;
};
const LongCommand long_commands[] = {
    {words("sweep --n 16 --d 4 --vary block_k=2,4 --no-cache"), "1 of 2 points"},
    {words("train --layers 1 --width 16 --heads 1 --context 16 --batch 1 --steps 2 --device cpu"), "step 1 of 2"}};

TEST(ProgressLine, IsWrittenOverItselfAndClearedAtTheEnd) {
  std::ostringstream out;
  {
    ProgressLine line(&out);
    EXPECT_EQ(out.str(), "");
    line.show([] { return "1 of 3"; });
    EXPECT_EQ(out.str(), "\r1 of 3\x1b[K");
    line.show([] { return "2 of 3"; });
    EXPECT_EQ(out.str(), "\r1 of 3\x1b[K") << "limited to a readable rate";
  }
  EXPECT_EQ(out.str(), "\r1 of 3\x1b[K\r\x1b[K");
}

TEST(ProgressLine, IsNotEvenMadeWithoutATerminal) {
  ProgressLine line(nullptr);
  line.show([]() -> std::string { throw std::logic_error("nobody reads this"); });
}

TEST(ProgressLine, IsShownByOneThreadAtATime) {
  std::ostringstream out;
  std::atomic<int> inside = 0;
  std::atomic<bool> together = false;
  {
    ProgressLine line(&out);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        line.show([&] {
          if (++inside > 1) together = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          --inside;
          return "1 of 3";
        });
      });
  }
  EXPECT_FALSE(together);
  EXPECT_THAT(out.str(), ::testing::EndsWith("\x1b[K\r\x1b[K"));
}

TEST(ProgressLine, CommandsWriteNoneToAFile) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "stderr";
  for (const LongCommand& command : long_commands) {
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ASSERT_GE(file, 0);
    {
      const StandardError redirected(file);
      EXPECT_EQ(terminal(), nullptr);
      EXPECT_EQ(attoscope(command.arguments).code, 0);
    }
    ::close(file);
    EXPECT_EQ(testing::bytes_of_file(path), "") << command.arguments[0];
  }
}

TEST(ProgressLine, CommandsWriteItToATerminalUnlessQuiet) {
  for (const LongCommand& command : long_commands) {
    const PseudoTerminal screen;
    if (screen.descriptor() < 0) GTEST_SKIP() << "this machine has no pseudo-terminals";
    const StandardError redirected(screen.descriptor());
    std::vector<std::string> quiet = command.arguments;
    quiet.push_back("--quiet");
    EXPECT_EQ(attoscope(quiet).code, 0);
    ASSERT_EQ(::write(screen.descriptor(), "|", 1), 1);
    EXPECT_EQ(attoscope(command.arguments).code, 0);
    EXPECT_THAT(screen.text_until("\x1b[K\r\x1b[K"), ::testing::AllOf(::testing::StartsWith("|"), HasSubstr(command.progress)));
  }
}

}  // namespace
}  // namespace attoscope
