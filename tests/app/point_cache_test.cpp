// The cache of sweep points: found bit for bit, in few files, on full disks, after programs are killed.
#include "app/sweep/point_cache.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "kernels/experiment/arithmetic_version.h"
#include "kernels/experiment/presets.h"
#include "tests/app/own_cache.h"
#include "tests/support/full_disk.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

TEST(PointCache, KeepsEveryBitAndNanAndInfinity) {
  const OwnCache own;
  PointCache cache(own.directory());
  PointSummary s;
  s.a = {.max_abs = INFINITY, .mean_abs = -0.0, .rms = 5e-324, .std = 0.1, .bias = -1.0 / 3};
  s.b_digest = 0xfedcba9876543210;
  Experiment e = default_experiment();
  EXPECT_FALSE(cache.find(e));
  cache.keep(e, s);
  EXPECT_EQ(cache.find(e), s);
  s.a.rms = NAN;
  cache.keep(e, s);
  EXPECT_TRUE(std::isnan(cache.find(e)->a.rms));
  e.problem.seed = 2;
  EXPECT_FALSE(cache.find(e));
  EXPECT_EQ(cache.remark(), "");
}

TEST(PointCache, PointsOfAnotherArithmeticAreNotKnown) {
  const OwnCache own;
  const Experiment e = default_experiment();
  PointSummary summary;
  PointCache(own.directory()).keep(e, summary);
  EXPECT_TRUE(PointCache(own.directory()).find(e));
  PointCache next(own.directory(), 1 << 20, arithmetic_version + 1);
  EXPECT_FALSE(next.find(e));
  summary.golden_rms = 2;
  next.keep(e, summary);
  EXPECT_EQ(next.find(e)->golden_rms, 2);
  EXPECT_EQ(PointCache(own.directory()).find(e)->golden_rms, 0) << "an earlier version finds its own points";
}

TEST(PointCache, PointsOfAGpusOwnRoundingAreNotKept) {
  const OwnCache own;
  PointCache cache(own.directory());
  for (Method Experiment::* const method : {&Experiment::a, &Experiment::b}) {
    Experiment e = default_experiment();
    (e.*method).algorithm = Algorithm::hardware;
    cache.keep(e, PointSummary{});
    EXPECT_FALSE(cache.find(e));
  }
  EXPECT_TRUE(own.files().empty());
}

TEST(PointCache, DamageIsAbsence) {
  const OwnCache own;
  PointCache cache(own.directory());
  const Experiment e = default_experiment();
  cache.keep(e, PointSummary{});
  const std::filesystem::path file = own.files().at(0);
  const std::string text = bytes_of_file(file.string());
  for (std::size_t i = 0; i < text.size(); i += 97) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(cache.find(e)) << i;
    std::ofstream(file, std::ios::binary) << text.substr(0, i);
    EXPECT_FALSE(cache.find(e)) << i;
  }
  std::ofstream(file, std::ios::binary) << text;
  EXPECT_TRUE(cache.find(e));
}

Experiment of_seed(std::uint64_t seed) {
  Experiment e = default_experiment();
  e.problem.seed = seed;
  return e;
}

PointSummary worth(double x) {
  PointSummary s;
  s.golden_rms = x;
  return s;
}

constexpr std::uint64_t point_bytes = KeptValues::record_bytes(44 * 8);

/// Number of seeds in [begin, end) whose point is cached.
int known(const PointCache& cache, std::uint64_t begin, std::uint64_t end) {
  int count = 0;
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    const auto found = cache.find(of_seed(seed));
    if (found) {
      EXPECT_EQ(found->golden_rms, static_cast<double>(seed));
    }
    count += found.has_value();
  }
  return count;
}

