// `attoscope judge --do --dq --dk --dv`: right gradients pass, mistakes are named, and files that do not fit are refused.

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/judge/gradient_verdict.h"
#include "tests/app/outcome.h"
#include "tests/questions/planted_gradients.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::judge_gradients_test {
namespace {

using namespace planted;
using nlohmann::json;

std::string shape(int heads, int n, int d) {
  return "(" + std::to_string(heads) + ", " + std::to_string(n) + (d > 0 ? ", " + std::to_string(d) : "") + ")";
}

/// Groups of two heads of Q that share one head of K and V, 64 x 16, with a sink and dL; each group has its own mistake.
struct Files {
  static constexpr int n = 64, d = 16, heads = 2;
  TemporaryDirectory scratch;

  explicit Files(const GradientMistake& mistake = {}) : Files(std::vector{mistake}) {}
  /// `window`: sliding window of each group's second head, in addition to the causal mask; 0: none.
  explicit Files(const std::vector<GradientMistake>& groups, int window = 0) {
    std::vector<double> q, k, v, o, d_o, d_lse, dq, dk, dv, dsink;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      GradientCall call =
          gradient_call({.shape = AttentionShape::square(n, d), .heads = heads, .of_dl = true}, causal, bf16, 1 + g);
      call.p.sink = 1;
      if (window > 0) call.own = {call.p, call.p}, call.own[1].mask = {Mask::Kind::window, window};
      const JudgedGradients given = gradients_of(call, GradientKind::flash, groups[g]);
      for (std::size_t h = 0; h < heads; ++h)
        append(q, given.heads[h]->q), append(o, *given.o[h]), append(d_o, *given.d_o[h]), append(d_lse, given.d_lse[h]),
            append(dq, *given.dq.values[h]);
      append(k, given.heads[0]->k), append(v, given.heads[0]->v), append(dsink, *given.dsink);
      append(dk, *given.dk.values[0]), append(dv, *given.dv.values[0]);
    }
    const int count = static_cast<int>(groups.size()), all = count * heads;
    write("q", shape(all, n, d), q), write("k", shape(count, n, d), k), write("v", shape(count, n, d), v);
    write("o", shape(all, n, d), o), write("do", shape(all, n, d), d_o), write("dlse", shape(all, n, 0), d_lse);
    write("dsink", "(" + std::to_string(all) + ",)", dsink), write("dq", shape(all, n, d), dq);
    write("dk", shape(count, n, d), dk), write("dv", shape(count, n, d), dv);
  }
  static void append(std::vector<double>& all, const std::vector<double>& x) { all.insert(all.end(), x.begin(), x.end()); }
  void write(const std::string& name, const std::string& shape_text, const std::vector<double>& x) const {
    scratch.write(name + ".npy", npy_of(shape_text, std::vector<float>(x.begin(), x.end())));
  }
  std::vector<std::string> command(const std::vector<std::string>& gradients, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"judge", "--mask", "causal", "--sink", "1", "--threads", "1"};
    for (const char* part : {"q", "k", "v", "o"}) all.insert(all.end(), {std::string("--") + part, file(part)});
    for (const std::string& part : gradients) all.insert(all.end(), {"--" + part, file(part)});
    return with(all, more);
  }
  std::string file(const std::string& name) const { return scratch / (name + ".npy"); }
};

const std::vector<std::string> all_gradients{"do", "dq", "dk", "dv", "dlse", "dsink"};

TEST(JudgeGradients, NaNHasNoRatio) {
  CallGradients g{.tensors = {{.tensor = GradientTensor::dv}}, .groups = 1, .judged_groups = 1};
  CallTensor& dv = g.tensors[0];
  dv.rounded = false, dv.ratio = std::numeric_limits<double>::infinity(), dv.worst.found.where = "in row 3";
  EXPECT_EQ(sentences_of(g)[1], "dV holds NaN or infinity, and is off in row 3.");
}

