// `attoscope sweep`: parameters varied, points found again, tables made; against values computed one by one.
#include "app/sweep/sweep.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <thread>

#include "app/json/json_place.h"
#include "app/papers/sweep_figure.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/point_scheduler.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/table.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/app/outcome.h"
#include "tests/support/full_disk.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // attoscope::testing

/// SIGINT is left to those who ask for it, in every thread of this program: the signal goes to the process, and whichever of
/// its threads lets it through would end all.
class WithoutSigint : public ::testing::Environment {
 public:
  void SetUp() override {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
};
const ::testing::Environment* const before_any_thread = ::testing::AddGlobalTestEnvironment(new WithoutSigint);

/// The point cache of one test.
class OwnCache {
 public:
  OwnCache() { ::setenv("XDG_CACHE_HOME", (scratch_ / "cache").c_str(), 1); }
  ~OwnCache() { ::unsetenv("XDG_CACHE_HOME"); }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  std::string directory() const { return default_point_cache(); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::exists(directory())) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory()))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  /// What a file's name tells of it: "3f-472.points" has points of 472 bytes.
  static std::uint64_t point_bytes(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return std::stoull(name.substr(name.find('-') + 1));
  }
  /// How many points are kept.
  std::uint64_t points() const {
    std::uint64_t count = 0;
    for (const std::filesystem::path& file : files()) count += std::filesystem::file_size(file) / point_bytes(file);
    return count;
  }

 private:
  TemporaryDirectory scratch_;
};

Sweep small_sweep() {
  Sweep s;
  s.base = default_experiment();
  s.base.problem.n = 96;
  s.base.problem.d = 16;
  s.axes = {parse_axis("block_k=16:64:x2"), parse_axis("format=bf16,fp16")};
  s.seeds = 3;
  return s;
}

TEST(Axis, Ranges) {
  EXPECT_THAT(parse_axis("block_k=16:128:x2").values, ElementsAre("16", "32", "64", "128"));
  EXPECT_THAT(parse_axis("block_k=16:100:x2").values, ElementsAre("16", "32", "64"));
  EXPECT_THAT(parse_axis("mantissa_bits=7:10").values, ElementsAre("7", "8", "9", "10"));
  EXPECT_THAT(parse_axis("alibi=0:1:0.25").values, ElementsAre("0", "0.25", "0.5", "0.75", "1"));
  EXPECT_THAT(parse_axis("n=128").values, ElementsAre("128"));
  EXPECT_THAT(parse_axis("format=bf16,e5m7").values, ElementsAre("bf16", "e5m7"));
  EXPECT_THAT(parse_axis("input=q.npy,k.npy,v.npy;normal").values, ElementsAre("q.npy,k.npy,v.npy", "normal"));
  EXPECT_THAT(parse_axis("input=q.npy,k.npy,v.npy;").values.front(), "q.npy,k.npy,v.npy");
}

TEST(Axis, TextReadsBack) {
  for (const char* const text : {"block_k=16,32", "a.O=exact,fp32", "input=q.npy,k.npy,v.npy;normal", "scale=auto,0.5"})
    EXPECT_EQ(parse_axis(axis_text(parse_axis(text))), parse_axis(text)) << text;
}

TEST(Axis, RefusesInASentence) {
  for (const auto& [text, what] : std::vector<std::pair<const char*, const char*>>{{"block_k", "expected KEY=VALUES"},
                                                                                   {"block_k=", "expected KEY=VALUES"},
                                                                                   {"colour=red", "'colour' is unknown"},
                                                                                   {"block_k=64:16:x2", "FIRST:LAST"},
                                                                                   {"block_k=16:64:x1", "FIRST:LAST"},
                                                                                   {"block_k=16:64:x", "FIRST:LAST"},
                                                                                   {"block_k=0:64:x2", "FIRST:LAST"},
                                                                                   {"block_k=1:2:3:4", "FIRST:LAST"},
                                                                                   {"scale=0:1:1e-9", "FIRST:LAST"},
                                                                                   {"scale=nan:1", "FIRST:LAST"},
                                                                                   {"n=8,8", "twice"}})
    EXPECT_THAT(sentence_of<std::exception>([&, t = text] { parse_axis(t); }), HasSubstr(what)) << text;
}

