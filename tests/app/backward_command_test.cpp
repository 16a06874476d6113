// `attoscope run --backward` and sweeps of gradients: options, JSON, files, error sentences. The test computes the golden
// gradients again from the files of --save, by the plain formulas of the backward pass.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/session/experiment_options.h"
#include "app/session/session.h"
#include "app/sweep/sweep.h"
#include "app/sweep/table.h"
#include "app/tensors/npy.h"
#include "kernels/compute.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::backward_command_test {
namespace {

using namespace testing;  // attoscope::testing

/// The doubles of a .npy file of version 1.
std::vector<double> doubles_of(const std::string& path) {
  const std::string bytes = bytes_of_file(path);
  std::uint16_t header = 0;
  if (bytes.size() < 10) return {};
  std::memcpy(&header, bytes.data() + 8, sizeof header);
  std::vector<double> values((bytes.size() - 10 - header) / sizeof(double));
  std::memcpy(values.data(), bytes.data() + 10 + header, values.size() * sizeof(double));
  return values;
}

/// "(48, 16)" of a .npy file.
std::string shape_of(const std::string& path) {
  const std::string bytes = bytes_of_file(path).substr(0, 128);
  const std::size_t at = bytes.find('(');
  return bytes.substr(at, bytes.find(')') - at + 1);
}

nlohmann::json json_of(const std::vector<std::string>& options) { return testing::json_of(with(small_sizes, options)); }

std::vector<std::string> keys_of(const nlohmann::ordered_json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

class BackwardCommand : public ScratchTest {};

TEST_F(BackwardCommand, WritesEveryKeyOfTheContractInItsOrder) {
  const auto json = nlohmann::ordered_json::parse(output_of(with(small_sizes, {"--backward", "--json", "-"})));
  const auto& backward = json["backward"];
  EXPECT_THAT(keys_of(backward), ElementsAre("rows", "keys", "a", "b", "a_minus_b", "ratio", "delta", "dsink", "digests"));
  EXPECT_EQ(backward["rows"], 48);
  EXPECT_EQ(backward["keys"], 48);
  for (const char* const who : {"a", "b", "a_minus_b"})
    for (const char* const tensor : {"dq", "dk", "dv"})
      EXPECT_EQ(keys_of(backward[who][tensor]), keys_of(json[who])) << who << tensor;
  for (const char* const who : {"a", "b"}) {
    EXPECT_THAT(keys_of(backward[who]), ElementsAre("dq", "dk", "dv", "lost_ds")) << who;
    EXPECT_EQ(backward[who]["lost_ds"], 0) << who;
    EXPECT_THAT(keys_of(backward["delta"][who]), ElementsAre("max_abs", "rms", "bias"));
  }
  EXPECT_THAT(keys_of(backward["a_minus_b"]), ElementsAre("dq", "dk", "dv"));
  const nlohmann::json narrow = json_of({"--backward", "--set", "a.grad.dS=e4m3"});
  EXPECT_GT(narrow["backward"]["a"]["lost_ds"].get<double>(), 0);
  for (const char* const tensor : {"dq", "dk", "dv"}) {
    EXPECT_EQ(keys_of(backward["ratio"][tensor]), keys_of(json["ratio"])) << tensor;
    EXPECT_EQ(backward["ratio"][tensor]["rms"].get<double>(),
              backward["a"][tensor]["rms"].get<double>() / backward["b"][tensor]["rms"].get<double>());
  }
  EXPECT_TRUE(backward["dsink"].is_null());
  EXPECT_THAT(keys_of(backward["digests"]), ElementsAre("golden", "a", "b"));
  EXPECT_NE(backward["digests"]["golden"], backward["digests"]["a"]);
  EXPECT_TRUE(json["experiment"]["a"].contains("grad") && json["experiment"].contains("backward"));
  const nlohmann::json sunk = json_of({"--backward", "--sink", "1"});
  EXPECT_NE(sunk["backward"]["dsink"]["golden"].get<double>(), 0);
}

TEST_F(BackwardCommand, AForwardPassAloneIsAsBefore) {
  const nlohmann::json forward = json_of({}), both = json_of({"--backward"});
  EXPECT_FALSE(forward.contains("backward"));
  EXPECT_FALSE(forward["experiment"].contains("backward"));
  EXPECT_FALSE(forward["experiment"]["a"].contains("grad"));
  EXPECT_FALSE(forward["timing_ms"].contains("backward"));
  EXPECT_EQ(forward["digests"], both["digests"]);
  EXPECT_EQ(forward["a"], both["a"]);
  EXPECT_EQ(small_run({}).out.find("dQ"), std::string::npos);
}

/// Files that --save wrote for n queries, n_k keys, d columns of Q and K, d_v columns of V.
struct Saved {
  std::vector<double> q, k, v, d_o, lse, dq, dk, dv, d_lse;
  int n, n_k, d, d_v;
  explicit Saved(const std::string& folder, int n, int n_k, int d, int d_v) : n(n), n_k(n_k), d(d), d_v(d_v) {
    const auto read = [&](const char* name) { return doubles_of(folder + "/" + name + ".npy"); };
    q = read("q"), k = read("k"), v = read("v"), d_o = read("do"), lse = read("lse");
    dq = read("golden_dq"), dk = read("golden_dk"), dv = read("golden_dv");
  }
};
double dot(const double* x, const double* y, int count) {
  double sum = 0;
  for (int c = 0; c < count; ++c) sum += x[c] * y[c];
  return sum;
}

/// Expects gradients within 1e-12 of their size: sums in another order differ by less, mistakes by far more.
void expect_the_rule(const Saved& s, int least_key, bool causal) {
  const double scale = 1 / std::sqrt(s.d);
  std::vector<double> dq(s.q.size()), dk(s.k.size()), dv(s.v.size());
  for (int i = 0; i < s.n; ++i) {
    const int first = least_key, end = causal ? i + s.n_k - s.n + 1 : s.n_k;
    std::vector<double> score(static_cast<std::size_t>(s.n_k)), p = score, dp = score;
    double l = 0, delta = s.d_lse.empty() ? 0 : -s.d_lse[i];
    for (int j = first; j < end; ++j) l += std::exp(score[j] = scale * dot(&s.q[i * s.d], &s.k[j * s.d], s.d));
    if (first >= end) {
      EXPECT_EQ(s.lse[i], -std::numeric_limits<double>::infinity());
      continue;
    }
    EXPECT_NEAR(s.lse[i], std::log(l), 1e-12);
    for (int j = first; j < end; ++j) {
      p[j] = std::exp(score[j]) / l;
      dp[j] = dot(&s.d_o[i * s.d_v], &s.v[j * s.d_v], s.d_v);
      delta += p[j] * dp[j];
    }
    for (int j = first; j < end; ++j) {
      const double ds = p[j] * (dp[j] - delta) * scale;
      for (int c = 0; c < s.d; ++c) dq[i * s.d + c] += ds * s.k[j * s.d + c], dk[j * s.d + c] += ds * s.q[i * s.d + c];
      for (int c = 0; c < s.d_v; ++c) dv[j * s.d_v + c] += p[j] * s.d_o[i * s.d_v + c];
    }
  }
  const auto expect_near = [](const std::vector<double>& x, const std::vector<double>& y, const char* what) {
    ASSERT_EQ(x.size(), y.size()) << what;
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12 * (1 + std::abs(y[i]))) << what << i;
  };
  expect_near(s.dq, dq, "dQ");
  expect_near(s.dk, dk, "dK");
  expect_near(s.dv, dv, "dV");
}

TEST_F(BackwardCommand, SavesGradientsThatFollowFromTheFilesBesideThem) {
  const std::string folder = scratch_ / "saved";
  succeed({"run", "--n", "30", "--n-k", "37", "--d", "16", "--d-v", "24", "--mask", "causal", "--backward", "--save", folder,
           "--json", scratch_ / "r.json"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 9 + 10);
  EXPECT_EQ(shape_of(folder + "/do.npy"), "(30, 24)");
  EXPECT_EQ(shape_of(folder + "/lse.npy"), "(30,)");
  for (const std::string who : {"golden_", "a_", "b_"}) {
    EXPECT_EQ(shape_of(folder + "/" + who + "dq.npy"), "(30, 16)");
    EXPECT_EQ(shape_of(folder + "/" + who + "dk.npy"), "(37, 16)");
    EXPECT_EQ(shape_of(folder + "/" + who + "dv.npy"), "(37, 24)");
  }
  const Saved saved(folder, 30, 37, 16, 24);
  expect_the_rule(saved, 0, true);
  const auto json = nlohmann::json::parse(bytes_of_file(scratch_ / "r.json"));
  for (const std::string tensor : {"dq", "dk", "dv"}) {
    const std::vector<double> golden = doubles_of(folder + "/golden_" + tensor + ".npy"),
                              a = doubles_of(folder + "/a_" + tensor + ".npy"),
                              b = doubles_of(folder + "/b_" + tensor + ".npy");
    double most = 0, sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - golden[i])), sum += std::abs(a[i] - b[i]);
    EXPECT_EQ(json["backward"]["a"][tensor]["max_abs"].get<double>(), most) << tensor;
    EXPECT_NEAR(json["backward"]["a_minus_b"][tensor]["mean_abs"].get<double>(), sum / static_cast<double>(a.size()), 1e-12)
        << tensor;
  }
}

