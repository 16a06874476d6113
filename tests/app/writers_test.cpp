// Writers of files on a disk that is full after a random number of bytes. Other writers: checkpoints and captures in
// train_command_test, points in point_cache_test.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/figures/bundle.h"
#include "app/files/png.h"
#include "app/papers/figure_maker.h"
#include "app/session/session_store.h"
#include "tests/app/disk_full.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/figure_support.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr int times = experiments(40);

/// Expects whole files from a writer for random disk space drawn with this seed.
void expect_whole(std::uint64_t seed, const TestedWriter& writer) {
  Dice dice(seed);
  expect_whole_whenever_full(writer, times, dice);
}

Session of_seed(int seed) {
  Session session;
  session.experiment.problem.seed = static_cast<std::uint64_t>(seed);
  for (int i = 0; i < 20; ++i) session.pins.push_back({.name = std::string(100, 'p'), .experiment = {}, .thumbnail = {}});
  return session;
}

/// A figure of one curve; each version has other values.
Figure curve(int version) {
  Series s;
  s.label = "curve";
  for (int i = 0; i < 200; ++i) {
    s.x.push_back(i);
    s.y.push_back(i * version + 0.5);
  }
  Figure figure;
  figure.name = "curve";
  figure.panels.emplace_back();
  figure.panels.back().series.push_back(std::move(s));
  return figure;
}

/// While this lives, PATH has no gnuplot: gnuplot's own writes would not see the limited disk.
struct WithoutGnuplot {
  const Environment path{"PATH", "/nowhere"};
};

/// Expects whole files from writing the figure `picture` and its data; `names`: the written files.
void expect_whole_figures(std::uint64_t seed, const std::string& picture, const std::vector<std::string>& names) {
  const TemporaryDirectory scratch;
  const WithoutGnuplot none;
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(scratch / name);
  const auto write = [&](int version) {
    StagedFiles staged;
    stage_bundle(staged, scratch / picture, curve(version), Json{{"version", version}});
    staged.commit();
  };
  expect_whole(seed, {picture, files, write});
}

TEST(FullDisk, ASavedSession) {
  const TemporaryDirectory scratch;
  SessionStore store({nullptr, ""}, of_seed(0), "");
  expect_whole(1, {"session", {scratch / "s.json"}, [&](int version) { store.save(of_seed(version), scratch / "s.json"); }});
}

TEST(FullDisk, TheLastSession) {
  const TemporaryDirectory scratch;
  SessionStore store({std::make_shared<const Autosave>(scratch / "s.json"), scratch / "recent.json"}, of_seed(0), "");
  expect_whole(2, {"last session", {scratch / "s.json"}, [&](int version) { store.close(of_seed(version)); }});
}

TEST(FullDisk, AFiguresSet) { expect_whole_figures(3, "f.svg", {"f.csv", "f.gp", "f.json"}); }
TEST(FullDisk, AFiguresArchive) { expect_whole_figures(4, "f.zip", {"f.zip"}); }

TEST(FullDisk, APictureOfBeforeDoesNotStayBesideOtherData) {
  const TemporaryDirectory scratch;
  const WithoutGnuplot none;
  const std::string picture = scratch.write("f.svg", "of another figure");
  EXPECT_THAT(sentence_of([&] { write_bundle(picture, curve(1), Json{}); }),
              HasSubstr("(package gnuplot-nox). The figure's data, script and JSON are "));
  EXPECT_FALSE(std::filesystem::exists(picture));
  EXPECT_EQ(scratch.count(), 3);
}

TEST(FullDisk, ADirectoryForGnuplotThatCannotBeMadeIsASentence) {
  const TemporaryDirectory scratch;
  const Environment unwritable("TMPDIR", "/proc");
  EXPECT_THAT(sentence_of([&] { write_bundle(scratch / "f.svg", curve(1), Json{}); }),
              HasSubstr(". The figure's data, script and JSON are " + (scratch / "f.csv")));
}

/// As in /tmp: there a rename at the end would fail.
TEST(Places, AFileOfAnotherUserInAStickyFolderCannotBeReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user is needed";
  const TemporaryDirectory scratch;
  using std::filesystem::perms;
  std::filesystem::permissions(scratch / "", perms::all | perms::sticky_bit);
  const std::string file = scratch.write("r.json", "of root");
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::setuid(nobody) != 0) ::_exit(2);
    check_place("--json", scratch / "new.json");
    const bool told =
        sentence_of([&] { check_place("--json", file); }) == "--json " + file + ": cannot be written: Operation not permitted";
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(scratch.count(), 1);
}

TEST(StagedFiles, ASetWaitsUntilAnotherOneOfItsFolderIsPlaced) {
  const TemporaryDirectory scratch;
  const std::string a = scratch.write("a", "old"), b = scratch.write("b", "old");
  std::optional<FolderLock> other(std::in_place, a);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread writer([&] {
    StagedFiles files;
    files.add(a, "new");
    files.add(scratch / "./b", "new");
    files.commit();
  });
  EXPECT_TRUE(eventually([&] { return scratch.count() == 4; })) << "both are staged";
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string placed = bytes_of_file(a);
  // a set waits no longer than two seconds, which may be over on a busy machine
  const bool may_be_over = std::chrono::steady_clock::now() - begin > std::chrono::seconds(1);
  EXPECT_TRUE(may_be_over || placed == "old") << placed;
  other.reset();
  writer.join();
  EXPECT_EQ(bytes_of_file(a) + bytes_of_file(b), "newnew");
}