TEST(JudgeGradients, RightOnesAreRounded) {
  const Files files;
  const json told = json_of(files.command(all_gradients));
  EXPECT_EQ(told["verdict"], "rounded");
  ASSERT_EQ(told["gradients"].size(), 4u);
  expect_holds(told["gradients"], R"([{"tensor": "dq"}, {"tensor": "dk"}, {"tensor": "dv"}, {"tensor": "dsink"}])");
  for (const json& g : told["gradients"]) {
    expect_holds(g, R"({"verdict": "rounded", "slip": null})");
    EXPECT_LE(g["ratio"].get<double>(), 1);
  }
  EXPECT_THAT(told["sentences"][0].get<std::string>(), HasSubstr("dQ, dK, dV and dSink are rounded"));
  for (const char* one : {"dq", "dk", "dv"}) EXPECT_EQ(attoscope(files.command({"do", "dlse", one})).code, 0) << one;
  EXPECT_EQ(attoscope(files.command({"do", "dq", "dk", "dv"})).code, 3) << "without dL the gradients are wrong";
}

/// Gradients of dO = 0 are 0 without an error; they are those of the chosen head's group all the same.
TEST(JudgeGradients, ExactOnesNameTheirHead) {
  const Files files(std::vector<GradientMistake>(3));
  const std::vector<double> zeros(6 * Files::n * Files::d);
  for (const char* const part : {"do", "dq"}) files.write(part, shape(6, Files::n, Files::d), zeros);
  const json told = json_of(files.command({"do", "dq"}, {"--head", "5"}));
  expect_holds(told["gradients"], R"([{"tensor": "dq", "verdict": "rounded", "ratio": 0, "head": 4}])");
}

TEST(JudgeGradients, WithoutThemNothingIsSaid) { EXPECT_FALSE(json_of(Files().command({})).contains("gradients")); }

TEST(JudgeGradients, ASlipIsNamedAndTheCauseNarrowed) {
  GradientMistake mistake;
  mistake.delta = [](const PlantedRow&) { return 0; };
  const Files files(mistake);
  const std::string page = files.scratch / "page.html";
  const json told = json_of(files.command({"do", "dq", "dk", "dv", "dlse"}, {"--report", page}), 3);
  expect_holds(told, R"({"verdict": "wrong", "ok": false,
                         "gradients": [{"slip": {"kind": "delta"}}, {"verdict": "wrong"}, {"verdict": "rounded"}]})");
  EXPECT_THAT(told["sentences"][0].get<std::string>(),
              AllOf(StartsWith("Wrong: dQ and dK are wrong: no delta"), HasSubstr("O is rounded")));
  EXPECT_THAT(told["sentences"][2].get<std::string>(), HasSubstr("P and L are right"));
  EXPECT_THAT(bytes_of_file(page), AllOf(HasSubstr("<h2>Gradients</h2>"), HasSubstr("no delta")));
  EXPECT_THAT(attoscope(files.command({"do", "dq", "dk", "dv", "dlse"})).out, HasSubstr("dQ"));
}