TEST_F(BackwardCommand, TakesDOAndDLFromFiles) {
  std::vector<double> d_o(2 * 20 * 8), d_lse(20);
  for (std::size_t i = 0; i < d_o.size(); ++i) d_o[i] = std::floor(std::sin(static_cast<double>(i)) * 64) / 64;
  for (std::size_t i = 0; i < d_lse.size(); ++i) d_lse[i] = static_cast<double>(i) / 16 - 0.5;
  const std::string one = scratch_.write("do.npy", npy_bytes(20, 8, d_o.data())),
                    two = scratch_.write("two.npy", npy_bytes(20, 8, d_o.data() + 160)),
                    vector = scratch_.write("dlse.npy", npy_bytes(std::span<const double>(d_lse))),
                    column = scratch_.write("column.npy", npy_bytes(20, 1, d_lse.data()));
  const auto digest = [](const std::vector<std::string>& more) {
    return testing::json_of(with({"run", "--n", "20", "--d", "8", "--backward"}, more))["backward"]["digests"]["golden"];
  };
  const std::string folder = scratch_ / "saved";
  digest({"--do", one, "--dlse", vector, "--save", folder});
  Saved saved(folder, 20, 20, 8, 8);
  EXPECT_EQ(saved.d_o, std::vector<double>(d_o.begin(), d_o.begin() + 160));
  saved.d_lse = d_lse;
  expect_the_rule(saved, 0, false);
  EXPECT_EQ(digest({"--do", one, "--dlse", vector}), digest({"--do", one, "--dlse", column}));
  EXPECT_NE(digest({"--do", one, "--dlse", vector}), digest({"--do", one}));
  EXPECT_NE(digest({"--do", one}), digest({"--do", two}));
  EXPECT_NE(digest({"--do", "ones"}), digest({"--do", "normal"}));
  EXPECT_EQ(digest({"--do", "normal"}), digest({}));
  EXPECT_NE(digest({"--seed", "2"}), digest({}));
}

