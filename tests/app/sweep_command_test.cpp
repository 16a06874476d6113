// `attoscope sweep`: its tables, figures, shards and signals.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stop_token>
#include <thread>

#include "app/figures/bundle.h"
#include "app/session/session.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/table.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/app/own_cache.h"
#include "tests/support/gnuplot_stand_in.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Blocks SIGINT in every thread that does not unblock it: the signal goes to the process, and a thread with SIGINT unblocked
/// would end the process.
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

const std::vector<std::string> small_command = words("sweep --n 64 --d 8 --vary block_k=8:32:x2 --seeds 2 --quiet");

TEST(SweepCommand, TheTracedRowIsOneOfEveryPoint) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& sentence) {
    testing::expect_refused(with({"sweep", "--d", "8", "--no-cache"}, options), 2, sentence);
  };
  refused({"--n", "64", "--row", "64", "--vary", "block_k=8,16"}, "--row is '64', expected a whole number from -64 to 63");
  refused({"--row", "40", "--vary", "n=32,64"}, "--row is '40', expected a whole number from -32 to 31");
  refused({"--row", "-33", "--vary", "n=64,32"}, "--row is '-33', expected a whole number from -32 to 31");
  succeed(words("sweep --d 8 --n 16 --row 20 --vary n=32,64 --no-cache"));
}

TEST(SweepCommand, TablesHaveTheSameNumbers) {
  const OwnCache own;
  const std::string csv = output_of(with(small_command, {"--csv", "-"}));
  EXPECT_THAT(csv, StartsWith("block_k,a.mean_abs.mean,a.mean_abs.std,a.mean_abs.min,a.mean_abs.max,seeds\n8,"));
  const nlohmann::json json = json_of(small_command);
  EXPECT_EQ(json["rows"].size(), 3u);
  EXPECT_THAT(csv, HasSubstr(nlohmann::json(json["rows"][2]["mean"]).dump()));
  EXPECT_THAT(attoscope(with(small_command, {"--markdown", "-"})).out, HasSubstr("| --- | ---: |"));
  EXPECT_THAT(attoscope(with(small_command, {"--latex", "-"})).out, HasSubstr("block\\_k & mean $\\vert$error$\\vert$"));
  EXPECT_THAT(attoscope(small_command).out, HasSubstr("6 points, 0 of them computed now."));
  EXPECT_THAT(attoscope(with(small_command, {"--no-cache"})).out, HasSubstr("6 points, 6 of them computed now: "));
  EXPECT_THAT(attoscope(words("sweep --n 16 --d 4 --vary block_k=8 --no-cache --quiet")).out,
              HasSubstr("1 point, 1 of them computed now: "));
}

TEST(SweepCommand, DrawsItsTable) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const Outcome o = attoscope(with(small_command, {"--vary", "format=bf16,fp16", "--figure", scratch / "f.svg"}));
  if (o.code != 0) {
    EXPECT_THAT(o.err, HasSubstr("gnuplot-nox"));  // without gnuplot the data files are still written
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
    succeed({"figure", again, "--out", scratch / "two.svg", "--quiet"});
    for (const std::string option : {"--policy eager", "--n 64", "--d 8", "--seeds 2", "--all-policies"})
      expect_refused(with({"figure", again, "--out", scratch / "no.svg"}, words(option)), 2, "expected it with a named figure");
    EXPECT_EQ(bytes_of_file(scratch / "one.csv"), bytes_of_file(scratch / "two.csv"));
    EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "two.json"))["style"]["heat_map"], true);
  }
}

/// The figure of this JSON, drawn again as again.svg in its folder.
Outcome drawn_again(const TemporaryDirectory& scratch, const nlohmann::json& json) {
  return attoscope({"figure", scratch.write("x.json", json.dump()), "--out", scratch / "again.svg", "--quiet"});
}

