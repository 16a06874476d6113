// Everything that writes files, on a disk that is full after a random number of bytes. Checkpoints and captures:
// train_command_test; points: point_cache_test.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/figures/bundle.h"
#include "app/files/png.h"
#include "app/papers/figure_maker.h"
#include "app/session/session_store.h"
#include "tests/app/disk_full.h"
#include "tests/support/figure_support.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr int times = experiments(40);

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

/// PATH leads nowhere, so that there is no gnuplot: its picture does not use the limited disk.
class WithoutGnuplot {
 public:
  WithoutGnuplot() : path_(std::getenv("PATH")) { ::setenv("PATH", "/nowhere", 1); }
  ~WithoutGnuplot() { ::setenv("PATH", path_.c_str(), 1); }
  WithoutGnuplot(const WithoutGnuplot&) = delete;
  WithoutGnuplot& operator=(const WithoutGnuplot&) = delete;

 private:
  std::string path_;
};

TEST(FullDisk, ASavedSession) {
  const TemporaryDirectory scratch;
  Dice dice(1);
  SessionStore store({nullptr, ""}, of_seed(0), "");
  expect_whole_whenever_full(
      {"session", {scratch / "s.json"}, [&](int version) { store.save(of_seed(version), scratch / "s.json"); }}, times, dice);
}

TEST(FullDisk, TheLastSession) {
  const TemporaryDirectory scratch;
  Dice dice(2);
  SessionStore store({std::make_shared<const Autosave>(scratch / "s.json"), scratch / "recent.json"}, of_seed(0), "");
  expect_whole_whenever_full({"last session", {scratch / "s.json"}, [&](int version) { store.close(of_seed(version)); }}, times,
                             dice);
}

TEST(FullDisk, AFiguresSet) {
  const TemporaryDirectory scratch;
  const WithoutGnuplot none;
  Dice dice(3);
  const auto write = [&](int version) {
    StagedFiles files;
    stage_bundle(files, scratch / "f.svg", curve(version), Json{{"version", version}});
    files.commit();
  };
  expect_whole_whenever_full({"figure", {scratch / "f.csv", scratch / "f.gp", scratch / "f.json"}, write}, times, dice);
}

TEST(FullDisk, AFiguresArchive) {
  const TemporaryDirectory scratch;
  const WithoutGnuplot none;
  Dice dice(4);
  const auto write = [&](int version) {
    StagedFiles files;
    stage_bundle(files, scratch / "f.zip", curve(version), Json{{"version", version}});
    files.commit();
  };
  expect_whole_whenever_full({"archive", {scratch / "f.zip"}, write}, times, dice);
}

TEST(FullDisk, APictureOfBeforeDoesNotStayBesideOtherData) {
  const TemporaryDirectory scratch;
  const WithoutGnuplot none;
  const std::string picture = scratch.write("f.svg", "of another figure");
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { write_bundle(picture, curve(1), Json{}); }),
              HasSubstr("can be had without. They are in "));
  EXPECT_FALSE(std::filesystem::exists(picture));
  EXPECT_EQ(scratch.count(), 3);
}

TEST(FullDisk, ADirectoryForGnuplotThatCannotBeMadeIsASentence) {
  const TemporaryDirectory scratch;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/proc", 1);
  std::string sentence;
  try {
    write_bundle(scratch / "f.svg", curve(1), Json{});
  } catch (const std::runtime_error& error) {
    sentence = error.what();
  }
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_THAT(sentence, HasSubstr(". They are in " + (scratch / "f.csv")));
}

/// A number that no process has.
const std::string dead = "1999999999";

TEST(Leftovers, OfAFiguresFolderGoBeforeItsNameIsGivenAgain) {
  const TemporaryDirectory scratch;
  const std::string place = scratch / "attoscope-sweep-1";
  for (const std::string& folder : {place, scratch / "attoscope-sweep-2", scratch / "other"}) {
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/f.csv.part-" + dead + "-0") << "half";
  }
  std::ofstream(scratch / "attoscope-sweep-2/f.csv") << "whole";
  std::ofstream(scratch / ("attoscope-sweep-2/f.gp.part-" + std::to_string(::getpid()) + "-0")) << "of a program that runs";
  EXPECT_EQ(free_place(scratch / "", "sweep"), place);
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_TRUE(std::filesystem::exists(scratch / "attoscope-sweep-2/f.csv"));
  EXPECT_FALSE(std::filesystem::exists(scratch / ("attoscope-sweep-2/f.csv.part-" + dead + "-0")));
  EXPECT_TRUE(std::filesystem::exists(scratch / ("attoscope-sweep-2/f.gp.part-" + std::to_string(::getpid()) + "-0")));
  EXPECT_TRUE(std::filesystem::exists(scratch / ("other/f.csv.part-" + dead + "-0"))) << "no folder of ours";
}