TEST(Axis, EveryKeySetsWhatItSays) {
  const Experiment base = default_experiment();
  const auto varied = [&](const char* key, const char* value) {
    Experiment e = base;
    vary(e, key, value);
    return e;
  };
  Experiment e = base;
  e.a.block_q = e.b.block_q = 16;
  e.a.block_k = e.b.block_k = 256;
  EXPECT_EQ(varied("tile", "16x256"), e);
  e.a.block_q = e.b.block_q = e.a.block_k = e.b.block_k = 32;
  EXPECT_EQ(varied("tile_square", "32"), e);
  e = base;
  e.a.block_k = e.b.block_k = 8;
  EXPECT_EQ(varied("tile_area", "512"), e);
  e = base;
  e.a.precision = policy("tile").precision;
  EXPECT_EQ(varied("policy", "tile"), e);
  EXPECT_EQ(varied("policy", "base_ops").a.algorithm, Algorithm::three_pass);
  EXPECT_EQ(varied("algorithm", "three_pass").a.precision, policy("base_hw").precision);
  e = base;
  e.a.precision[Step::O] = {Rounding::Kind::format, fp16};
  EXPECT_EQ(varied("a.O", "fp16"), e);
  e = base;
  e.format.mantissa_bits = 5;
  EXPECT_EQ(varied("mantissa_bits", "5"), e);
  EXPECT_EQ(varied("format", "e4m3").a.tau, usual_tau(e4m3));
  for (const AxisKey& key : axis_keys())
    EXPECT_FALSE(sentence_of<std::exception>([&] { vary(e, key.key, "no such thing"); }).empty()) << key.key;
}

TEST(Axis, SwappedTilesAreSwappedAfterTheyAreSet) {
  Sweep s = small_sweep();
  s.seeds = 1;
  for (const bool tile_first : {true, false}) {
    s.axes = {parse_axis("tile=16x64"), parse_axis("tile_order=natural,swapped")};
    if (!tile_first) std::swap(s.axes[0], s.axes[1]);
    const Experiment e = experiment_of(s, 1);
    EXPECT_EQ(e.a.block_q, 64);
    EXPECT_EQ(e.a.block_k, 16);
  }
}

TEST(Axis, AVariedSeedIsTheFirstOfItsSeeds) {
  Sweep s = small_sweep();
  s.seeds = 3;
  s.axes = {parse_axis("seed=7,20")};
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < point_count(s); ++i) seeds.insert(experiment_of(s, i).problem.seed);
  EXPECT_THAT(seeds, ElementsAre(7, 8, 9, 20, 21, 22));
}

TEST(Sweep, PointsAreAllCombinationsOnceAndTruthsStandTogether) {
  const Sweep s = small_sweep();
  ASSERT_EQ(point_count(s), 18u);
  std::set<std::array<int, 3>> places;
  int truths = 1;
  for (std::size_t i = 0; i < 18; ++i) {
    const PointPlace p = place_of(s, i);
    places.insert({p.at[0], p.at[1], p.seed});
    if (i > 0) truths += place_of(s, i - 1).seed != p.seed || place_of(s, i - 1).at[1] != p.at[1];
  }
  EXPECT_EQ(places.size(), 18u);
  EXPECT_EQ(truths, 6);
}

TEST(Sweep, AnswersAreThoseOfCompute) {
  const Sweep s = small_sweep();
  const std::vector<SweepAnswer> answers = run_sweep(s, {});
  ASSERT_EQ(answers.size(), 18u);
  for (const SweepAnswer& a : answers) EXPECT_EQ(a.summary, summary(compute(experiment_of(s, a.index)))) << a.index;
  for (const int threads : {1, 3}) {
    const std::vector<SweepAnswer> again = run_sweep(s, {.threads = threads});
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(again[i].summary, answers[i].summary);
  }
}