TEST(SweepCommand, ItsBundleSaysWhereItsPointsHaveOtherBits) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const Outcome drawn = attoscope(with(small_command, {"--figure", scratch / "f.svg", "--out", scratch / "points"}));
  if (drawn.err.find("gnuplot-nox") != std::string::npos) GTEST_SKIP() << "there is no gnuplot";
  nlohmann::json json = nlohmann::json::parse(bytes_of_file(scratch / "f.json"));
  const nlohmann::json digests = json.at("digests");
  EXPECT_EQ(drawn_again(scratch, json).code, 0);
  succeed({"sweep", "--merge", scratch / "points", "--figure", scratch / "merged.svg", "--quiet"});
  EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "merged.json"))["digests"], digests);
  json["digests"]["points"] = "0123456789abcdef";
  const Outcome other = drawn_again(scratch, json);
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("x.json: the bits of its points are not those that the figure was first made of"));
  EXPECT_EQ(bytes_of_file(scratch / "again.csv"), bytes_of_file(scratch / "f.csv"));
  EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "again.json"))["digests"], digests);
  json.erase("digests");
  EXPECT_EQ(drawn_again(scratch, json).code, 0) << "older figures have none";
}

TEST(SweepCommand, ShardsMergeToTheWhole) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const auto table = [&](const std::vector<std::string>& more) { return output_of(with(small_command, more)); };
  const std::string whole = table({"--no-cache", "--csv", "-"});
  std::vector<std::string> merge{"sweep", "--csv", "-", "--merge"};
  for (const char* const k : {"1", "2", "3", "4"}) {
    const std::string directory = scratch / (std::string("part") + k);
    table({"--no-cache", "--shard", std::string(k) + "/4", "--out", directory});
    merge.push_back(directory);
  }
  EXPECT_EQ(output_of(merge), whole);
  EXPECT_EQ(output_of(with(merge, {"--measure", "b.max_abs"})), table({"--measure", "b.max_abs", "--csv", "-"}));
  expect_refused(with(merge, {"--measure", "a.dq.rms"}), 2, "--measure is 'a.dq.rms', expected one of the output");
  for (const std::string option : {"--vary block_k=8", "--seeds 2", "--over seed", "--shard 1/4"})
    expect_refused(with(merge, words(option)), 2, option.substr(0, option.find(' ')) + " beside --merge");
  expect_refused(with(merge, {"--heat-map"}), 2, "--heat-map needs two parameters");
  expect_refused(with(merge, {"--n", "64"}), 2, "options of an experiment beside --merge");
}

TEST(SweepCommand, AFigureNeedsAllPoints) {
  const TemporaryDirectory scratch;
  const std::string part = scratch / "part", figure = scratch / "f.svg";
  const std::vector<std::string> shard = with(small_command, words("--no-cache --shard 1/2"));
  const std::string refused = "expected tables alone: a figure needs all 6 points of the sweep, and here are 3";
  expect_refused(with(shard, {"--figure", figure, "--out", part}), 2, refused);
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_THAT(attoscope(with(shard, {"--out", part})).err, IsEmpty());
}

/// The points of a merged sweep are written, without a figure, and the missing parts are named as by --shard.
TEST(SweepCommand, MissingPartsAreNamedAfterTheOthersAreWritten) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  std::vector<std::string> parts;
  for (const char* const shard : {"1/4", "2/4", "3/4", "4/4"}) {
    parts.push_back(scratch / (std::string("part") + shard[0]));
    succeed(with(small_command, {"--shard", shard, "--out", parts.back()}));
  }
  const auto expect_missing = [&](const std::vector<std::string>& found, const std::string& sentence) {
    const std::vector<std::string> merge = with({"sweep", "--merge"}, found);
    const Outcome drawn =
        attoscope(with(merge, {"--csv", scratch / "t.csv", "--figure", scratch / "f.svg", "--out", scratch / "all"}));
    EXPECT_EQ(drawn.code, 1);
    EXPECT_EQ(drawn.err, "attoscope: " + sentence + "\n");
    EXPECT_FALSE(std::filesystem::exists(scratch / "f.csv"));
    EXPECT_EQ(bytes_of_file(scratch / "t.csv"), attoscope(with(merge, {"--csv", "-"})).out);
    EXPECT_THAT(attoscope({"sweep", "--merge", scratch / "all"}).err, StartsWith("attoscope: the parts hold"));
    EXPECT_FALSE(json_of(merge, 1).at("rows").empty());
  };
  expect_missing({parts[0], parts[2], parts[3]}, "the parts hold 4 of 6 points of the sweep: --shard 2/4 is missing");
  expect_missing({parts[3], parts[1]}, "the parts hold 3 of 6 points of the sweep: --shard 1/4 and 3/4 are missing");
  expect_missing({parts[2]}, "the parts hold 1 of 6 points of the sweep: --shard 1/4, 2/4 and 4/4 are missing");
  const std::string first = scratch / "first";
  succeed(with(words("sweep --n 16 --d 4 --vary block_k=1:12:1 --shard 1/12 --out"), {first}));
  EXPECT_THAT(attoscope({"sweep", "--merge", first}).err, HasSubstr("8/12, 9/12 and 3 more are missing"));
}

