// The command line: its options, and the sentence and exit code of each refusal.
#include "app/commands/command_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

TEST(CommandLine, Version) { EXPECT_EQ(output_of({"--version"}), "attoscope 0.1.0\n"); }

TEST(CommandLine, Help) {
  EXPECT_THAT(attoscope({"--help"}).out, AllOf(HasSubstr("run"), HasSubstr("presets"), HasSubstr("render")));
  EXPECT_THAT(
      attoscope({"run", "--help"}).out,
      AllOf(HasSubstr("--block-k"), HasSubstr("padding:W (causal, without the first W keys) or right_padding:W (causal, "
                                              "without the last W keys)")));
  EXPECT_THAT(attoscope({"figure", "--help"}).out, AllOf(HasSubstr("heat_map"), HasSubstr("kernel_rows")));
}

/// No heading of a command's help has too many options to read at a glance.
TEST(CommandLine, HelpGroupsManyOptions) {
  for (const char* const command : {"run", "sweep", "train", "figure"}) {
    const std::string help = attoscope({command, "--help"}).out;
    std::istringstream lines(help);
    int options = 0;
    std::string heading;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line[0] != ' ') heading = line, options = 0;
      options += line.starts_with("  -");
      EXPECT_LE(options, 16) << command << ", " << heading;
    }
  }
  EXPECT_THAT(attoscope({"run", "--help"}).out, AllOf(HasSubstr("Input:"), HasSubstr("Arithmetic:"), HasSubstr("Method a:"),
                                                      HasSubstr("Method b:"), HasSubstr("Device:"), HasSubstr("Output:")));
}

TEST(CommandLine, ARowIsCountedFromEitherEnd) {
  for (const std::string row : {"0", "7", "-1", "-8"})
    expect_holds(json_of({"run", "--n", "8", "--d", "4", "--row", row}),
                 R"({"experiment": {"problem": {"traced_row": )" + row + "}}}");
}

TEST(CommandLine, RunPrintsATable) {
  EXPECT_THAT(
      output_of(with(small_sizes, {"--mask", "causal"})),
      AllOf(HasSubstr("flash2 hw"), HasSubstr("three_pass base_eager"), HasSubstr("a/b"), HasSubstr("FlashAttention's test"),
            HasSubstr("rescales"), HasSubstr("HBM"), HasSubstr("digests"), HasSubstr("mask causal")));
}

TEST(CommandLine, PresetsAreListed) {
  const Outcome people = attoscope({"presets"});
  const nlohmann::json json = nlohmann::json::parse(attoscope({"presets", "--json"}).out);
  EXPECT_EQ(json["presets"].size(), policies().size());
  for (const Policy& p : policies()) EXPECT_THAT(people.out, HasSubstr(std::string(p.name)));
  ASSERT_EQ(json["backward_policies"].size(), grad_policies().size());
  for (const GradPolicy& p : grad_policies()) EXPECT_THAT(people.out, HasSubstr(std::string(p.name)));
  EXPECT_THAT(people.out, HasSubstr("Rounds P, dS, dV, dK, dQ"));
  EXPECT_EQ(json["backward_policies"][1]["rounded"].dump(), R"(["P","dS","dV","dK","dQ"])");
}

/// The error for an unknown command lists all commands in the order of the help.
TEST(CommandLine, EveryCommandIsNamed) {
  std::istringstream help(attoscope({"--help"}).out);
  std::string names;
  bool lists_commands = false;
  for (std::string line; std::getline(help, line);) {
    if (lists_commands && line.starts_with("  ")) names += (names.empty() ? "" : ", ") + line.substr(2, line.find(' ', 2) - 2);
    lists_commands |= line == "Subcommands:";
  }
  EXPECT_THAT(names, ::testing::StartsWith("run, sweep, train, figure, "));
  expect_refused({"bogus"}, 2, "'bogus' is neither a command (" + names + ") nor a session file");
}

TEST(CommandLine, WrongUsageIsCode2) {
  expect_refused({"run", "--bogus"}, 2, "--bogus");
  expect_refused({"bogus"}, 2, "'bogus'");
  expect_refused({"run", "extra"}, 2, "extra");
  expect_refused({"run", "--n"}, 2, "--n");
  expect_refused({"run", "--n", "8", "--n", "9"}, 2, "--n is given 2 times, expected once (see attoscope --help)");
  expect_refused({"render"}, 2, "--out");
  expect_refused({"render", "--out", "x.png", "--size", "big"}, 2, "--size is 'big'");
  expect_refused({"presets", "--yaml"}, 2, "--yaml");
}