TEST(Sweep, RowsAreMeanAndSpreadOverSeeds) {
  const Sweep s = small_sweep();
  const Measure measure = parse_measure("ratio.rms");
  const std::vector<SweepRow> table = rows(s, measure, run_sweep(s, {}));
  ASSERT_EQ(table.size(), 6u);
  EXPECT_THAT(table[3].values, ElementsAre("32", "fp16"));
  std::vector<double> values;
  for (int seed = 1; seed <= 3; ++seed) {
    Experiment e = s.base;
    e.problem.seed = static_cast<std::uint64_t>(seed);
    e.a.block_k = e.b.block_k = 32;
    e.format = fp16;
    const Result r = compute(e);
    values.push_back(r.a_error.rms / r.b_error.rms);
  }
  const double mean = (values[0] + values[1] + values[2]) / 3;
  double square = 0;
  for (const double v : values) square += (v - mean) * (v - mean);
  EXPECT_DOUBLE_EQ(table[3].mean, mean);
  EXPECT_NEAR(table[3].std, std::sqrt(square / 2), 1e-12);
  EXPECT_EQ(table[3].min, *std::ranges::min_element(values));
  EXPECT_EQ(table[3].max, *std::ranges::max_element(values));
}

TEST(Sweep, APointThatMakesNoSenseStopsNothing) {
  Sweep s = small_sweep();
  s.axes = {parse_axis("n=64,128,3000000")};
  const std::vector<SweepAnswer> answers = run_sweep(s, {});
  int errors = 0;
  for (const SweepAnswer& a : answers) errors += a.error.find("3000000") != std::string::npos;
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(answers.size(), 9u);
}

TEST(Measures, TakeWhatTheySay) {
  PointSummary p;
  p.a.mean_abs = 6;
  p.b.mean_abs = 4;
  p.a_minus_b.max_abs = 7;
  p.golden_rms = 2;
  p.rescales = 1.5;
  EXPECT_EQ(value_of(parse_measure("a.mean_abs"), p), 6);
  EXPECT_EQ(value_of(parse_measure("a.mean_abs/golden"), p), 3);
  EXPECT_EQ(value_of(parse_measure("ratio.mean_abs"), p), 1.5);
  EXPECT_EQ(value_of(parse_measure("a_minus_b.max_abs"), p), 7);
  EXPECT_EQ(value_of(parse_measure("rescales"), p), 1.5);
  for (const char* const wrong : {"", "a", "a.", "c.rms", "a.rmsd", "ratio.rms/golden", "a.cosine/golden", "rescales/golden"})
    EXPECT_THAT(sentence_of<std::exception>([&] { parse_measure(wrong); }), HasSubstr("expected a., b.")) << wrong;
}

TEST(SweepJson, RoundTripAndRemarks) {
  const Sweep s = small_sweep();
  std::vector<std::string> remarks;
  EXPECT_EQ(parse_sweep(json_text(sweep_json(s)), remarks), s);
  EXPECT_TRUE(remarks.empty());
  for (const char* const text :
       {"", "[]", "{}", R"({"schema":"attoscope.sweep/1"})", R"({"schema":"attoscope.sweep/1","vary":[7]})",
        R"({"schema":"attoscope.sweep/1","vary":["n=1:2:3:4"]})"})
    EXPECT_FALSE(sentence_of<std::exception>([&] { parse_sweep(text, remarks); }).empty()) << text;
}

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
  EXPECT_EQ(PointCache(own.directory()).find(e)->golden_rms, 0) << "a program of before finds its own";
}

TEST(PointCache, WhatAGpuRoundsByItselfIsNotKept) {
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

TEST(Json, ReadsEverySpellingOfWhatIsNotFinite) {
  for (const double x : {0.1, -0.0, double{INFINITY}, -double{INFINITY}}) {
    const nlohmann::json json = number_json(x);
    EXPECT_EQ(JsonPlace(json, "x").number(), x);
  }
  EXPECT_EQ(number_json(NAN), Json(nullptr));
  for (const nlohmann::json& json : {nlohmann::json(nullptr), nlohmann::json("nan")})
    EXPECT_TRUE(std::isnan(JsonPlace(json, "x").number())) << json;
  const nlohmann::json other = "NaN";
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { JsonPlace(other, "x").number(); }), HasSubstr("x is '\"NaN\"'"));
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