TEST(SweepCommand, EqualPointsThatHoldANaNMerge) {
  const TemporaryDirectory scratch;
  const std::string part = scratch / "part";
  succeed(with(words("sweep --input constant:0 --n 16 --d 4 --vary format=bf16,fp16 --no-cache --out"), {part}));
  EXPECT_THAT(bytes_of_file(part + "/points.csv"), HasSubstr("nan"));
  EXPECT_THAT(output_of({"sweep", "--merge", part, part}), HasSubstr("2 of 2 points in 2 directories."));
  EXPECT_THAT(output_of({"sweep", "--merge", part}), HasSubstr("2 of 2 points in 1 directory."));
}

TEST(SweepCommand, TypedOptionsChangeTheSweepOfASession) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  Session session;
  session.experiment.problem.n = 64, session.experiment.problem.d = 8;
  session.sweep.first = {"block_k", "8:32:x2"}, session.sweep.seeds = 1;
  const std::string file = scratch.write("s.json", session_text(session));
  const auto table = [&](const std::vector<std::string>& more) {
    return output_of(with({"sweep", "--session", file, "--csv", "-", "--quiet"}, more));
  };
  EXPECT_EQ(table({"--seeds", "3", "--measure", "b.rms"}),
            table({"--vary", "block_k=8:32:x2", "--seeds", "3", "--measure", "b.rms"}));
  expect_refused({"sweep", "--session", file, "--over", "head"}, 2, "--over head needs Q, K and V from a file");
}

TEST(SweepCommand, ATypedTauStaysWhereTheMainFormatIsVaried) {
  const std::vector<std::string> options = words("--algorithm flash4 --input ascending --n 256 --d 16 --block-k 16");
  const auto run = [&](const char* tau) -> double {
    return json_of(with({"run", "--format", "e4m3", "--tau", tau}, options))["a"]["mean_abs"];
  };
  const auto sweep = [&](const std::string& more) {
    return json_of(with(with({"sweep", "--no-cache", "--quiet"}, options), words(more)))["rows"];
  };
  ASSERT_NE(run("8"), run("0"));
  for (const std::string tau : {"--tau 8", "--tau 0 --set a.tau=8"})
    EXPECT_DOUBLE_EQ(sweep("--vary format=bf16,e4m3 " + tau)[1]["mean"], run("8")) << tau;
  EXPECT_DOUBLE_EQ(sweep("--vary tau=0,8 --vary format=e4m3 --tau 8")[0]["mean"], run("0")) << "a varied tau is not set again";
}

TEST(SweepCommand, OptionsThatChangeNothingAtAnyPointAreNamed) {
  const std::vector<std::string> options = words("sweep --n 32 --d 8 --no-cache --quiet --tau 4 --vary");
  EXPECT_EQ(attoscope(with(options, {"block_k=8,16"})).err,
            "attoscope: --tau changes nothing: a does not use it with its other settings\n");
  EXPECT_EQ(attoscope(with(options, {"algorithm=flash2,flash4"})).err, "");
}

TEST(SweepCommand, TilesOfAWholeKernelFollowAVariedDAndMask) {
  const auto run = [](const std::string& more) -> double {
    return json_of(words("run --like fa3_h100 --n 256 --d 128 --mask causal " + more))["a"]["mean_abs"];
  };
  const std::vector<std::string> command =
      words("sweep --like fa3_h100 --n 256 --vary mask=none,causal --vary d=64,128 --no-cache --quiet");
  ASSERT_NE(run(""), run("--block-k 192")) << "tiles of d 64 without a mask";
  EXPECT_DOUBLE_EQ(json_of(command)["rows"][3]["mean"], run(""));
  const std::vector<std::string> tiles = words("--block-q 64 --block-k 32");
  EXPECT_DOUBLE_EQ(json_of(with(command, tiles))["rows"][3]["mean"], run("--block-q 64 --block-k 32"));
  expect_refused(with(command, {"--block-k", "32"}), 2, "--like is 'fa3_h100', expected --block-q and --block-k, or neither");
  succeed(words("sweep --like sage2 --n 64 --block-k 32 --vary d=8,16 --no-cache --quiet"));  // its tiles follow nothing
}