/// Groups with the same slip are named together; a group with another slip, or with an unknown one, is named by itself.
TEST(JudgeGradients, EveryWrongGroupIsSearched) {
  GradientMistake no_delta, no_scale, unknown;
  no_delta.delta = [](const PlantedRow&) { return 0; };
  no_scale.dk_factor = 4;
  unknown.writes = [](JudgedGradients& g) {
    std::vector<double> dv = *g.dv.values[0];
    for (std::size_t i = 0; i < dv.size(); ++i) dv[i] += (i % 3 == 0 ? 1 : -0.5) * static_cast<double>(i % 7);
    g.dv.values[0] = std::make_shared<const std::vector<double>>(std::move(dv));
  };
  const Files files({no_delta, {}, no_scale, no_delta, no_delta, unknown});
  const json told = json_of(files.command({"do", "dq", "dk", "dv", "dlse"}), 3);
  const auto heads_of = [&](std::size_t tensor, const std::string& slip) {
    for (const json& w : told["gradients"][tensor]["by_heads"])
      if (slip.empty() ? w["slip"].is_null() : !w["slip"].is_null() && w["slip"]["text"].get<std::string>().find(slip) == 0)
        return w["heads"];
    return json();
  };
  const json without_delta = {{0, 1}, {6, 9}};
  EXPECT_EQ(heads_of(0, "no delta"), without_delta) << told["gradients"];
  EXPECT_EQ(heads_of(1, "no delta"), without_delta);
  EXPECT_EQ(heads_of(1, "the scale is missing"), json({{4, 5}})) << told["gradients"];
  EXPECT_EQ(heads_of(2, ""), json({{10, 11}})) << told["gradients"];
  EXPECT_THAT(told["sentences"][0].get<std::string>(),
              AllOf(HasSubstr("are wrong in heads 0 to 1 and 6 to 9: no delta: dS is P*dP."),
                    HasSubstr("dK is wrong in heads 4 to 5: the scale is missing in dK."),
                    HasSubstr("dV is wrong in heads 10 to 11.")));
}

/// Each group is written to the other's head of dK and dV.
TEST(JudgeGradients, ExchangedHeadsAreNamed) {
  std::vector<GradientMistake> groups(2);
  for (std::size_t g = 0; g < 2; ++g) {
    GradientCall other = gradient_call(
        {.shape = AttentionShape::square(Files::n, Files::d), .heads = Files::heads, .of_dl = true}, causal, bf16, 2 - g);
    other.p.sink = 1;
    groups[g].beside = std::make_shared<const GradientCall>(std::move(other));
  }
  const json told = json_of(Files(groups).command(all_gradients), 3);
  EXPECT_EQ(told["sentences"][0], "Wrong: dK and dV are wrong: heads 0 and 1 of dK and dV are exchanged. O is rounded.");
}

/// In the mask tensor the second head of a group sees fewer keys than the first; the faulty kernel uses the first head's mask
/// in the backward pass.
TEST(JudgeGradients, HeadsOfAGroupHaveTheirOwnMasks) {
  constexpr int window = 12;
  GradientMistake of_head_0;
  of_head_0.sees = [](const GradientCall&, int row, int key) { return key <= row; };
  for (const bool is_right : {true, false}) {
    const Files files(std::vector{is_right ? GradientMistake{} : of_head_0}, window);
    std::string mask(2 * Files::n * Files::n, '\1');
    for (int i = 0; i < Files::n; ++i)
      for (int j = 0; j <= i - window; ++j) mask[static_cast<std::size_t>((Files::n + i) * Files::n + j)] = '\0';
    const std::string file = files.scratch.write("mask.npy", npy(npy_header("|b1", shape(2, Files::n, Files::n)), mask));
    const Outcome outcome = attoscope(files.command({"do", "dq", "dk", "dv", "dlse"}, {"--mask-file", file}));
    EXPECT_EQ(outcome.code, is_right ? 0 : 3) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out,
                HasSubstr(is_right ? "dQ, dK and dV are rounded" : "the mask tensor is ignored in the backward pass"));
  }
}

/// dK and dV may have one share per head of Q instead of sums over the group.
TEST(JudgeGradients, HeadsOfQAreAcceptedAndSaid) {
  const Files files;
  GradientCall call =
      gradient_call({.shape = AttentionShape::square(Files::n, Files::d), .heads = 2, .of_dl = true}, causal, bf16, 1);
  call.p.sink = 1;
  std::vector<double> dk, dv;
  for (int h = 0; h < 2; ++h) {
    GradientMistake one;
    one.only_head = h;
    const JudgedGradients of_head = gradients_of(call, GradientKind::flash, one);
    Files::append(dk, *of_head.dk.values[0]), Files::append(dv, *of_head.dv.values[0]);
  }
  files.write("dk", shape(2, Files::n, Files::d), dk), files.write("dv", shape(2, Files::n, Files::d), dv);
  EXPECT_THAT(output_of(files.command({"do", "dq", "dk", "dv", "dlse"})), HasSubstr("heads of Q"));
}