/// A process id that no process has.
const std::string dead = "1999999999";

TEST(Leftovers, OfAFiguresFolderGoBeforeItsNameIsGivenAgain) {
  const TemporaryDirectory scratch;
  const std::string place = scratch / "attoscope-sweep-1";
  for (const std::string& folder : {place, scratch / "attoscope-sweep-2", scratch / "other"}) {
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/f.csv.part-" + dead + "-0") << "half";
  }
  std::ofstream(scratch / "attoscope-sweep-2/f.csv") << "whole";
  StagedFiles of_a_program_that_runs;
  of_a_program_that_runs.add(scratch / "attoscope-sweep-2/f.gp", "half");
  EXPECT_EQ(free_place(scratch / "", "sweep"), place);
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_TRUE(std::filesystem::exists(scratch / "attoscope-sweep-2/f.csv"));
  EXPECT_FALSE(std::filesystem::exists(scratch / ("attoscope-sweep-2/f.csv.part-" + dead + "-0")));
  EXPECT_TRUE(std::filesystem::exists(scratch / ("attoscope-sweep-2/f.gp.part-" + std::to_string(::getpid()) + "-0")));
  EXPECT_TRUE(std::filesystem::exists(scratch / ("other/f.csv.part-" + dead + "-0"))) << "not a folder of this program";
}

TEST(Leftovers, OfTheFoldersThatGnuplotDrewIn) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  std::filesystem::create_directories(scratch / ("tmp/attoscope-figure-" + dead + "-abcdef/deep"));
  const LockedPath living = make_locked_folder(scratch / "tmp/attoscope-figure-");
  const Environment at_scratch("TMPDIR", scratch / "tmp");
  write_bundle(scratch / "f.svg", curve(1), Json{});
  EXPECT_FALSE(std::filesystem::exists(scratch / ("tmp/attoscope-figure-" + dead + "-abcdef")));
  EXPECT_TRUE(std::filesystem::exists(living.path));
}

TEST(FullDisk, TablesOfASweep) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "out");
  const std::vector<std::string> files{scratch / "t.csv", scratch / "t.json",         scratch / "t.md",
                                       scratch / "t.tex", scratch / "out/sweep.json", scratch / "out/points.csv"};
  const auto write = [&](int version) {
    succeed(
        with(words("sweep --n 16 --d 4 --vary block_k=4,8 --no-cache --quiet --seed " + std::to_string(version)),
             {"--csv", files[0], "--json", files[1], "--markdown", files[2], "--latex", files[3], "--out", scratch / "out"}));
  };
  expect_whole(5, {"sweep", files, write});
}

TEST(FullDisk, AResultAndItsMatrices) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "out");
  std::vector<std::string> files{scratch / "r.json", scratch / "error.npy"};
  for (const char* const name : {"q", "k", "v", "golden", "a", "b"})
    files.push_back(scratch / (std::string("out/") + name + ".npy"));
  const auto write = [&](int version) {
    succeed({"run", "--n", "16", "--d", "4", "--seed", std::to_string(version), "--json", files[0], "--save-field",
             "a_error=" + files[1], "--save", scratch / "out"});
  };
  expect_whole(6, {"result", files, write});
}

TEST(FullDisk, SumsOfTensorCores) {
  const TemporaryDirectory scratch;
  const auto numbers = [&](const std::string& file, int rows) {
    const std::vector<float> values(static_cast<std::size_t>(rows), 3.0F);
    return scratch.write(file, npy_of("(" + std::to_string(rows) + ", 1)", values));
  };
  std::vector<std::string> inputs;  // one per version; written before the disk is full
  for (int version = 0; version < times + 3; ++version)
    inputs.push_back(numbers(std::to_string(version) + ".npy", 400 + version));
  const auto write = [&](int version) {
    const std::string& a = inputs[static_cast<std::size_t>(version)];
    succeed({"dot", "a100", "--format", "fp16", "--a", a, "--b", a, "--out", scratch / "d.npy", "--json", scratch / "d.json"});
  };
  expect_whole(8, {"dot", {scratch / "d.npy", scratch / "d.json"}, write});
}

#ifdef ATTOSCOPE_GUI  // needs libpng
TEST(FullDisk, APicture) {
  const TemporaryDirectory scratch;
  const auto write = [&](int version) {
    Picture picture{64, 64, std::vector<std::uint8_t>(64 * 64 * 3)};
    Dice grain(static_cast<std::uint64_t>(version));
    for (auto& x : picture.rgb) x = static_cast<std::uint8_t>(grain.bits());
    write_png(scratch / "p.png", picture);
  };
  expect_whole(7, {"picture", {scratch / "p.png"}, write});
}
#endif

}  // namespace
}  // namespace attoscope
