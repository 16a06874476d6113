// The options of `attoscope run`: every field of the methods and of the problem, presets, attribution.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/session/experiment_options.h"
#include "app/session/session.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// The experiment in the JSON of `run` with these options.
nlohmann::json experiment_written(const std::vector<std::string>& options) {
  return json_of(with(small_sizes, options))["experiment"];
}

TEST(RunOptions, EveryOptionOfTheMethodAndTheProblemIsSet) {
  const nlohmann::json e = experiment_written(
      {"--algorithm",   "split_kv",       "--splits",      "3",    "--tau",        "4.5", "--tie-beta", "2",
       "--exponential", "exp2",           "--exp2-degree", "5",    "--p-exponent", "-8",  "--kahan",    "--order",
       "interleaved:4", "--reverse-keys", "--sink",        "-1.5", "--softcap",    "30",  "--alibi",    "0.25"});
  const nlohmann::json a{{"algorithm", "split_kv"}, {"splits", 3},      {"tau", 4.5},          {"tie_beta", 2.0},
                         {"exponential", "exp2"},   {"exp2_degree", 5}, {"p_exponent", -8},    {"kahan_l", true},
                         {"order", "interleaved"},  {"sum_lanes", 4},   {"reverse_keys", true}};
  for (const auto& [key, value] : a.items()) EXPECT_EQ(e["a"][key], value) << key;
  EXPECT_EQ(e["problem"]["sink"], -1.5);
  EXPECT_EQ(e["problem"]["softcap"], 30);
  EXPECT_EQ(e["problem"]["alibi"], 0.25);
}

TEST(RunOptions, TauFollowsTheMainFormat) {
  const auto tau = [](const std::vector<std::string>& options) {
    return experiment_written(options)["a"]["tau"].get<double>();
  };
  EXPECT_EQ(tau({}), 8);
  EXPECT_EQ(tau({"--format", "fp16"}), 8);
  EXPECT_EQ(tau({"--format", "e4m3"}), 0);
  EXPECT_EQ(tau({"--format", "e5m2"}), 0);
  EXPECT_EQ(tau({"--format", "e4m3", "--tau", "2"}), 2);
  EXPECT_EQ(tau({"--format", "e4m3", "--set", "a.tau=3"}), 3);
}

TEST(RunOptions, APresetIsTheStartAndOptionsChangeIt) {
  ExperimentOptions x;
  x.preset = "fp8_stale_max";
  const Experiment probed = experiment_of(x);
  EXPECT_EQ(probed.a.algorithm, Algorithm::flash4);
  EXPECT_EQ(probed.a.tau, 8);
  EXPECT_EQ(probed.format, e4m3);
  x.typed["format"] = "e5m2";
  x.set = {"b.tau=1"};
  Experiment expected = probed;
  expected.format = e5m2;
  expected.b.tau = 1;
  EXPECT_EQ(experiment_of(x), expected);
}

TEST(RunOptions, ThoseOfAnInputThatIsNotNamedAreRefused) {
  ExperimentOptions x;
  x.typed["input"] = std::filesystem::absolute(example).string() + ":0";
  Session s;
  s.experiment = experiment_of(x);
  const TemporaryDirectory scratch;
  const std::string session = scratch.write("s.json", session_text(s));
  expect_refused({"run", "--session", session, "--alibi", "0.5,0.25"}, 2, "expected one number without --input");
  expect_refused({"run", "--session", session, "--layout", "nhd"}, 2, "--layout was not expected without --input");
  expect_refused({"run", "--algorithm", "loaded"}, 2, "--kernel is missing, expected the file of the output");
  expect_refused({"run", "--kernel-as", "b"}, 2, "--kernel-as was not expected without --kernel");
}

