// `attoscope run`: options give the experiment, results are written to files, and failures leave no files.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <filesystem>
#include <locale>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/files/interrupts.h"
#include "app/session/experiment_options.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::run_command_test {
namespace {

using namespace testing;  // attoscope::testing

TEST(RunCommand, RunWritesEveryKeyOfTheContract) {
  const nlohmann::json json =
      json_of({"run", "--input", example + ":1", "--mask", "causal", "--format", "bf16", "--policy", "hw"});
  EXPECT_EQ(json["schema"], "attoscope.result/1");
  EXPECT_EQ(json["rows"], 1024);
  const auto expect_keys = [](const nlohmann::json& part, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) EXPECT_TRUE(part.contains(key)) << key;
  };
  expect_keys(json,
              {"experiment", "device", "a", "b", "a_minus_b", "ratio", "rescales", "trace", "traffic", "timing_ms", "digests"});
  for (const char* const who : {"a", "b", "a_minus_b"})
    expect_keys(json[who],
                {"max_abs", "mean_abs", "rms", "std", "bias", "rel_rms", "cosine", "wasserstein", "max_ulp", "nonfinite"});
  expect_keys(json["ratio"], {"max_abs", "mean_abs", "rms"});
  expect_keys(json["rescales"], {"tiles", "nominal", "effective_mean", "expected", "per_tile"});
  expect_keys(json["trace"]["tiles"].at(0), {"tile", "max_true", "max_used", "alpha", "l", "o_norm", "p_max", "saturated",
                                             "underflowed", "ties", "moved", "error"});
  expect_keys(json["traffic"], {"algorithm0", "flash1", "flash2", "tiles", "skipped_tiles"});
  expect_keys(json["timing_ms"], {"inputs", "golden", "a", "b", "deviation", "total"});
  for (const char* const key : {"golden", "a", "b"}) EXPECT_EQ(json["digests"][key].get<std::string>().size(), 16U);
  EXPECT_EQ(json["experiment"]["problem"]["n"], 1024);
  EXPECT_EQ(json["policies"]["a"], "hw");
}

TEST(RunCommand, OptionsBecomeTheExperiment) {
  ExperimentOptions x;
  x.typed = {{"input", "constant:0.25"},
             {"n", "100"},
             {"d", "32"},
             {"seed", "18446744073709551615"},
             {"scale", "0.5"},
             {"mask", "window:9"},
             {"format", "e5m7"},
             {"policy", "tile"},
             {"block_q", "16"},
             {"block_k", "8"},
             {"baseline", "base_floor"},
             {"rows", "10"},
             {"traced_row", "-2"}};
  x.set = {"a.O=fp32", "a.m=exact", "b.P=main", "a.sum_rounded_P=true", "b.accumulate_in_O=true", "b.block_k=3"};
  const Experiment e = experiment_of(x);
  EXPECT_EQ(e.problem.input.value, 0.25);
  EXPECT_EQ(e.problem.n, 100);
  EXPECT_EQ(e.problem.d, 32);
  EXPECT_EQ(e.problem.seed, UINT64_MAX);
  EXPECT_EQ(e.problem.scale, 0.5);
  EXPECT_EQ(e.problem.mask, (Mask{Mask::Kind::window, 9}));
  EXPECT_EQ(e.problem.rows, 10);
  EXPECT_EQ(e.problem.traced_row, -2);
  EXPECT_EQ(e.format, (Format{5, 7}));
  Precision a = policy("tile").precision, b = policy("base_floor").precision;
  a[Step::O] = to_format(fp32);
  a[Step::m] = exact;
  a.sum_rounded_P = true;
  b[Step::P] = to_main;
  b.accumulate_in_O = true;
  Method expected_a, expected_b;
  expected_a.algorithm = Algorithm::flash2;
  expected_a.block_q = expected_b.block_q = 16;
  expected_a.block_k = 8;
  expected_a.precision = a;
  expected_b.algorithm = Algorithm::three_pass;
  expected_b.block_k = 3;
  expected_b.precision = b;
  EXPECT_EQ(e.a, expected_a);
  EXPECT_EQ(e.b, expected_b);
}

TEST(RunCommand, SizesFollowTheFile) {
  ExperimentOptions x;
  x.typed["input"] = example + ":2";
  EXPECT_EQ(experiment_of(x).problem.n, 1024);
  EXPECT_EQ(experiment_of(x).problem.d, 64);
  EXPECT_EQ(experiment_of(x).problem.input.index, 2);
}