TEST(CommandLine, ImpossibleValuesAreCode2) {
  const std::string algorithms = "--algorithm is 'flash9', expected " + listed(algorithm_names);
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"--n", "0"}, "--n is '0', expected a whole number from 1 to 1048576"},
      {{"--n", "-5"}, "--n is '-5'"},
      {{"--n", "1e3"}, "--n is '1e3'"},
      {{"--n", "2000000"}, "--n is '2000000'"},
      {{"--n", "99999999999999999999"}, "--n is"},
      {{"--d", "0"}, "--d is '0'"},
      {{"--d", "1025"}, "--d is '1025'"},
      {{"--seed", "-1"}, "--seed is '-1'"},
      {{"--seed", "x"}, "--seed is 'x'"},
      {{"--scale", "nan"}, "--scale is 'nan'"},
      {{"--scale", "0"}, "--scale is '0'"},
      {{"--scale", "0,5"}, "--scale is '0,5'"},
      {{"--mask", "box"}, "mask 'box'"},
      {{"--mask", "window:0"}, "mask 'window:0'"},
      {{"--mask", "window:"}, "mask 'window:'"},
      {{"--mask", "window:2147483647"}, "expected window:W with W a whole number from 1 to 1073741824"},
      {{"--format", "bf17"}, "bf17"},
      {{"--format", "e99m1"}, "e99m1"},
      {{"--algorithm", "flash9"}, algorithms},
      {{"--order", "random"}, "--order is 'random', expected sequential, pairwise or interleaved"},
      {{"--order", "pairwise:2"}, "--order is 'pairwise:2', expected sequential, pairwise or interleaved[:LANES]"},
      {{"--order", "interleaved:65"}, "--order is '65', expected a whole number from 1 to 64"},
      {{"--sink", "inf"}, "--sink is 'inf', expected a finite number, or none"},
      {{"--softcap", "-3"}, "--softcap is '-3', expected a number from 1e-06 to 1e+06, or 0 for off"},
      {{"--softcap", "1e7"}, "--softcap is '1e7', expected a number from 1e-06 to 1e+06, or 0 for off"},
      {{"--alibi", "1e7"}, "--alibi is '1e7', expected a number from -1e+06 to 1e+06"},
      {{"--preset", "nobody"}, "--preset: preset 'nobody' is unknown, expected one of"},
      {{"--n", ""}, "--n is ''"},
      {{"--json", ""}, "--json is '', expected a text"},
      {{"--save", ""}, "--save is '', expected a text"},
      {{"--kv", ""}, "--kv is '', expected a text"},
      {{"--set", "a.tau=99"}, "--set a.tau is '99', expected a number from 0 to 64"},
      {{"--set", "b.kahan_l=yes"}, "--set b.kahan_l is 'yes', expected true or false"},
      {{"--set", "b.P=exact/stochastic"}, "rounds nothing, expected exact, main or a format"},
      {{"--policy", "nobody"}, "nobody"},
      {{"--baseline", "nobody"}, "--baseline"},
      {{"--block-q", "0"}, "--block-q is '0'"},
      {{"--block-k", "-1"}, "--block-k is '-1'"},
      {{"--rows", "0"}, "--rows is '0'"},
      {{"--rows", "some"}, "--rows is 'some'"},
      {{"--row", "x"}, "--row is 'x'"},
      {{"--n", "8", "--row", "8"}, "--row is '8', expected a whole number from -8 to 7"},
      {{"--n", "8", "--row", "-9"}, "--row is '-9', expected a whole number from -8 to 7"},
      {{"--row", "1024"}, "--row is '1024', expected a whole number from -1024 to 1023"},
      {{"--device", "tpu"}, "--device is 'tpu'"},
      {{"--threads", "-1"}, "--threads is '-1'"},
      {{"--input", "dice"}, "input 'dice' is unknown"},
      {{"--input", "constant:x"}, "value 'x'"},
      {{"--set", "O=fp32"}, "--set is 'O=fp32'"},
      {{"--set", "c.O=fp32"}, "--set is 'c.O=fp32'"},
      {{"--set", "a.O"}, "--set is 'a.O'"},
      {{"--set", "a.Z=fp32"}, "'Z' is unknown"},
      {{"--set", "a.O=fp99"}, "fp99"},
      {{"--set", "a.sum_rounded_P=1"}, "--set a.sum_rounded_P is '1', expected true or false"},
  };
  for (const auto& [options, sentence] : wrong) {
    SCOPED_TRACE(options[0] + " " + options[1]);
    expect_refused(with({"run"}, options), 2, sentence);
  }
}