TEST_F(BackwardCommand, RowsAreThoseOfDQAndAsManyKeys) {
  expect_holds(json_of({"--backward", "--rows", "7"}), R"({"backward": {"rows": 7, "keys": 7}})");
}

TEST_F(BackwardCommand, OptionsBecomeTheExperiment) {
  const auto options = [](const std::vector<std::pair<std::string, std::string>>& typed,
                          const std::vector<std::string>& set = {}) {
    ExperimentOptions x;
    for (const auto& [key, value] : typed) x.typed[key] = value;
    x.set = set;
    return experiment_of(x);
  };
  const auto named = [](std::string_view name) { return grad_method(name, 64, {}); };
  EXPECT_EQ(options({}).backward, Backward{});
  const Experiment usual = options({{"backward", "true"}});
  EXPECT_TRUE(usual.backward.on);
  EXPECT_EQ(usual.backward.a, named("grad_hw"));
  EXPECT_EQ(usual.backward.b, named("grad_base_eager"));
  EXPECT_EQ(options({{"backward", "true"}, {"policy", "eager"}, {"baseline", "base_all"}}).backward.a, named("grad_eager"));
  EXPECT_EQ(options({{"backward", "true"}, {"baseline", "base_all"}}).backward.b, named("grad_base_all"));
  EXPECT_EQ(options({{"backward", "true"}}, {"a.policy=all_tile"}).backward.a, named("grad_all"));
  EXPECT_EQ(options({{"gradient", "grad_fa3"}}, {"a.policy=all_tile"}).backward.a, named("grad_fa3"));
  EXPECT_EQ(options({{"baseline_gradient", "grad_math"}}).backward.b, named("grad_math"));
  EXPECT_EQ(options({{"do", "ones"}}).backward.d_o, OutputGradient::ones);
  GradMethod alone = named("grad_exact");
  alone.precision[GradStep::dS] = to_main;
  EXPECT_EQ(options({{"gradient", "grad_exact"}}, {"a.grad.dS=main"}).backward.a, alone);
  GradMethod expected = named("grad_hw");
  expected.precision[GradStep::dS] = to_format(fp32);
  expected.block_k = 16;
  expected.order = GradOrder::shuffled;
  expected.order_seed = 7;
  expected.accumulator.dP = Accumulator::h100;
  const Experiment set =
      options({}, {"a.grad.dS=fp32", "a.grad.order=shuffled:7", "a.grad.block_k=16", "a.grad.accumulator.dP=h100"});
  EXPECT_TRUE(set.backward.on);
  EXPECT_EQ(set.backward.a, expected);
  const GradMethod buffers = options({{"gradient_order", "buffers:4"}}).backward.a;
  EXPECT_EQ(buffers.order, GradOrder::buffers);
  EXPECT_EQ(buffers.buffers, 4);
}