TEST(SweepCommand, TilesOfABackwardPassFollowAVariedD) {
  const auto run = [](const std::string& more) -> double {
    return json_of(words("run --n 256 --d 192 --gradient grad_fa3 " + more))["backward"]["a"]["dq"]["mean_abs"];
  };
  const auto sweep = [](const std::string& more) {
    return json_of(words("sweep --n 256 --vary d=64,192 --measure a.dq.mean_abs --no-cache --quiet " + more))["rows"];
  };
  const std::string order = "--gradient-order ascending", tiles = "--set a.grad.block_q=128 --set a.grad.block_k=128";
  ASSERT_NE(run(""), run(tiles)) << "tiles of d 64";
  ASSERT_NE(run(""), run(order));
  for (const std::string& more : {std::string(), order, tiles})
    EXPECT_DOUBLE_EQ(sweep("--gradient grad_fa3 " + more)[1]["mean"], run(more)) << more;
  EXPECT_DOUBLE_EQ(sweep("--vary gradient=grad_hw,grad_fa3 --gradient grad_exact " + order)[3]["mean"], run(order));
}

TEST(SweepCommand, ARoundingThatIsSetStaysWhereThePolicyIsVaried) {
  const auto mean = [](const std::string& policy) -> double {
    return json_of(words("run --n 64 --set a.O=fp32 --policy " + policy))["a"]["mean_abs"];
  };
  const nlohmann::json rows = json_of(words("sweep --n 64 --vary policy=hw,tile --set a.O=fp32 --no-cache --quiet"))["rows"];
  ASSERT_NE(mean("tile"), double{json_of(words("run --n 64 --policy tile"))["a"]["mean_abs"]});
  EXPECT_DOUBLE_EQ(rows[0]["mean"], mean("hw"));
  EXPECT_DOUBLE_EQ(rows[1]["mean"], mean("tile"));
}

TEST(SweepCommand, WrongUsageIsOneSentence) {
  const OwnCache own;
  for (const auto& [more, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--measure", "a.size"}, "measure is 'a.size'"},
           {{"--shard", "5/4"}, "--shard is '5/4'"},
           {{"--figure", "x.pdf", "--spread", "all"}, "--spread is 'all', expected std or min-max"},
           {{"--heat-map"}, "--heat-map needs two parameters, one across and one down, the sweep varies block_k alone"},
           {{"--vary", "block_k=1,2"}, "varies block_k twice"},
           {{"--vary", "nothing=1"}, "attoscope: --vary: 'nothing' is unknown, expected format, "},
           {{"--vary", "n=3,3"}, "attoscope: --vary n has the value '3' twice"},
           {{"--vary", "n=1,2", "--vary", "d=1,2"}, "varies 3 parameters"}})
    expect_refused(with(small_command, more), 2, what);
  EXPECT_THAT(attoscope({"sweep"}).err, HasSubstr("--vary is missing"));
  EXPECT_THAT(attoscope({"sweep", "--vary", "n=8", "--seeds", "0"}).err, HasSubstr("--seeds is '0'"));
}

TEST(SweepCommand, AValueThatCannotBeSetIsWrongUsage) {
  const OwnCache own;
  for (const auto& [axis, sentence] :
       {std::pair{"a.foo=3", "attoscope: --vary a.foo: 'foo' is unknown"},
        std::pair{"d=8,0", "attoscope: --vary d is '0', expected a whole number"},
        std::pair{"head=0:1", "attoscope: --vary head is '0', expected an input that is a file of tensors"}}) {
    expect_refused({"sweep", "--n", "32", "--vary", axis, "--vary", "format=bf16,fp16", "--csv", "-"}, 2, sentence);
    EXPECT_EQ(own.points(), 0u) << axis;
  }
}