constexpr std::uint64_t point_bytes = PointPack::record_bytes(40 * 8);

/// How many of the points of these seeds are known.
int known(const PointCache& cache, std::uint64_t begin, std::uint64_t end) {
  int count = 0;
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    const auto found = cache.find(of_seed(seed));
    if (found) EXPECT_EQ(found->golden_rms, static_cast<double>(seed));
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
  EXPECT_EQ(known(PointCache(own.directory()), 0, 2000), 2000) << "and for the next program";
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
  EXPECT_LE(own.points(), 1100u) << "earlier ones went away meanwhile";
  EXPECT_EQ(known(cache, 0, 100), reused) << "what the running sweep found stays, though it is the oldest";
  EXPECT_EQ(known(cache, 1000, 1600), 600) << "and what it computed";
  for (std::uint64_t seed = 2000; seed < 4000; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_EQ(known(cache, 2000, 4000), 2000) << "even where it is more than the limit";
  cache.begin_sweep();
  for (std::uint64_t seed = 5000; seed < 5200; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_LE(own.points(), 1100u) << "the next sweep makes room";
  EXPECT_EQ(known(cache, 5000, 5200), 200);
}

TEST(PointCache, ASmallSweepDoesNotWaitForALargeCache) {
  const OwnCache own;
  for (int folder = 0; folder < 256; ++folder) {  // what earlier versions left
    const std::string name = own.directory() + "/" + hex16(static_cast<std::uint64_t>(folder)).substr(14);
    std::filesystem::create_directories(name);
    for (const char* const file : {"/1.json", "/2.json", "/3.json.part-7f-1"}) std::ofstream(name + file) << "{}";
  }
  PointCache cache(own.directory(), 1 << 20);
  EXPECT_EQ(own.files().size(), 768u) << "opening it looks at nothing";
  cache.keep(of_seed(1), worth(1));
  EXPECT_EQ(own.files().size(), 768u - 12 + 1) << "a few of them go with every file that is written";
  for (std::uint64_t seed = 0; seed < 1000; ++seed) cache.keep(of_seed(seed), worth(1));
  EXPECT_LE(own.files().size(), PointCache::files);
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
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(2);  // root may write everywhere
    PointCache cache(scratch / "points");
    cache.keep(default_experiment(), {});
    ::_exit(cache.remark() == "Points are not kept in " + (scratch / "points") + ": Permission denied." ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::permissions(scratch / "", perms::owner_all);
  EXPECT_EQ(status, 0);
}

/// Keeps and finds points as fast as it can, until it is killed.
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
      EXPECT_TRUE(WIFSIGNALED(status)) << "it found another point than was kept, or could not write: " << WEXITSTATUS(status);
    }
    const PointCache cache(own.directory(), limit);
    known(cache, 0, 1000);
  }
  PointCache cache(own.directory(), limit);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) cache.keep(of_seed(seed), worth(static_cast<double>(seed)));
  EXPECT_EQ(known(cache, 0, 1000), 1000);
  for (const std::filesystem::path& file : own.files())
    EXPECT_EQ(file.extension(), ".points") << "what the dead left is swept up";
}

TEST(PointCache, ADirectoryThatCannotBeWrittenIsOneSentence) {
  PointCache cache("/proc/attoscope");
  cache.keep(default_experiment(), {});
  EXPECT_THAT(cache.remark(), HasSubstr("Points are not kept in /proc/attoscope"));
  EXPECT_FALSE(cache.find(default_experiment()));
}

const std::vector<std::string> small_command{"sweep",           "--n",     "64", "--d",    "8", "--vary",
                                             "block_k=8:32:x2", "--seeds", "2",  "--quiet"};