TEST_F(BackwardCommand, SaysInOneSentenceWhatIsWrong) {
  const std::vector<double> numbers(60, 1.0);
  const std::string small = scratch_.write("do.npy", npy_bytes(6, 10, numbers.data()));
  const auto refused = [](const std::vector<std::string>& options, int code, const std::string& sentence) {
    expect_refused(with({"run", "--n", "20", "--d", "8"}, options), code, sentence);
  };
  refused({"--backward", "--gradient", "hw"}, 2, "--gradient: 'hw' is no backward pass, expected one of grad_exact");
  refused({"--gradient-order", "sideways"}, 2,
          "--gradient-order is 'sideways', expected ascending, descending, shuffled[:SEED] or buffers:K");
  refused({"--gradient-order", "buffers:0"}, 2, "--gradient-order is '0', expected a whole number from 1 to 1024");
  refused({"--gradient-order", "ascending:3"}, 2, "expected ascending, descending");
  refused({"--do", "nothing"}, 2, "--do: gradient 'nothing' is not understood, expected FILE.npy[:INDEX]");
  refused({"--do", "nothing"}, 2, ", normal or ones\n");
  refused({"--do", scratch_ / "missing.npy"}, 1, "missing.npy");
  refused({"--do", small}, 1, "has shape [6, 10], expected [20, 8]");
  refused({"--do", small + ":4"}, 1, "expected");
  refused({"--dlse", small}, 1, "has shape [6, 10], expected [20], [heads, 20] or [20, heads]");
  const std::string wide = scratch_.write("wide.npy", npy_bytes(20, 3, numbers.data()));
  expect_refused({"run", "--n", "20", "--d", "2", "--do", wide}, 1, "has shape [20, 3], expected [20, 2]");
  refused({"--backward", "--set", "a.grad.dX=fp32"}, 2, "--set a.grad.dX: 'dX' is unknown, expected lse");
  refused({"--set", "a.grad.block_k=0"}, 2, "--set a.grad.block_k is '0', expected a whole number from 1");
  refused({"--set", "a.grad.dS=bf61"}, 2, "bf61");
  refused({"--set", "a.grad.accumulator.dQ=h100", "--gradient", "grad_all"}, 2,
          "a.grad.accumulator.dQ is h100: h100 rounds its sums by itself, and dq_step is main, expected exact");
  refused({"--set", "a.grad.accumulator.dV=h100", "--gradient", "grad_exact"}, 2,
          "a.grad.accumulator.dV is h100: P is fp32 and dO is bf16");
  refused({"--set", "a.grad.accumulator.dV=f64"}, 2, "adds by fma or as a GPU's tensor cores");
  refused({"--backward", "--set", "a.grad.accumulator.dV=h100", "--set", "a.grad.P=fp16"}, 2,
          "a.grad.accumulator.dV is h100: P is fp16 and dO is bf16: a tensor core multiplies numbers of one format");
  refused(
      {"--backward", "--set", "a.grad.accumulator.dP=h100", "--set", "b.grad.dS=fp64"}, 2,
      "a.grad.accumulator.dP is h100: h100 adds in fp32: formats of more than 24 bits, anywhere in the experiment, need fma");
  const std::string at_K =
      "grad.scale_at is K, which recomputes S without soft cap, ALiBi, terms of a mask and scales of Q and K: expected ";
  refused({"--gradient", "grad_triton", "--softcap", "30"}, 2, "a." + at_K + "product or dS");
  refused({"--gradient", "grad_triton", "--alibi", "0.5"}, 2, "a." + at_K);
  refused({"--baseline-gradient", "grad_triton", "--set", "b.scaling.Q=e4m3/head"}, 2, "b." + at_K);
  refused({"--gradient", "grad_triton", "--set", "a.scaling.K=e4m3/head"}, 2, "a." + at_K);
  refused({"--backward", "--set", "a.scaling.hadamard=true"}, 2, "a.scaling.hadamard is on, which has no backward pass here");
  refused({"--backward", "--set", "b.scaling.smooth_Q=64"}, 2, "b.scaling.smooth_Q is on, which has no backward pass here");
  refused({"--backward", "--algorithm", "hardware", "--device", "cpu"}, 2,
          "a.algorithm is hardware, which has no backward pass");
}