TEST(SweepCommand, LooksAtItsPlacesBeforeItComputes) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const auto refused = [&](const std::vector<std::string>& more, int code, const std::string& sentence) {
    expect_refused(with(small_command, more), code, sentence);
    EXPECT_EQ(own.points(), 0u) << "no point was computed";
  };
  for (const char* const option : {"--csv", "--json", "--markdown", "--latex"})
    refused({option, scratch / "none/x"}, 1, std::string(option) + " " + (scratch / "none/x") + ": there is no directory");
  refused({"--figure", scratch / "none/x.svg"}, 1, "--figure " + (scratch / "none/x.svg") + ": there is no directory");
  refused({"--out", scratch.write("file", "")}, 1, "is a file, expected a directory");
  const std::string x = scratch / "x.csv";
  refused({"--csv", x, "--json", x}, 2, "--json " + x + ": --csv writes this file, too, expected another");
  refused({"--csv", x, "--figure", scratch / "x.svg"}, 2, "--csv writes this file, too");
  refused({"--json", scratch / "o/sweep.json", "--out", scratch / "o"}, 1, "there is no directory");
  refused({"--csv", "-", "--json", "-"}, 2, "--csv and --json are both -, expected one of them");
}

TEST(SweepCommand, ADamagedShardNamesItsLine) {
  const OwnCache own;
  const TemporaryDirectory scratch;
  const std::string directory = scratch / "part";
  attoscope(with(small_command, {"--out", directory}));
  const std::string path = directory + "/points.csv";
  const std::string text = bytes_of_file(path);
  std::ofstream(path) << text.substr(0, text.size() - 60);
  expect_refused({"sweep", "--merge", directory}, 1, "points.csv: line 7 is no point of this sweep");
  std::filesystem::remove(path);
  EXPECT_THAT(attoscope({"sweep", "--merge", directory}).err, HasSubstr("points.csv"));
  nlohmann::json plan = nlohmann::json::parse(bytes_of_file(directory + "/sweep.json"));
  plan["seeds"] = 0;
  std::ofstream(directory + "/sweep.json") << plan;
  expect_refused({"sweep", "--merge", directory}, 1,
                 "sweep.json: seeds is '0', expected a whole number from 1 to " + std::to_string(max_seeds) + "\n");
}

TEST(SweepCommand, ReadsASweepOverThousandsOfHeads) {
  const TemporaryDirectory scratch;
  Sweep sweep{.base = default_experiment(), .axes = {parse_axis("block_k=8")}, .seeds = 6000, .over = {ui::SweepOver::head}};
  for (int i = 0; i < sweep.seeds; ++i) {
    const auto digest = 0x0123456789abcdefU + static_cast<std::uint64_t>(i);
    Input& input = sweep.heads.emplace_back().input;
    input.kind = InputKind::tensors, input.index = i, input.digest = digest, input.parts = {digest, digest, digest, digest};
  }
  const std::string file = scratch.write("sweep.json", json_text(sweep_json(sweep)));
  scratch.write("points.csv", points_csv(sweep, {}));
  const Outcome none = attoscope({"sweep", "--merge", scratch / ""});
  EXPECT_THAT(none.out, HasSubstr("0 of 6000 points"));
  EXPECT_THAT(none.err, HasSubstr("--shard 1/1 is missing"));
  std::vector<std::string> remarks;
  EXPECT_EQ(parsed_bundle(file, [&](const std::string& text) { return parse_sweep(text, remarks); }).heads.size(), 6000U);
}

TEST(SweepCommand, ResumesWhereASignalStoppedIt) {
  const OwnCache own;
  const std::vector<std::string> command = words("sweep --n 128 --d 32 --vary block_k=8:64:x2 --seeds 200 --quiet");
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

TEST(SweepCommand, ASignalStopsTheDrawingAndKeepsTheOldFigure) {
  const OwnCache own;
  const GnuplotStandIn gnuplot("kill -INT $PPID; exec sleep 1000");
  const TemporaryDirectory scratch;
  const std::string picture = scratch.write("f.svg", "old");
  const Outcome stopped = attoscope(with(small_command, {"--figure", picture, "--csv", scratch / "t.csv"}));
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("stopped before " + picture + " was drawn; nothing of the figure was written"));
  EXPECT_FALSE(gnuplot.runs());
  EXPECT_EQ(bytes_of_file(picture), "old");
  EXPECT_THAT(bytes_of_file(scratch / "t.csv"), StartsWith("block_k,"));
  expect_refused({"figure", "io", "--n", "16", "--d", "8", "--out", picture, "--quiet"}, 1,
                 "stopped before the figure was drawn; nothing was written");
  EXPECT_FALSE(gnuplot.runs());
  EXPECT_EQ(bytes_of_file(picture), "old");
}