TEST(PointCache, HoldsManyPointsInFewFiles) {
  const OwnCache own;
  PointCache cache(own.directory());
  for (std::uint64_t seed = 0; seed < 2000; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_LE(own.files().size(), PointCache::files);
  EXPECT_EQ(own.point_bytes(own.files().at(0)), point_bytes);
  EXPECT_EQ(own.points(), 2000u);
  EXPECT_EQ(known(cache, 0, 2000), 2000);
  EXPECT_EQ(known(PointCache(own.directory()), 0, 2000), 2000) << "the next program finds them, too";
}

TEST(PointCache, IsLimitedWhileItIsWrittenAndSparesTheRunningSweep) {
  const OwnCache own;
  constexpr std::uint64_t limit = 1000 * point_bytes;
  {
    PointCache earlier(own.directory(), limit);
    for (std::uint64_t seed = 0; seed < 800; ++seed) earlier.keep(of_seed(seed), worth(static_cast<double>(seed)));
  }
  PointCache cache(own.directory(), limit);
  const int reused = known(cache, 0, 100);
  for (std::uint64_t seed = 1000; seed < 1600; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_LE(own.points(), 1100u) << "earlier points were removed while it was written";
  EXPECT_EQ(known(cache, 0, 100), reused) << "points that the running sweep read stay, though they are the oldest";
  EXPECT_EQ(known(cache, 1000, 1600), 600) << "points that it computed stay, too";
  for (std::uint64_t seed = 2000; seed < 4000; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_EQ(known(cache, 2000, 4000), 2000) << "even if they exceed the limit";
  cache.begin_sweep();
  for (std::uint64_t seed = 5000; seed < 5200; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_LE(own.points(), 1100u) << "the next sweep makes room";
  EXPECT_EQ(known(cache, 5000, 5200), 200);
}

TEST(PointCache, ATornPointIsAbsentAndTheNextIsWhole) {
  const OwnCache own;
  PointCache cache(own.directory(), 1 << 20);
  cache.keep(of_seed(1), worth(1));
  const std::string file = own.files().at(0).string();
  const std::uint64_t size = std::filesystem::file_size(file);
  for (std::uint64_t seed = 2, torn = 1; torn < size; seed += 1, torn += size / 7) {
    std::ofstream(file, std::ios::binary | std::ios::app) << std::string(torn, 't');
    for (std::uint64_t s = seed; std::filesystem::file_size(file) % size != 0; ++s)
      cache.keep(of_seed(1000 * seed + s), worth(1));
    EXPECT_EQ(known(PointCache(own.directory()), 1, 2), 1);
    EXPECT_EQ(std::filesystem::file_size(file) % size, 0u);
  }
}

TEST(PointCache, AFullDiskIsOneSentenceAndOnceThereIsRoomItIsWritten) {
  const OwnCache own;
  PointCache cache(own.directory());
  cache.keep(of_seed(1), worth(1));
  const std::uint64_t point = own.point_bytes(own.files().at(0));
  for (std::int64_t room = 0; room < static_cast<std::int64_t>(point); room += 37) {
    {
      const FullDisk disk(room);
      cache.keep(of_seed(2), worth(2));
      EXPECT_FALSE(cache.find(of_seed(2))) << room;
    }
    EXPECT_EQ(cache.find(of_seed(1)), worth(1));
  }
  EXPECT_EQ(cache.remark(), "Points are not kept in " + own.directory() + ": No space left on device.");
  cache.keep(of_seed(2), worth(2));
  EXPECT_EQ(PointCache(own.directory()).find(of_seed(2)), worth(2));
  EXPECT_EQ(own.points(), 2u);
}

TEST(PointCache, AReadOnlyDirectoryIsSaidToBeOne) {
  const TemporaryDirectory scratch;
  using std::filesystem::perms;
  std::filesystem::permissions(scratch / "", perms(0555));
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(2);  // root may write to every folder
    PointCache cache(scratch / "points");
    cache.keep(default_experiment(), {});
    ::_exit(cache.remark() == "Points are not kept in " + (scratch / "points") + ": Permission denied." ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::permissions(scratch / "", perms::owner_all);
  EXPECT_EQ(status, 0);
}

/// Writes and finds points in a loop until the process is killed.
[[noreturn]] void keep_for_ever(const std::string& directory, std::uint64_t limit, unsigned who) {
  PointCache cache(directory, limit);
  for (std::uint64_t i = 0;; ++i) {
    const std::uint64_t seed = (i * 7 + who * 131) % 1000;
    if (i % 500 == 0) cache.begin_sweep();
    const auto found = cache.find(of_seed(seed));
    if (found && found->golden_rms != static_cast<double>(seed)) _exit(3);
    if (!found) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
    if (!cache.remark().empty()) _exit(4);
  }
}

TEST(PointCache, ProgramsThatAreKilledWhileTheyShareItMixNothing) {
  const OwnCache own;
  Dice dice(5);
  constexpr std::uint64_t limit = 500 * point_bytes;
  for (int round = 0; round < experiments(10); ++round) {
    std::vector<pid_t> programs;
    for (unsigned who = 0; who < 3; ++who) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) keep_for_ever(own.directory(), limit, who + static_cast<unsigned>(round));
      programs.push_back(child);
    }
    for (const pid_t program : programs) {
      ::usleep(static_cast<unsigned>(dice.between(0, 60000)));
      ::kill(program, SIGKILL);
      int status = 0;
      ::waitpid(program, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status)) << "found a wrong point (3) or could not write (4): " << WEXITSTATUS(status);
    }
    const PointCache cache(own.directory(), limit);
    known(cache, 0, 1000);
  }
  PointCache cache(own.directory(), limit);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_EQ(known(cache, 0, 1000), 1000);
  for (const std::filesystem::path& file : own.files())
    EXPECT_EQ(file.extension(), ".points") << "leftovers of killed processes are removed";
}

TEST(PointCache, ADirectoryThatCannotBeWrittenIsOneSentence) {
  PointCache cache("/proc/attoscope");
  cache.keep(default_experiment(), {});
  EXPECT_THAT(cache.remark(), HasSubstr("Points are not kept in /proc/attoscope"));
  EXPECT_FALSE(cache.find(default_experiment()));
}

}  // namespace
}  // namespace attoscope