TEST_F(BackwardCommand, AStoredQueryTileThatDoesNotFitIsRefusedBeforeAnyWork) {
  constexpr double keys = 1 << 18;
  for (const std::string which : {"a", "b"}) {
    const Outcome outcome = attoscope({"run", "--n", "262144", "--d", "8", "--rows", "4", "--backward", "--set",
                                       which + ".grad.scaling.dS=e4m3/head", "--set", which + ".grad.block_q=262144"});
    EXPECT_EQ(outcome.code, 1);
    const std::string begin =
        which +
        ".grad.block_q is 262144: a query tile's P and dS, stored with scales, by all 262144 keys make the experiment need ";
    const std::size_t found = outcome.err.find(begin);
    ASSERT_NE(found, std::string::npos) << outcome.err;
    EXPECT_GT(std::stod(outcome.err.substr(found + begin.size())), 3 * 4 * keys * keys);
    EXPECT_THAT(outcome.err, HasSubstr("bytes, expected at most the"));
  }
}

TEST_F(BackwardCommand, TellsPeopleInATable) {
  const std::string text = small_run({"--backward", "--sink", "1", "--gradient-order", "shuffled:3"}).out;
  for (const char* const words :
       {"backward pass, a: grad_hw, order shuffled:3   b: grad_base_eager   dO normal; dQ of 48 rows, dK and dV of 48 keys",
        "dQ", "dK", "dV", "max ulp", "error of delta", "gradient of the sink"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(attoscope({"presets"}).out, HasSubstr("grad_fa2: tiles 128 x 128"));
  EXPECT_THAT(attoscope({"run", "--help"}).out, HasSubstr("--gradient-order"));
}

TEST_F(BackwardCommand, ASessionKeepsIt) {
  Session session;
  EXPECT_EQ(session_text(session).find("\"grad\""), std::string::npos);
  EXPECT_EQ(session_text(session).find("\"backward\""), std::string::npos);
  session.experiment = with_backward(session.experiment);
  Backward& b = session.experiment.backward;
  b.a = grad_method("grad_fa2", 64, {});
  b.b.precision[GradStep::dS] = to_format(fp16);
  b.b.scaling.P = parse_scaling("e4m3/head/x256");
  b.b.accumulator.dK = Accumulator::a100;
  b.d_o = OutputGradient::file;
  b.d_o_file.file = "do.npy";
  b.d_o_file.index = 3;
  b.d_lse_file.file = "dlse.npy";
  std::vector<std::string> remarks;
  EXPECT_EQ(parse_session(session_text(session), remarks).experiment, session.experiment);
  EXPECT_EQ(parse_session(short_session_text(session), remarks).experiment, session.experiment);  // text of a link
  EXPECT_TRUE(remarks.empty());
  b.on = false;  // the session keeps the settings of a backward pass that is off
  EXPECT_EQ(parse_session(session_text(session), remarks).experiment, session.experiment);
}

TEST_F(BackwardCommand, SweepsVaryGradients) {
  const std::string swept = output_of({"sweep", "--n", "48", "--d", "16", "--vary", "a.grad.dS=exact,bf16,e4m3", "--measure",
                                       "a.dk.mean_abs", "--no-cache", "--csv", "-", "--out", scratch_ / "out"});
  EXPECT_THAT(swept, HasSubstr("a.grad.dS,a.dk.mean_abs.mean"));
  std::vector<double> errors;
  for (const char* const format : {"exact", "bf16", "e4m3"})
    errors.push_back(json_of({"--backward", "--set", std::string("a.grad.dS=") + format})["backward"]["a"]["dk"]["mean_abs"]);
  EXPECT_LT(errors[0], errors[2]);
  std::vector<std::string> remarks;
  Sweep sweep{.base = with_backward(default_experiment()), .axes = {parse_axis("a.grad.dS=exact,bf16,e4m3")}};
  const std::vector<SweepAnswer> points = parse_points_csv(sweep, bytes_of_file((scratch_ / "out") + "/points.csv"));
  ASSERT_EQ(points.size(), 3U);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(value_of({"a.dk.mean_abs"}, *points[i].summary), errors[i]) << i;
    const BackwardSummary& s = *points[i].summary->backward;
    EXPECT_EQ(value_of({"ratio.dq.rms"}, *points[i].summary), s.a.dq.rms / s.b.dq.rms);
    EXPECT_EQ(value_of({"b.dv.rms/golden"}, *points[i].summary), s.b.dv.rms / s.golden_dv_rms);
    EXPECT_GT(value_of({"a.delta.rms"}, *points[i].summary), 0);
  }
  EXPECT_EQ(output_of({"sweep", "--merge", scratch_ / "out", "--csv", "-"}), swept);
  for (const char* const axis :
       {"gradient=grad_hw,grad_eager", "grad.order=ascending,shuffled:2,buffers:2", "grad.block_k=16:64:x2"})
    succeed({"sweep", "--n", "40", "--d", "8", "--vary", axis, "--measure", "ratio.dk.rms", "--no-cache"});
  EXPECT_TRUE(std::isnan(value_of({"a.dq.rms"}, PointSummary{})));
  expect_refused({"sweep", "--vary", "n=8,16", "--measure", "a.dx.rms"}, 2, "of gradients then dq., dk. or dv.");
}

}  // namespace
}  // namespace attoscope::backward_command_test