/// A file of two layers of three heads, 40 tokens each, and the errors that `run` gives for its heads.
class SweepOverFiles : public ::testing::Test {
 protected:
  static constexpr int layers = 2, heads = 3, n = 40, d = 8;
  SweepOverFiles() {
    std::vector<FileTensor> tensors;
    std::mt19937 dice(3);
    std::normal_distribution<float> normal;
    for (int layer = 0; layer < layers; ++layer)
      for (const char* const name : {"q", "k", "v"}) {
        std::vector<float> numbers(heads * n * d);
        for (float& x : numbers) x = normal(dice);
        tensors.push_back({"layers." + std::to_string(layer) + "." + name, "F32", "[3,40,8]", raw(numbers)});
      }
    file = scratch.write("two.safetensors", safetensors(tensors));
  }
  nlohmann::json sweep(const std::string& input, const std::vector<std::string>& more) {
    return json_of(with({"sweep", "--input", input, "--vary", "block_k=8,16", "--no-cache", "--quiet"}, more));
  }
  double run(const std::string& input, const std::vector<std::string>& more = {}) {
    return json_of(with({"run", "--input", input, "--block-k", "8"}, more))["a"]["mean_abs"];
  }
  double mean(const std::vector<std::string>& inputs) {
    double sum = 0;
    for (const std::string& input : inputs) sum += run(input);
    return sum / static_cast<double>(inputs.size());
  }

  const OwnCache own;
  const TemporaryDirectory scratch;
  std::string file;
};

TEST_F(SweepOverFiles, HeadsLayersAndWindowsAreThoseOfRun) {
  nlohmann::json x = sweep(file, {"--over", "head"});
  EXPECT_EQ(x["over"], "head");
  EXPECT_EQ(x["rows"][0]["seeds"], 6);
  const auto head = [&](int i) { return file + ":" + std::to_string(i); };
  EXPECT_DOUBLE_EQ(x["rows"][0]["mean"], mean({head(0), head(1), head(2), head(3), head(4), head(5)}));
  x = sweep(head(1), {"--over", "layer"});
  EXPECT_EQ(x["rows"][0]["seeds"], 2);
  EXPECT_DOUBLE_EQ(x["rows"][0]["mean"], mean({head(1), head(4)}));
  x = sweep(file, {"--over", "window:16"});  // tokens 32 to 39 are in no window
  EXPECT_EQ(x["rows"][0]["seeds"], 12);
  const double first = run(file + ":0", {"--n", "16"});
  EXPECT_LE(x["rows"][0]["min"], first);
  EXPECT_GE(x["rows"][0]["max"], first);
  EXPECT_DOUBLE_EQ(sweep(file, {"--over", "window:40"})["rows"][0]["mean"], sweep(file, {"--over", "head"})["rows"][0]["mean"]);
}

TEST_F(SweepOverFiles, AVariedHeadIsComparedWithItsOwnOutput) {
  std::vector<float> o(layers * heads * n * d);
  std::iota(o.begin(), o.end(), 0.0F);
  const std::string kernel = scratch.write("o.safetensors", safetensors({{"o", "F32", "[6,40,8]", raw(o)}}));
  const auto varied = [&](const std::vector<std::string>& more) {
    return with({"sweep", "--input", file, "--vary", "head=0,4", "--no-cache", "--quiet"}, more);
  };
  const nlohmann::json x = json_of(varied({"--kernel", kernel}));
  EXPECT_DOUBLE_EQ(x["rows"][0]["mean"], run(file + ":0", {"--kernel", kernel}));
  EXPECT_DOUBLE_EQ(x["rows"][1]["mean"], run(file + ":4", {"--kernel", kernel}));
  expect_refused(varied({"--do", kernel}), 2, "vary head needs a dO that is drawn, expected --do normal or ones");
  expect_refused(varied({"--alibi", "0.1,0.2,0.3"}), 2, "expected one number beside --vary head");
  expect_refused(words("sweep --n 40 --d 8 --vary block_k=8 --seeds 2 --kernel " + kernel), 2,
                 "draws other Q, K and V than those of the loaded output");
}