TEST(RunCommand, SavesMatricesThatCanBeReadAgain) {
  const TemporaryDirectory scratch;
  const std::string directory = scratch / "deep/matrices";
  const Outcome saved = small_run({"--save", directory, "--json", scratch / "r.json"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  for (const char* const file :
       {"q.npy", "k.npy", "v.npy", "golden.npy", "a.npy", "b.npy", "lse.npy", "a_lse.npy", "b_lse.npy"}) {
    EXPECT_TRUE(std::filesystem::exists(directory + "/" + file)) << file;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 9);
  const TensorFileInfo info = describe_tensors(directory + "/golden.npy," + directory + "/a.npy," + directory + "/b.npy");
  EXPECT_EQ(info.shape.n, 48);
  EXPECT_EQ(info.shape.d, 16);
  EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch / "r.json"))["rows"], 48);

  // `run` on the saved inputs gives the same results, bit for bit.
  const std::string spec = directory + "/q.npy," + directory + "/k.npy," + directory + "/v.npy";
  EXPECT_EQ(json_of({"run", "--input", spec})["digests"], nlohmann::json::parse(bytes_of_file(scratch / "r.json"))["digests"]);
}

TEST(RunCommand, NothingIsLeftWhenSavingFails) {
  const TemporaryDirectory scratch;
  const Outcome outcome = small_run({"--save", scratch / "out", "--json", "/dev/full"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(scratch.count(), 0);
  scratch.write("file", "");
  expect_refused({"run", "--save", scratch / "file"}, 1, "expected a directory");
}

TEST(RunCommand, NamesOfFilesAreShownWithoutControlCharacters) {
  const TemporaryDirectory scratch;
  const std::string directory = scratch / "d\x1b[1m";
  EXPECT_EQ(small_run({"--save", directory}).code, 0);
  for (const auto& [option, title] : {std::pair{"--kernel", "loaded "}, std::pair{"--do", "dO "}}) {
    const std::string out = output_of({"run", "--input", directory, option, directory + "/a.npy"});
    EXPECT_THAT(out, AllOf(HasSubstr("/d?[1m:0, seed"), HasSubstr(title), HasSubstr("/d?[1m/a.npy"), Not(HasSubstr("\x1b"))));
  }
}

TEST(RunCommand, SizesThatDoNotDivideAndAreOneJustWork) {
  for (const char* const n : {"1", "2", "17", "65"})
    for (const char* const block : {"1", "16", "1000"})
      EXPECT_FALSE(json_of({"run", "--n", n, "--d", "5", "--block-k", block, "--block-q", "3"}).is_null()) << n << ' ' << block;
}

TEST(RunCommand, ASignalStopsTheRunAndLeavesNothing) {
  const TemporaryDirectory scratch;
  const pid_t self = getpid();
  sigset_t set, before;  // other threads of this test must not receive the signal
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  std::jthread sender([self](const std::stop_token& stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (!stop.stop_requested()) kill(self, SIGINT);
  });
  const Outcome outcome = attoscope(
      {"run", "--n", "40000", "--d", "128", "--format", "e5m7", "--policy", "all_tile", "--json", scratch / "r.json"});
  sender.request_stop();
  sender.join();
  const timespec soon{};
  sigtimedwait(&set, nullptr, &soon);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stopped"));
  EXPECT_EQ(scratch.count(), 0);
}

TEST(Interrupts, TakeAHangUpUnlessItIsIgnored) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const auto handler = ::signal(SIGHUP, SIG_DFL);
  for (const auto& [treatment, arrives] : {std::pair{SIG_DFL, true}, std::pair{SIG_IGN, false}}) {
    ::signal(SIGHUP, treatment);
    const Interrupts interrupts;
    raise(SIGHUP);
    EXPECT_EQ(interrupts.arrived(), arrives);
  }
  const timespec soon{};
  sigtimedwait(&set, nullptr, &soon);
  ::signal(SIGHUP, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// While this lives, the locale has a decimal comma and grouped thousands: C++ streams, and C if such a locale is installed.
class CommaLocale {
 public:
  CommaLocale() : c_(std::setlocale(LC_ALL, nullptr)), cpp_(std::locale::global(std::locale(std::locale(), new Punctuation))) {
    for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
  }
  ~CommaLocale() {
    std::locale::global(cpp_);
    std::setlocale(LC_ALL, c_.c_str());
  }

 private:
  struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::string c_;
  std::locale cpp_;
};

TEST(RunCommand, NumbersDoNotFollowTheLocale) {
  const std::vector<std::string> options{"--scale", "0.5", "--input", "constant:1.5", "--seed", "1234567"};
  const CommaLocale locale;
  const Outcome table = small_run(options);
  const nlohmann::json json = json_of(with(small_sizes, options));
  EXPECT_EQ(json["experiment"]["problem"]["scale"], 0.5);
  EXPECT_EQ(json["experiment"]["problem"]["input"]["value"], 1.5);
  EXPECT_THAT(table.out, AllOf(HasSubstr("seed 1234567"), HasSubstr("scale 0.5,"), HasSubstr("constant:1.5")));
}

}  // namespace
}  // namespace attoscope::run_command_test