TEST(JudgeGradients, FilesThatDoNotFitGetASentence) {
  const Files files;
  expect_refused(files.command({"dq"}), 2, "--do is missing");
  expect_refused(files.command({"do"}), 2, "--dq, --dk, --dv");
  expect_refused(files.command({"do", "dq"}, {"--format", "fp64"}), 1, "D is fp64, expected fp32, bf16 or fp16");
  files.write("dk", shape(1, Files::n, Files::d / 2), std::vector<double>(Files::n * Files::d / 2));
  expect_refused(files.command({"do", "dk"}), 1, "k's [1, 64, 16]: 1 head of 64 x 16");
  files.write("dlse", shape(2, Files::n / 2, 0), std::vector<double>(Files::n));
  expect_refused(files.command({"do", "dq", "dlse"}), 1, "(batch, heads, n)");
  std::vector<std::string> no_sink = files.command({"do", "dsink"});
  no_sink.erase(no_sink.begin() + 3, no_sink.begin() + 5);
  expect_refused(no_sink, 1, "the call has no sink, expected --sink");
  files.write("dsink", "(3,)", {1, 2, 3});
  expect_refused(files.command({"do", "dsink"}), 1, "one number for each of 2 heads");
  const Files four(std::vector<GradientMistake>(2));
  four.scratch.write("dsink.npy", npy(npy_header("<f4", "(2, 2)", "True"), raw(floats_of(4))));
  expect_refused(four.command({"do", "dsink"}), 1, "dsink.npy is in Fortran order, expected C order");
  expect_refused(files.command({"do", "dq"}, {"--dv", "missing.npy"}), 1, "missing.npy");
}

/// O is V, whose rows are all alike.
TEST(JudgeGradients, ThoseBesideTheTensorsDoNotPreventTheVerdictOnO) {
  const TemporaryDirectory scratch;
  const auto judged = [&](const char* type, const std::string& bytes, const std::vector<std::string>& more,
                          bool has_nan = false) {
    const std::string sizes = "[2,2,32,16]";
    const std::vector<FileTensor> tensors = alike(type, sizes, bytes,
                                                  {{"o", type, sizes, bytes},
                                                   {"do", type, sizes, has_nan ? raw(std::vector<float>(2048, NAN)) : bytes},
                                                   {"dq", type, sizes, bytes},
                                                   {"sinks", "F32", "[2]", raw(std::vector<float>{-100, -100})},
                                                   {"dsink", "F32", "[2]", raw(std::vector<float>{0, 0})}});
    const std::string file = scratch.write("call.safetensors", safetensors(tensors));
    const json told = json_of(with({"judge", "--input", file}, more));
    EXPECT_FALSE(told.contains("gradients"));
    EXPECT_THAT(told["sentences"][1].get<std::string>(), HasSubstr("The gradients in " + file + " are not judged: "));
    expect_refused(with({"judge", "--input", file, "--do", file, "--dq", file, "--dsink", file}, more), 1,
                   "; O by itself is rounded");
    return told["sentences"][1].get<std::string>();
  };
  const std::string thirds = raw(std::vector<double>(2048, 1.0 / 3)), ones = raw(std::vector<float>(2048, 1));
  EXPECT_THAT(judged("F64", thirds, {}), HasSubstr("D is fp64, expected fp32, bf16 or fp16"));
  EXPECT_THAT(judged("F32", ones, {"--format", "tf32"}), HasSubstr("D is tf32, expected fp32, bf16 or fp16"));
  EXPECT_THAT(judged("F32", ones, {"--format", "bf16", "--head", "0"}), HasSubstr("dSink is the sum over all batches"));
  EXPECT_THAT(judged("F32", ones, {"--format", "bf16"}, true), HasSubstr("is NaN or infinite even in fp64"));
}