TEST_F(SweepOverFiles, PointsThatFailAreInTablesButInNoFigure) {
  const Outcome o = attoscope(
      {"sweep", "--input", file, "--vary", "head=4:7", "--no-cache", "--figure", scratch / "f.svg", "--out", scratch / "part"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, StartsWith("attoscope: 2 of 4 points cannot be computed: "));
  EXPECT_THAT(o.out, HasSubstr("4 points, 2 of them computed now: "));
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.json"));
  const Outcome merged = attoscope({"sweep", "--merge", scratch / "part"});
  EXPECT_EQ(merged.code, 1);
  EXPECT_EQ(merged.err, o.err);
}

TEST_F(SweepOverFiles, ChangedTensorsAreSaidInsteadOfTheBitsOfPoints) {
  const Outcome drawn = attoscope(
      {"sweep", "--input", file, "--over", "head", "--vary", "block_k=8,16", "--figure", scratch / "f.svg", "--quiet"});
  if (drawn.err.find("gnuplot-nox") != std::string::npos) GTEST_SKIP() << "there is no gnuplot";
  const nlohmann::json json = nlohmann::json::parse(bytes_of_file(scratch / "f.json"));
  EXPECT_EQ(drawn_again(scratch, json).err, "");
  std::string bytes = bytes_of_file(file);
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 0x40);  // of the last v
  scratch.write("two.safetensors", bytes);
  const Outcome changed = drawn_again(scratch, json);
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("v of head 5 has changed"));
}

TEST_F(SweepOverFiles, SeedsOfFilesAreRefusedUnlessSomethingIsDrawn) {
  const std::vector<std::string> base{"sweep", "--input", file, "--vary", "block_k=8,16", "--no-cache"};
  expect_refused(with(base, {"--seeds", "3"}), 2, "--seeds is '3', expected 1, or --over head, layer or window:K");
  expect_refused(with(base, {"--over", "head", "--seeds", "3"}), 2, "--seeds is '3', expected 1 beside --over head");
  expect_refused(with(base, {"--over", "heads"}), 2, "'heads' is unknown, expected seed, head, layer or window:K");
  expect_refused(with(base, {"--over", "window:41"}), 2, "no head of the file has so many tokens");
  std::vector<FileTensor> layers_apart;
  for (const std::string name : {"q", "k", "v"}) {
    layers_apart.push_back({"layers.0." + name, "F32", "[2,4,8]", raw(std::vector<float>(64, 1))});
    layers_apart.push_back({"layers.1." + name, "F32", "[1,4,8]", raw(std::vector<float>(32, 1))});
  }
  const std::string apart = scratch.write("apart.safetensors", safetensors(layers_apart));
  expect_refused({"sweep", "--input", apart + ":1", "--vary", "block_k=2,4", "--over", "layer", "--no-cache"}, 2,
                 "--over layer: layer 1 has 1 head, expected more than 1");
  for (const std::string option : {"--n", "--n-k"})
    expect_refused(with(base, {"--over", "window:8", option, "16"}), 2,
                   option + " is '16', expected no " + option + " beside --over window:8");
  const std::string mask = scratch.write("mask.npy", npy_of("(40, 40)", floats_of(1600)));
  expect_refused(with(base, {"--over", "window:8", "--mask-file", mask}), 2, "--over window:8 cuts Q, K and V, not a mask");
  expect_refused(with(base, {"--over", "head", "--alibi", "0.1,0.2,0.3"}), 2, "expected one number beside --over head");
  for (const std::string axis : {"head=0,1", "input=normal,uniform"})
    expect_refused({"sweep", "--input", file, "--vary", axis, "--over", "head"}, 2,
                   "vary " + axis.substr(0, axis.find('=')) + " would undo --over head");
  Session session;
  session.experiment.problem.input = parse_input(file);
  load_tensors(session.experiment.problem.input);
  session.experiment.problem.n = n, session.experiment.problem.d = d;
  session.sweep.first = {"block_k", "8,16"};
  const std::string saved = scratch.write("s.json", session_text(session));
  expect_refused({"sweep", "--session", saved, "--seeds", "3"}, 2, "--seeds is '3', expected 1, or --over head");
  EXPECT_EQ(json_of({"sweep", "--session", saved, "--over", "layer", "--quiet"})["rows"][0]["seeds"], 2);
  expect_refused({"sweep", "--vary", "block_k=8,16", "--over", "head"}, 2, "--over head needs Q, K and V from a file");
  succeed(with(base, {"--seeds", "3", "--set", "a.P=bf16/stochastic", "--quiet"}));
}

}  // namespace
}  // namespace attoscope
