// A gnuplot that never ends: waiting for it can be stopped.
#include "app/figures/gnuplot.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "app/threads/job_queue.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using testing::TemporaryDirectory;

/// While this lives, `gnuplot` is a program that writes its number into a file and sleeps.
class SleepingGnuplot {
 public:
  SleepingGnuplot() : path_(std::getenv("PATH")) {
    const std::string program =
        scratch_.write("gnuplot", "#!/bin/sh\necho $$ >" + (scratch_ / "new") + "\nmv " + (scratch_ / "new") + " " +
                                      (scratch_ / "number") + "\nexec sleep 1000\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", ((scratch_ / "") + ":" + path_).c_str(), 1);
  }
  ~SleepingGnuplot() { setenv("PATH", path_.c_str(), 1); }
  bool began() const { return std::filesystem::exists(scratch_ / "number"); }
  bool runs() const { return ::kill(std::stoi(testing::bytes_of_file(scratch_ / "number")), 0) == 0; }

 private:
  TemporaryDirectory scratch_;
  std::string path_;
};

TEST(Gnuplot, IsKilledWhenNobodyWantsItsPicture) {
  const SleepingGnuplot gnuplot;
  EXPECT_THROW(drawn("", "f.svg", [&] { return gnuplot.began(); }), Stopped);
  EXPECT_FALSE(gnuplot.runs());
}

TEST(Gnuplot, DoesNotKeepAQueueFromEnding) {
  const SleepingGnuplot gnuplot;
  {
    JobQueue jobs({});
    jobs.add([](const Cancelled& cancelled) { return drawn("", "f.svg", cancelled); });
    ASSERT_TRUE(testing::eventually([&] { return gnuplot.began(); }));
  }
  EXPECT_FALSE(gnuplot.runs());
}

TEST(Gnuplot, IsStoppedByItsButton) {
  const SleepingGnuplot gnuplot;
  JobQueue jobs({});
  jobs.add([](const Cancelled& cancelled) { return drawn("", "f.svg", cancelled); });
  ASSERT_TRUE(testing::eventually([&] { return gnuplot.began(); }));
  jobs.stop();
  std::optional<JobQueue::Outcome> outcome;
  ASSERT_TRUE(testing::eventually([&] { return (outcome = jobs.take()).has_value(); }));
  EXPECT_EQ(outcome->sentence, "Stopped before it was done; nothing was written.");
  EXPECT_FALSE(gnuplot.runs());
}

TEST(Gnuplot, DrawsInATemporaryDirectoryOfAnyName) {
  const TemporaryDirectory scratch;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before, folder = scratch / "it's a \"$HOME\" \\n";
  std::filesystem::create_directory(folder);
  ::setenv("TMPDIR", folder.c_str(), 1);
  const std::string picture = drawn("set terminal svg\nset output 'f.svg'\nplot x\n", "f.svg");
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_NE(picture.find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace attoscope