/// Gradients of PyTorch's autograd (tests/data/pytorch): all pass, and the verdict describes their rounding.
TEST(JudgeGradients, ThoseOfPyTorchAreRoundedAsItRounds) {
  struct Case {
    const char *file, *mask, *flash, *eager;
  };
  const char *const
      tiles = ", if its dQ, dK and dV are rounded to D after every tile, as in PyTorch's kernel for CPUs.",
      *const scores = ", if its scores, P, dP and dS are rounded to D, op by op.",
      *const products =
          ", if its q.k, its scores, P, dP, dS and dS times the scale are rounded to D, as in PyTorch's eager attention.";
  const Case cases[]{{"bf16_causal", "causal", tiles, scores},  // multiplying by its scale, 1/8, is exact
                     {"bf16_grouped", "causal", tiles, products},
                     {"bf16_shared", "none", tiles, scores},  // dK and dV are sums over the heads that were stored
                     {"fp16_full", "none", tiles, products},
                     {"fp32_causal", "causal", ".", "."}};
  for (const Case& c : cases)
    for (const auto& [way, as] : {std::pair<std::string, std::string>{"", c.flash}, {"_math", "."}, {"_eager", c.eager}}) {
      const std::string file = std::string("tests/data/pytorch/") + c.file + "_gradients.safetensors:";
      std::vector<std::string> command{"judge", "--mask", c.mask, "--do", file + "do"};
      for (const char* part : {"q", "k", "v"}) command.insert(command.end(), {std::string("--") + part, file + part});
      for (const char* part : {"o", "dq", "dk", "dv"})
        command.insert(command.end(), {std::string("--") + part, file + part + way});
      const std::string format = std::string(c.file).substr(0, 4);
      std::string expected = "dQ, dK and dV are rounded" + as;
      if (const std::size_t place = expected.find(" to D"); place != std::string::npos) expected.replace(place + 4, 1, format);
      EXPECT_THAT(json_of(command)["sentences"][0].get<std::string>(), EndsWith(expected)) << c.file << way;
    }
}

/// A JAX model's attention in bf16 (tests/data/jax): the result of each operation of its softmax is rounded to bf16.
TEST(JudgeGradients, ThoseOfJaxAreRoundedAsItRounds) {
  const std::string file = "tests/data/jax/bf16_causal.safetensors";
  std::vector<std::string> command{"judge", "--mask", "causal", "--input", file};
  for (const char* part : {"do", "dq", "dk", "dv"})
    command.insert(command.end(), {std::string("--") + part, file + ":" + part});
  EXPECT_THAT(json_of(command)["sentences"][0].get<std::string>(),
              AllOf(HasSubstr("and so are S - m, exp, l and P, as in JAX's softmax"),
                    EndsWith("each operation of its softmax, P, dP and dS are rounded to bf16, as in JAX.")));
}

/// An option replaces one tensor of the file of --input; the others are judged as without it.
TEST(JudgeGradients, AnOptionReplacesOneTensorOfTheFile) {
  const std::string file = "tests/data/jax/bf16_causal.safetensors";
  const std::vector<std::string> command{"judge", "--mask", "causal", "--input", file};
  expect_holds(json_of(with(command, {"--dk", file + ":dq"}), 3)["gradients"],
               R"([{"tensor": "dq", "verdict": "rounded"}, {"tensor": "dk", "verdict": "wrong"},
                   {"tensor": "dv", "verdict": "rounded"}])");
  EXPECT_EQ(json_of(with(command, {"--dq", file + ":dq"}))["gradients"].size(), 3u);
}

}  // namespace
}  // namespace attoscope::testing::judge_gradients_test