TEST(RunOptions, ThoseThatChangeNothingAreNamed) {
  for (const char* const options : {"--splits 4", "--tau 4", "--exp2-degree 3", "--smoothed bf16"}) {
    const Outcome o = small_run(words(options));
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "attoscope: " + words(options)[0] + " changes nothing: a does not use it with its other settings\n");
  }
  for (const char* const options :
       {"--algorithm split_kv --splits 4", "--algorithm flash4 --set a.tau=4", "--exponential exp2 --exp2-degree 3",
        "--smooth-k --smoothed bf16", "--order interleaved --set a.sum_lanes=4"})
    EXPECT_EQ(small_run(words(options)).err, "");
  EXPECT_EQ(small_run(words("--set b.merge=sigmoid --set a.sum_lanes=4 --set a.O=fp32")).err,
            "attoscope: --set b.merge changes nothing: b does not use it with its other settings\n"
            "attoscope: --set a.sum_lanes changes nothing: a does not use it with its other settings\n");
  EXPECT_EQ(small_run(words("--set a.sum_lanes=4 --set a.order=interleaved")).err, "");
}

TEST(RunOptions, ANewerSessionIsComputedAsFarAsItIsUnderstood) {
  const TemporaryDirectory scratch;
  const std::string session = scratch.write(
      "s.json",
      R"({"schema":"attoscope.session/2","experiment":{"problem":{"n":24,"d":8}},"view":{"theme":"neon"},"dreams":[]})");
  EXPECT_EQ(json_of({"run", "--session", session})["experiment"]["problem"]["n"], 24);
  for (const char* const command : {"run", "sweep --vary block_k=8 --quiet --no-cache"}) {
    const Outcome o = attoscope(with(words(command), {"--session", session}));
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.err, AllOf(HasSubstr("s.json: schema is 'attoscope.session/2', newer than"), HasSubstr("view.theme is"),
                             HasSubstr("s.json: dreams is not a known key\n")));
    EXPECT_EQ(std::ranges::count(o.err, '\n'), 3) << o.err;
  }
}

TEST(RunOptions, ATracedRowOfASessionBeyondItsRowsIsNamed) {
  const TemporaryDirectory scratch;
  const std::string session =
      scratch.write("s.json", R"({"schema":"attoscope.session/1","experiment":{"problem":{"n":64,"d":8,"traced_row":40}}})");
  const std::vector<std::string> run{"run", "--session", session};
  EXPECT_EQ(attoscope(run).err, "");
  EXPECT_EQ(attoscope(with(run, words("--n 32 --row 3"))).err, "");
  EXPECT_EQ(attoscope(with({"sweep", "--session", session}, words("--n 32 --row 3 --vary n=16,32 --no-cache"))).err, "");
  const Outcome o = attoscope(with(run, words("--n 32 --json -")));
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "attoscope: " + session +
                       ": experiment.problem.traced_row is '40', expected a whole number from -32 to 31; row 31 is traced\n");
  EXPECT_EQ(nlohmann::json::parse(o.out)["trace"]["row"], 31);
}

TEST(RunOptions, AttributionIsPrintedAndWritten) {
  const Outcome table = small_run({"--policy", "eager", "--attribute"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("relief"), HasSubstr("tile_sum"), HasSubstr("interaction")));
  const nlohmann::json json = json_of(with(small_sizes, {"--policy", "eager", "--attribute"}));
  const nlohmann::json& attribution = json["attribution"];
  EXPECT_EQ(attribution["total"]["mean_abs"], json["a"]["mean_abs"]);
  EXPECT_EQ(attribution["steps"].size(), 12U);
  for (const char* const key : {"step", "relief", "without", "alone"})
    EXPECT_TRUE(attribution["steps"][0].contains(key)) << key;
  for (const char* const key : {"floor", "combined_rms", "interaction"}) EXPECT_TRUE(attribution.contains(key)) << key;
  EXPECT_FALSE(nlohmann::json::parse(small_run({"--json", "-"}).out).contains("attribution"));
}

TEST(RunOptions, TheTableNamesWhatIsNotAsUsual) {
  const Outcome outcome = small_run({"--algorithm", "flash4", "--kahan", "--sink", "2", "--set", "b.order=pairwise"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("flash4 hw, tau 8.0, kahan_l true"), HasSubstr("base_eager, order pairwise"),
                                 HasSubstr("mask none, sink 2")));
}

}  // namespace
}  // namespace attoscope