std::vector<std::string> with(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

TEST(SweepCommand, TheTracedRowIsOneOfEveryPoint) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& sentence) {
    std::vector<std::string> command{"sweep", "--d", "8", "--no-cache"};
    command.insert(command.end(), options.begin(), options.end());
    testing::expect_refused(command, 2, sentence);
  };
  refused({"--n", "64", "--row", "64", "--vary", "block_k=8,16"}, "--row is '64', expected a whole number from -64 to 63");
  refused({"--row", "40", "--vary", "n=32,64"}, "--row is '40', expected a whole number from -32 to 31");
  refused({"--row", "-33", "--vary", "n=64,32"}, "--row is '-33', expected a whole number from -32 to 31");
  const Outcome beyond_base = attoscope({"sweep", "--d", "8", "--n", "16", "--row", "20", "--vary", "n=32,64", "--no-cache"});
  EXPECT_EQ(beyond_base.code, 0) << beyond_base.err;
}

TEST(SweepCommand, TablesHaveTheSameNumbers) {
  const OwnCache own;
  const Outcome csv = attoscope(with(small_command, {"--csv", "-"}));
  ASSERT_EQ(csv.code, 0) << csv.err;
  EXPECT_THAT(csv.out, ::testing::StartsWith("block_k,a.mean_abs.mean,a.mean_abs.std,a.mean_abs.min,a.mean_abs.max,seeds\n8,"));
  const nlohmann::json json = nlohmann::json::parse(attoscope(with(small_command, {"--json", "-"})).out);
  EXPECT_EQ(json["rows"].size(), 3u);
  EXPECT_THAT(csv.out, HasSubstr(nlohmann::json(json["rows"][2]["mean"]).dump()));
  EXPECT_THAT(attoscope(with(small_command, {"--markdown", "-"})).out, HasSubstr("| --- | ---: |"));
  EXPECT_THAT(attoscope(with(small_command, {"--latex", "-"})).out, HasSubstr("block\\_k & mean $\\vert$error$\\vert$"));
  EXPECT_THAT(attoscope(small_command).out, HasSubstr("6 points, 0 of them computed now."));
  EXPECT_THAT(attoscope(with(small_command, {"--no-cache"})).out, HasSubstr("6 points, 6 of them computed now: "));
}

TEST(SweepCommand, DrawsItsTable) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const Outcome o = attoscope(with(small_command, {"--vary", "format=bf16,fp16", "--figure", scratch / "f.svg"}));
  if (o.code != 0) {
    EXPECT_THAT(o.err, HasSubstr("gnuplot-nox"));  // there is none: the data are there all the same
  } else {
    EXPECT_THAT(bytes_of_file(scratch / "f.svg"), HasSubstr("</svg>"));
  }
  EXPECT_THAT(bytes_of_file(scratch / "f.csv"), HasSubstr(",fp16,32,"));
  EXPECT_THAT(bytes_of_file(scratch / "f.json"), HasSubstr("attoscope.sweep/1"));
}

TEST(SweepCommand, ItsBundleDrawsTheSameFigureAgain) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const std::vector<std::string> style{"--vary", "format=bf16,fp16", "--spread", "min-max", "--heat-map"};
  for (const char* const bundle : {"one.svg", "one.zip"}) {
    const Outcome drawn = attoscope(with(with(small_command, style), {"--figure", scratch / bundle}));
    if (drawn.err.find("gnuplot-nox") != std::string::npos) GTEST_SKIP() << "there is no gnuplot";
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    const std::string again = scratch / bundle == scratch / "one.zip" ? scratch / "one.zip" : scratch / "one.json";
    const Outcome redrawn = attoscope({"figure", again, "--out", scratch / "two.svg", "--quiet"});
    ASSERT_EQ(redrawn.code, 0) << redrawn.err;
    EXPECT_EQ(bytes_of_file(scratch / "one.csv"), bytes_of_file(scratch / "two.csv"));
    EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "two.json"))["style"]["heat_map"], true);
  }
}