TEST(CommandLine, ThreadsAreAtMostThoseOfTheMachine) {
  EXPECT_EQ(thread_option("0"), 0);
  EXPECT_EQ(thread_option("1"), 1);
  EXPECT_EQ(thread_option("4096"), std::min(4096, thread_count(0)));
}

TEST(CommandLine, AFailureWhileRunningIsCode1) {
  expect_refused({"run", "--input", "/nowhere/x.safetensors"}, 1, "/nowhere/x.safetensors");
  expect_refused({"run", "--session", ""}, 1, "'': cannot be opened");
  expect_refused({"run", "--input", example + ":4"}, 1, "head index is 4, expected 0 to 3");
  expect_refused({"run", "--json", "/nowhere/x.json"}, 1, "/nowhere");
  expect_refused({"run", "--json", "/"}, 1, "/");
  expect_refused({"run", "--n", "8", "--json", "/dev/full"}, 1, "/dev/full: cannot be written");
}

/// No output replaces a file that another option reads, whatever path names it.
TEST(CommandLine, InputsAreKept) {
  const TemporaryDirectory scratch;
  const std::string bytes = npy_of("(4, 2)", std::vector<float>(8, 0.5F));
  const std::string q = scratch.write("q.npy", bytes), k = scratch.write("k.npy", bytes), v = scratch.write("v.npy", bytes),
                    s = scratch.write("s.npy", npy_of<float>("(1,)", {1}));
  const auto keeps = [&](const std::vector<std::string>& command, const std::string& sentence) {
    expect_refused(command, 2, sentence);
    EXPECT_EQ(scratch.count(), 4) << sentence;
    EXPECT_EQ(bytes_of_file(q), bytes) << sentence;
  };
  const std::string qkv = q + "," + k + "," + v;
  keeps({"run", "--input", qkv, "--json", q}, "--input " + q + ": --json writes this file, too, expected another");
  keeps({"run", "--input", qkv + ",k_scale=" + s + ":0", "--json", s}, "--json writes this file, too");
  keeps({"run", "--input", qkv, "--save", scratch / "."}, "--save writes this file, too");
  keeps({"run", "--input", qkv, "--scale-k", s + "[head]", "--json", scratch / "./s.npy"}, "--json writes this file, too");
  keeps({"run", "--input", qkv, "--do", q, "--save-field", "a_error=" + q}, "writes this file, too");
  keeps({"heads", qkv, "--csv", q}, "--csv writes this file, too");
  keeps({"sweep", "--input", qkv, "--vary", "block_k=2,4", "--latex", v}, "--latex writes this file, too");
  keeps({"train", "--text", q, "--csv", q}, "--csv writes this file, too");
#ifdef ATTOSCOPE_GUI
  keeps({"render", q, "--out", q}, "--out writes this file, too");
#endif
  keeps({"dot", "h100", "--format", "fp16", "--a", q, "--b", k, "--out", q}, "--out writes this file, too");
}