TEST(Leftovers, OfTheFoldersThatGnuplotDrewIn) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  std::filesystem::create_directories(scratch / ("tmp/attoscope-figure-" + dead + "-abcdef/deep"));
  std::filesystem::create_directories(scratch / ("tmp/attoscope-figure-" + std::to_string(::getpid()) + "-abcdef"));
  ::setenv("TMPDIR", (scratch / "tmp").c_str(), 1);
  write_bundle(scratch / "f.svg", curve(1), Json{});
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_FALSE(std::filesystem::exists(scratch / ("tmp/attoscope-figure-" + dead + "-abcdef")));
  EXPECT_TRUE(std::filesystem::exists(scratch / ("tmp/attoscope-figure-" + std::to_string(::getpid()) + "-abcdef")));
}

TEST(FullDisk, TablesOfASweep) {
  const TemporaryDirectory scratch;
  Dice dice(5);
  std::filesystem::create_directory(scratch / "out");
  const std::vector<std::string> files{scratch / "t.csv", scratch / "t.json",         scratch / "t.md",
                                       scratch / "t.tex", scratch / "out/sweep.json", scratch / "out/points.csv"};
  const auto write = [&](int version) {
    succeed({"sweep",       "--n",     "16",
             "--d",         "4",       "--vary",
             "block_k=4,8", "--seed",  std::to_string(version),
             "--no-cache",  "--quiet", "--csv",
             files[0],      "--json",  files[1],
             "--markdown",  files[2],  "--latex",
             files[3],      "--out",   scratch / "out"});
  };
  expect_whole_whenever_full({"sweep", files, write}, times, dice);
}

TEST(FullDisk, AResultAndItsMatrices) {
  const TemporaryDirectory scratch;
  Dice dice(6);
  std::filesystem::create_directory(scratch / "out");
  std::vector<std::string> files{scratch / "r.json", scratch / "error.npy"};
  for (const char* const name : {"q", "k", "v", "golden", "a", "b"})
    files.push_back(scratch / (std::string("out/") + name + ".npy"));
  const auto write = [&](int version) {
    succeed({"run", "--n", "16", "--d", "4", "--seed", std::to_string(version), "--json", files[0], "--save-field",
             "a_error=" + files[1], "--save", scratch / "out"});
  };
  expect_whole_whenever_full({"result", files, write}, times, dice);
}

TEST(FullDisk, SumsOfTensorCores) {
  const TemporaryDirectory scratch;
  Dice dice(8);
  const auto numbers = [&](const std::string& file, int rows) {
    const std::vector<float> values(static_cast<std::size_t>(rows), 3.0F);
    return scratch.write(file, npy(npy_header("<f4", "(" + std::to_string(rows) + ", 1)"), raw(values)));
  };
  std::vector<std::string> inputs;  // of each version; read, not written, where the disk is full
  for (int version = 0; version < times + 3; ++version)
    inputs.push_back(numbers(std::to_string(version) + ".npy", 400 + version));
  const auto write = [&](int version) {
    const std::string& a = inputs[static_cast<std::size_t>(version)];
    succeed({"dot", "a100", "--format", "fp16", "--a", a, "--b", a, "--out", scratch / "d.npy", "--json", scratch / "d.json"});
  };
  expect_whole_whenever_full({"dot", {scratch / "d.npy", scratch / "d.json"}, write}, times, dice);
}

#ifdef ATTOSCOPE_GUI  // or there is no libpng
TEST(FullDisk, APicture) {
  const TemporaryDirectory scratch;
  Dice dice(7);
  const auto write = [&](int version) {
    Picture picture{64, 64, std::vector<std::uint8_t>(64 * 64 * 3)};
    Dice grain(static_cast<std::uint64_t>(version));
    for (auto& x : picture.rgb) x = static_cast<std::uint8_t>(grain.bits());
    write_png(scratch / "p.png", picture);
  };
  expect_whole_whenever_full({"picture", {scratch / "p.png"}, write}, times, dice);
}
#endif

}  // namespace
}  // namespace attoscope