TEST(SweepCommand, ShardsMergeToTheWhole) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const auto table = [&](const std::vector<std::string>& more) {
    const Outcome o = attoscope(with(small_command, more));
    EXPECT_EQ(o.code, 0) << o.err;
    return o.out;
  };
  const std::string whole = table({"--no-cache", "--csv", "-"});
  std::vector<std::string> merge{"sweep", "--csv", "-", "--merge"};
  for (const char* const k : {"1", "2", "3", "4"}) {
    const std::string directory = scratch / (std::string("part") + k);
    table({"--no-cache", "--shard", std::string(k) + "/4", "--out", directory});
    merge.push_back(directory);
  }
  const Outcome merged = attoscope(merge);
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(merged.out, whole);
}

TEST(PointScheduler, DealsEveryPointOnceAndAgainWhatTheDeadLeft) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < 100; ++i) points.push_back(3 * i + 1);
  PointScheduler scheduler(points, 3);
  const std::vector<std::size_t> first = scheduler.next(0), second = scheduler.next(1);
  ASSERT_FALSE(first.empty());
  EXPECT_NE(first, second);
  EXPECT_TRUE(scheduler.finished(second[0]));
  EXPECT_FALSE(scheduler.finished(second[0])) << "the first answer counts";
  EXPECT_FALSE(scheduler.finished(3)) << "no point of ours";
  scheduler.lost(1);
  std::multiset<std::size_t> seen(first.begin(), first.end());
  for (const std::size_t p : first) scheduler.finished(p);
  for (std::vector<std::size_t> run = scheduler.next(2); !run.empty(); run = scheduler.next(2))
    for (const std::size_t p : run) {
      EXPECT_TRUE(scheduler.finished(p)) << p;
      seen.insert(p);
    }
  EXPECT_TRUE(scheduler.complete());
  seen.insert(second[0]);
  EXPECT_EQ(seen, std::multiset<std::size_t>(points.begin(), points.end()));
}

TEST(PointScheduler, WhatAWorkerGaveUpIsDealtAgain) {
  PointScheduler scheduler({5, 6, 7}, 1);
  std::set<std::size_t> seen;
  for (int i = 0; i < 6; ++i) {
    const auto run = scheduler.next(0);  // never finished
    ASSERT_FALSE(run.empty());
    seen.insert(run.begin(), run.end());
  }
  EXPECT_FALSE(scheduler.complete());
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(5u));  // it comes back to the front
}

TEST(SweepFigure, BarsReachWhatTheSpreadSays) {
  const Sweep sweep = small_sweep();
  const auto answers = run_sweep(sweep, {});
  const auto table = rows(sweep, sweep.measure, answers);
  const Figure std = sweep_figure("f", sweep, sweep.measure, table);
  const Figure all = sweep_figure("f", sweep, sweep.measure, table, {.spread = SweepSpread::min_max});
  const auto& row = table.at(1);  // block_k 16, fp16
  const Series &s = std.panels.at(0).series.at(1), &m = all.panels.at(0).series.at(1);
  EXPECT_EQ(s.low.at(0), row.mean - row.std);
  EXPECT_EQ(s.high.at(0), row.mean + row.std);
  EXPECT_EQ(m.low.at(0), row.min);
  EXPECT_EQ(m.high.at(0), row.max);
}

TEST(SweepFigure, AMapHasACellForEachCombination) {
  const Sweep sweep = small_sweep();
  const auto table = rows(sweep, sweep.measure, run_sweep(sweep, {}));
  const Figure f = sweep_figure("f", sweep, sweep.measure, table, {.heat_map = true});
  const FigureHeat& heat = f.panels.at(0).heat.value();
  EXPECT_EQ(heat.width, 3);
  EXPECT_EQ(heat.height, 2);
  EXPECT_EQ(heat.values.at(3 + 1), static_cast<float>(table.at(3).mean));  // fp16 below, block_k 32 is the second from the left
  EXPECT_EQ(f.panels.at(0).y.categories, (std::vector<std::string>{"bf16", "fp16"}));
  EXPECT_THAT(figure_csv(f), HasSubstr(",32,fp16,"));
}