/// Nor a file in a folder that an option names, one that a session names, or one of a merged sweep.
TEST(CommandLine, InputsInFoldersAndSessionsAreKept) {
  const TemporaryDirectory scratch;
  const std::string dump = scratch / "dump", bytes = npy_of("(4, 2)", std::vector<float>(8, 0.5F));
  std::filesystem::create_directory(dump);
  for (const char* const name : {"q.npy", "k.npy", "v.npy", "o.npy", "points.csv"})
    scratch.write(std::string("dump/") + name, bytes);
  const std::string session = scratch.write(
      "s.json", R"({"schema":"attoscope.session/1","experiment":{"problem":{"n":4,"d":2,"input":{"kind":"tensors",)"
                R"("file":"dump/q.npy,dump/k.npy,dump/v.npy"}}}})");
  const auto keeps = [&](const std::vector<std::string>& command, const std::string& file, const std::string& sentence) {
    expect_refused(command, 2, sentence);
    EXPECT_EQ(bytes_of_file(file), bytes) << sentence;
  };
  const std::string q = dump + "/q.npy", k = dump + "/k.npy", points = dump + "/points.csv";
  keeps({"run", "--input", dump + ":0", "--save", dump}, k,
        "--input " + k + ": --save writes this file, too, expected another");
  keeps({"heads", dump, "--csv", k}, k, "file " + k + ": --csv writes this file, too");
  keeps({"judge", dump, "--json", k}, k, "--json writes this file, too");
  keeps({"run", "--session", session, "--save", dump}, q, "--session " + q + ": --save writes this file, too");
  keeps({"sweep", "--session", session, "--vary", "block_k=2,4", "--csv", q}, q, "--session " + q + ": --csv writes");
  keeps({"sweep", "--merge", dump, "--csv", points}, points, "--merge " + points + ": --csv writes this file, too");
}

/// The value of an option that takes no folder may be a folder's name by chance.
TEST(CommandLine, AFolderMayHaveTheNameOfAPolicy) {
  const TemporaryDirectory scratch;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch / "");
  const std::vector<std::string> command{"run", "--n", "8", "--d", "2", "--policy", "hw", "--save", "hw"};
  for (int i = 0; i < 2; ++i) output_of(command);
  std::filesystem::current_path(before);
}

/// The names are too long: these files have no place that can be compared, as in a folder that may not be entered.
TEST(CommandLine, FilesThatCannotBeReachedAreNotOneFile) {
  const TemporaryDirectory scratch;
  expect_refused({"run", "--n", "8", "--save", scratch / std::string(300, 'x')}, 1, "cannot be made a directory");
  const std::string file = scratch / std::string(300, 'y');
  expect_refused({"sweep", "--vary", "n=8", "--csv", file, "--json", file}, 2, "--csv writes this file, too");
}

/// Such outputs would fail after hours of computing, and then without the option's name.
TEST(CommandLine, OutputsThatCannotBeWrittenAreToldBefore) {
  const TemporaryDirectory scratch;
  for (const std::size_t length : {std::size_t{250}, std::size_t{300}}) {  // .part-1234-0 is added while it is written
    const std::string file = scratch / std::string(length, 'a');
    expect_refused({"run", "--n", "8", "--json", file}, 1, "--json " + file + ": cannot be written: File name too long");
  }
  const std::string deep = scratch / ("new/" + std::string(300, 'a') + "/x");
  expect_refused({"run", "--n", "8", "--save", deep}, 1, "--save " + deep + ": cannot be made a directory: File name too long");
  expect_refused({"run", "--n", "8", "--save", "/proc/x"}, 1, "--save /proc/x: cannot be made a directory: ");
  EXPECT_EQ(scratch.count(), 0);
}

TEST(CommandLine, ASessionComesAlone) {
  expect_refused({"nothing.json", "run"}, 2, "'nothing.json'");
#ifndef ATTOSCOPE_GUI
  expect_refused({}, 1, "no window");
  expect_refused({"render", "--out", "x.png"}, 1, "no window");
#endif
}

TEST(CommandLine, SizesOfPictures) {
  EXPECT_EQ(attoscope({"render", "--out", "/nowhere/x.png", "--size", "1600x1000"}).code, 1) << "the folder is missing";
  for (const char* const bad :
       {"", "x", "1600", "1600x", "x1000", "1600x1000x3", "0x0", "-5x10", "99999x10", "1600X1000", "16e2x1000"}) {
    expect_refused({"render", "--out", "/nowhere/x.png", "--size", bad}, 2,
                   "--size is '" + std::string(bad) + "', expected WIDTHx");
  }
}

#ifdef ATTOSCOPE_GUI
TEST(CommandLine, ADrawnWindowIsAPng) {
  const TemporaryDirectory scratch;
  const std::string pdf = scratch / "o.pdf";
  expect_refused({"render", "--out", pdf}, 2, "--out is '" + pdf + "', expected a name that ends in .png");
  EXPECT_EQ(scratch.count(), 0);
}
#endif

TEST(CommandLine, ABrokenStreamIsAnError) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_command_line({"run", "--n", "8"}, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("standard output"));
}

}  // namespace
}  // namespace attoscope