TEST(SweepCommand, WrongUsageIsOneSentence) {
  const OwnCache own;
  for (const auto& [more, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--measure", "a.size"}, "measure is 'a.size'"},
           {{"--shard", "5/4"}, "--shard is '5/4'"},
           {{"--figure", "x.pdf", "--spread", "all"}, "--spread is 'all', expected std or min-max"},
           {{"--vary", "block_k=1,2"}, "varies block_k twice"},
           {{"--vary", "n=1,2", "--vary", "d=1,2"}, "varies 3 parameters"}}) {
    const Outcome o = attoscope(with(small_command, more));
    EXPECT_EQ(o.code, 2) << what;
    EXPECT_THAT(o.err, HasSubstr(what));
  }
  EXPECT_THAT(attoscope({"sweep"}).err, HasSubstr("--vary is missing"));
  EXPECT_THAT(attoscope({"sweep", "--vary", "n=8", "--seeds", "0"}).err, HasSubstr("--seeds is '0'"));
}

TEST(SweepCommand, LooksAtItsPlacesBeforeItComputes) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const auto refused = [&](const std::vector<std::string>& more, int code, const std::string& sentence) {
    expect_refused(with(small_command, more), code, sentence);
    EXPECT_EQ(own.points(), 0u) << "nothing was computed";
  };
  for (const char* const option : {"--csv", "--json", "--markdown", "--latex"})
    refused({option, scratch / "none/x"}, 1, std::string(option) + " " + (scratch / "none/x") + ": there is no directory");
  refused({"--figure", scratch / "none/x.svg"}, 1, "--figure " + (scratch / "none/x.svg") + ": there is no directory");
  refused({"--out", scratch.write("file", "")}, 1, "is a file, expected a directory");
  const std::string x = scratch / "x.csv";
  refused({"--csv", x, "--json", x}, 2, "--json " + x + ": --csv writes this file, too, expected another");
  refused({"--csv", x, "--figure", scratch / "x.svg"}, 2, "--csv writes this file, too");
  refused({"--json", scratch / "o/sweep.json", "--out", scratch / "o"}, 1, "there is no directory");
  EXPECT_EQ(attoscope(with(small_command, {"--csv", "-", "--json", "-"})).code, 0);
}

TEST(SweepCommand, ADamagedShardNamesItsLine) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const std::string directory = scratch / "part";
  attoscope(with(small_command, {"--out", directory}));
  const std::string path = directory + "/points.csv";
  const std::string text = bytes_of_file(path);
  std::ofstream(path) << text.substr(0, text.size() - 60);
  const Outcome cut = attoscope({"sweep", "--merge", directory});
  EXPECT_EQ(cut.code, 1);
  EXPECT_THAT(cut.err, HasSubstr("points.csv: line 7 is no point of this sweep"));
  std::filesystem::remove(path);
  EXPECT_THAT(attoscope({"sweep", "--merge", directory}).err, HasSubstr("points.csv"));
}

TEST(SweepCommand, ResumesWhereASignalStoppedIt) {
  const OwnCache own;
  const std::vector<std::string> command{"sweep",           "--n",     "128", "--d",    "32", "--vary",
                                         "block_k=8:64:x2", "--seeds", "200", "--quiet"};
  std::jthread killer([&](const std::stop_token& ended) {
    while (own.points() < 20 && !ended.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!ended.stop_requested()) ::kill(::getpid(), SIGINT);
  });
  const Outcome stopped = attoscope(command);
  killer.request_stop();
  killer.join();
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("the same command goes on from there"));
  const std::uint64_t kept = own.points();
  EXPECT_LT(kept, 800u);
  const Outcome resumed = attoscope(command);
  EXPECT_THAT(resumed.out, HasSubstr("800 points, " + std::to_string(800 - kept) + " of them computed now: "));
  const Outcome fresh = attoscope(with(command, {"--no-cache"}));
  EXPECT_EQ(resumed.out.substr(0, resumed.out.find("points")), fresh.out.substr(0, fresh.out.find("points")));
}

}  // namespace
}  // namespace attoscope
