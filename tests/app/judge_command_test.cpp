// `attoscope judge`: PyTorch's outputs pass and show their rounding; wrong, ill-shaped and unreadable outputs are reported.

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

struct PyTorchCase {
  const char* name;
  std::vector<std::string> problem;
  const char* eager;  ///< words of the sentence about o_eager; "": no sentence
};

std::vector<PyTorchCase> pytorch_cases() {
  const char *const once = "its scores are rounded to ", *const twice = "and again once they are scaled";
  return {{"bf16_causal", {"--mask", "causal"}, once},
          {"bf16_full", {}, twice},
          {"bf16_window", {"--mask", "window:48"}, once},
          {"bf16_grouped", {"--mask", "causal"}, twice},
          {"bf16_large_scores", {"--mask", "causal", "--scale", "0.25"}, once},
          {"fp16_causal", {"--mask", "causal"}, once},
          {"fp16_full", {}, twice},
          {"fp32_causal", {"--mask", "causal"}, ""},
          {"fp32_full", {}, ""}};
}

std::string pytorch_file(const std::string& name) { return "tests/data/pytorch/" + name + ".safetensors"; }

json judged(const std::string& file, const std::string& tensor, const std::vector<std::string>& more, int code) {
  return json_of(with({"judge", "--input", file, "--o", file + ":" + tensor}, more), code);
}

class JudgeCommand : public ScratchTest {};

/// Output o gets the same verdict from `judge` as from `run --kernel`, which the window shows.
TEST_F(JudgeCommand, PyTorchsOutputsAreRounded) {
  for (const PyTorchCase& c : pytorch_cases())
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      SCOPED_TRACE(std::string(c.name) + " " + tensor);
      const json told = judged(pytorch_file(c.name), tensor, c.problem, 0);
      expect_holds(told, R"({"verdict": "rounded", "suspects": 0})");
      const bool says_how = tensor == std::string("o_eager") && *c.eager != '\0';
      for (const json& head : told["table"])
        EXPECT_THAT(head["as"].get<std::string>(),
                    AllOf(HasSubstr(says_how ? c.eager : ""), HasSubstr(says_how ? "PyTorch's eager attention" : "")));
      if (!says_how) {
        EXPECT_EQ(told["table"][0]["as"], "");
      }
      if (tensor != std::string("o")) continue;
      const std::string head = pytorch_file(c.name) + ":0";
      const json alone = json_of(with({"run", "--input", head, "--kernel", head}, c.problem))["verdict"];
      EXPECT_EQ(alone["verdict"], "rounded");
      EXPECT_EQ(alone["ratio"], told["table"][0]["ratio"]);
    }
}

/// The same outputs judged with a wrong mask, scale or assignment of heads.
TEST_F(JudgeCommand, PyTorchsOutputsAreWrongForAnotherQuestion) {
  for (const PyTorchCase& c : pytorch_cases())
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      SCOPED_TRACE(std::string(c.name) + " " + tensor);
      const std::string own = c.problem.empty() ? "none" : c.problem[1];
      std::vector<std::string> other = c.problem.empty() ? std::vector<std::string>{"--mask", ""} : c.problem;
      for (const char* mask : {"none", "causal"}) {
        if (mask == own) continue;
        other[1] = mask;
        const json answer = judged(pytorch_file(c.name), tensor, other, 3);
        const char* const name = own == "none"     ? "a missing causal mask"
                                 : own == "causal" ? "a causal mask where none is wanted"
                                                   : "";  // a window instead of another mask is not a named mistake
        for (const json& head : answer["table"])
          if (*name != '\0') {
            EXPECT_EQ(head["slip"]["text"], name);
          }
      }
      judged(pytorch_file(c.name), tensor, with(c.problem, {"--softcap", "20"}), 3);
    }
  const std::string file = pytorch_file("bf16_grouped");
  const Outcome swapped = attoscope({"judge", "--input", file, "--v", file + ":k", "--o", file + ":o", "--mask", "causal"});
  EXPECT_EQ(swapped.code, 3);
  EXPECT_THAT(swapped.out, StartsWith("Wrong: "));
}

/// Files of one head and of method a's output: by default 40 tokens, a causal mask and a correct kernel.
struct Call {
  TemporaryDirectory scratch;
  explicit Call(const std::vector<std::string>& run = {"--n", "40", "--d", "8", "--format", "bf16", "--mask", "causal"}) {
    succeed(with({"run", "--save", scratch / "call"}, run));
  }
  std::string file(const std::string& name) const { return scratch / ("call/" + name + ".npy"); }
  std::vector<std::string> judge(const std::vector<std::string>& more = {}) const {
    return with({"judge", "--q", file("q"), "--k", file("k"), "--v", file("v"), "--o", file("a")}, more);
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    return judge(with({"--mask", "causal", "--threads", "1"}, more));
  }
};

TEST_F(JudgeCommand, TellsTheSlipInTheFirstSentence) {
  const Call call;
  EXPECT_EQ(attoscope(call.command()).code, 0);
  const Outcome wrong = attoscope(call.judge());
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.out,
              AllOf(StartsWith("Wrong: a causal mask where none is wanted.\n"), HasSubstr("If it is meant: --mask causal.")));
}

TEST_F(JudgeCommand, NamesASoftCapThatIsNotWanted) {
  const Call call({"--n", "40", "--d", "8", "--format", "bf16", "--mask", "causal", "--softcap", "2"});
  EXPECT_THAT(attoscope(call.command()).out, StartsWith("Wrong: a soft cap of 2, where none is wanted.\n"));
}

/// Rows that are wrong by one factor show no range of factors.
TEST_F(JudgeCommand, NamesTheOneFactorOfRows) {
  const Call call({"--n", "40", "--d", "8", "--format", "fp32", "--mask", "causal"});
  std::vector<double> o = last_numbers<double>(call.file("a"), 320);
  for (int c = 0; c < 8; ++c) o[10 * 8 + c] *= 1.25, o[20 * 8 + c] *= 1.25;
  std::vector<std::string> command = call.command();
  command[8] = scratch_.write("o.npy", npy_of("(40, 8)", std::vector<float>(o.begin(), o.end())));
  EXPECT_THAT(attoscope(command).out, StartsWith("Wrong: each wrong row is golden times a number, 1.25: its l is wrong"));
}

/// Heads of several layers have the names of the window's list of heads.
TEST_F(JudgeCommand, NamesHeadsByTheirLayers) {
  std::filesystem::create_directory(scratch_ / "dump");
  const auto add = [&](const std::string& name, auto value) {
    scratch_.write("dump/" + name + ".npy", npy_of("(2, 20, 4)", floats_of(2 * 20 * 4, value)));
  };
  for (const std::string layer : {"layers.3.", "layers.17."}) {
    add(layer + "q", [](int) { return 0; });
    add(layer + "k", [](int i) { return std::cos(i); });
    add(layer + "v", [](int i) { return i / 4 % 2; });
    add(layer + "o", [&](int i) { return layer == "layers.17." && i == 120 ? 9 : 0.5; });
  }
  const json sentences = json_of({"judge", "--input", scratch_ / "dump"}, 3)["sentences"];
  EXPECT_THAT(sentences[0].get<std::string>() + sentences[1].get<std::string>(), HasSubstr("layer 17, head 1"));
  EXPECT_THAT(attoscope({"judge", "--input", scratch_ / "dump"}).out, HasSubstr("  layer 17, head 1: "));
}

/// O may have more columns than V, such as padding: the first d_v columns are judged, the verdict names the others.
TEST_F(JudgeCommand, JudgesAsManyColumnsAsVHas) {
  constexpr int n = 48, d = 32, d_v = 24;
  const auto file = [&](const std::string& name, int columns, auto value) {
    const std::vector<float> x = floats_of(n * columns, [&](int i) { return value(i / columns, i % columns); });
    return scratch_.write(name, npy_of("(1, 48, " + std::to_string(columns) + ")", x));
  };
  const auto judged = [&](double spoilt) {  // q is 0: O is the mean of V
    return attoscope({"judge", "--q", file("q.npy", d, [](int, int) { return 0; }), "--k",
                      file("k.npy", d, [](int i, int c) { return std::cos(i + 3 * c); }), "--v",
                      file("v.npy", d_v, [](int i, int c) { return i % 2 + c; }), "--o",
                      file("o.npy", d, [&](int i, int c) { return c >= d_v ? 1e9 : 0.5 + c + (i == 40 ? spoilt : 0); })});
  };
  const Outcome right = judged(0), wrong = judged(1);
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_EQ(wrong.code, 3) << wrong.out << wrong.err;
  for (const Outcome& x : {right, wrong})
    EXPECT_THAT(x.out, HasSubstr("V has d_v = 24 columns and O 32: columns 24 to 31 of O are not judged."));
}

/// The wrong keys of a named mistake are listed in their head's row: in JSON, on the page and in the terminal.
TEST_F(JudgeCommand, LocatesKeysAsRows) {
  constexpr int n = 128, d = 16;
  Dice dice(7);
  std::vector<float> q(n * d), k(n * d), v(n * d), o(n * d);
  for (std::vector<float>* const x : {&q, &k, &v})
    for (float& y : *x) y = static_cast<float>(dice.normal());
  for (int i = 0; i < n; ++i) {
    double l = 0;
    std::vector<double> row(d);
    for (int j = 0; j < n; ++j) {
      double s = 0;
      for (int c = 0; c < d; ++c) s += static_cast<double>(q[i * d + c]) * k[j * d + c];
      const double P = std::exp(s / 4) * (j / 16 == 5 ? 2 : 1);
      l += P;
      for (int c = 0; c < d; ++c) row[c] += P * v[j * d + c];
    }
    for (int c = 0; c < d; ++c) o[i * d + c] = static_cast<float>(row[c] / l);
  }
  std::vector<std::string> command{"judge"};
  for (const auto& [name, x] : {std::pair{"q", &q}, {"k", &k}, {"v", &v}, {"o", &o}})
    command = with(command, {std::string("--") + name, scratch_.write(std::string(name) + ".npy", npy_of("(128, 16)", *x))});
  const json told = json_of(with(command, {"--report", scratch_ / "page.html"}), 3);
  EXPECT_EQ(told["table"][0]["keys"], json::parse("[[80, 95]]")) << told;
  EXPECT_THAT(bytes_of_file(scratch_ / "page.html"), HasSubstr(": keys 80 to 95</td>"));
  EXPECT_THAT(attoscope(command).out, HasSubstr(": keys 80 to 95\n"));
}

/// D is the type of the tensors. An fp32 array from a library without bf16 may hold bf16 numbers: then the numbers of O decide
/// D.
TEST_F(JudgeCommand, HoldsWideTensorsToTheirOwnFormat) {
  const std::vector<std::string> run{"--n", "40", "--d", "8", "--format", "bf16", "--set"};
  const Call of_bf16(with(run, {"a.output=bf16"})), of_fp32(with(run, {"a.output=fp32"}));
  const auto told = [](const Call& call, const std::string& metadata, int code) {
    std::vector<FileTensor> tensors;
    for (const auto& [name, file] : {std::pair{"q", "q"}, {"k", "k"}, {"v", "v"}, {"o", "a"}}) {
      const std::vector<double> numbers = last_numbers<double>(call.file(file), 40 * 8);
      tensors.push_back({name, "F32", "[40,8]", raw(std::vector<float>(numbers.begin(), numbers.end()))});
    }
    return json_of({"judge", "--input", call.scratch.write("x.safetensors", safetensors(tensors, metadata))}, code);
  };
  const std::string arrays = "\"__metadata__\":{\"numbers\":\"arrays\"},";

  expect_holds(told(of_bf16, arrays, 0), R"({"verdict": "rounded", "format": "bf16", "also": null})");
  for (const auto& [call, metadata] : {std::pair{&of_bf16, ""}, {&of_fp32, ""}, {&of_fp32, arrays.c_str()}}) {
    SCOPED_TRACE(std::string(call == &of_bf16 ? "bf16" : "fp32") + metadata);
    const json found = told(*call, metadata, 3);
    expect_holds(found, R"({"verdict": "wrong", "format": "fp32", "also": {"format": "bf16", "verdict": "rounded"}})");
    EXPECT_LE(found["also"]["ratio"], 1);
    EXPECT_THAT(
        found["sentences"][0].get<std::string>(),
        AllOf(StartsWith("Wrong: rounded as bf16 (P in bf16); as fp32, which the tensors are, it is "), EndsWith(" off.")));
    EXPECT_THAT(found["sentences"][2].get<std::string>(), HasSubstr("--format bf16"));
  }
}

/// `judge` proposes another format or policy if the errors look like rounding, not if they correlate with the golden value.
TEST_F(JudgeCommand, ProposesACoarserKernelOnlyForErrorsWithoutASign) {
  const auto advice = [](const std::vector<std::string>& kernel) {
    const Call call(with({"--n", "200", "--d", "64", "--seed", "5", "--format", "bf16"}, kernel));
    const json found = json_of(call.judge(), 3);
    EXPECT_EQ(found["verdict"], "wrong");
    return found["sentences"][2].get<std::string>();
  };
  EXPECT_THAT(advice({"--policy", "tile", "--block-k", "16"}),
              AllOf(HasSubstr("say so by --policy tile"), HasSubstr("hides mistakes of this size")));
  EXPECT_THAT(advice({"--policy", "all_tile", "--block-k", "16"}), Not(HasSubstr("--policy")));
  EXPECT_THAT(advice({"--policy", "tile", "--set", "a.P=e4m3", "--set", "a.p_exponent=12"}), Not(HasSubstr("--")));
}

/// The last sentence names the smallest detectable mistakes: a slightly larger mistake is found, a far smaller one is not.
TEST_F(JudgeCommand, SaysWhichMistakesWouldHaveBeenSeen) {
  const auto scaled = [](double by, const char* verdict) {
    const std::string scale = std::to_string(0.125 * (1 + by));
    const Call call({"--n", "200", "--d", "64", "--format", "bf16", "--mask", "causal", "--scale", scale});
    json found = json_of(call.judge({"--mask", "causal", "--scale", "0.125"}), verdict == std::string("rounded") ? 0 : 3);
    EXPECT_EQ(found["verdict"], verdict) << by;
    return found;
  };
  const json found = scaled(0, "rounded");
  const std::string sentence = found["sentences"][2];
  double percent = 0;
  ASSERT_EQ(std::sscanf(sentence.c_str(), "On these tensors a scale off by %lf %%", &percent), 1) << sentence;
  EXPECT_THAT(sentence, HasSubstr("a mask off by one key"));
  EXPECT_LT(percent, 3);
  scaled(1.2 * percent / 100, "wrong");
  const json fitted = scaled(0.07, "wrong");
  EXPECT_EQ(fitted["table"][0]["slip"]["kind"], "number");
  EXPECT_THAT(fitted["sentences"][0].get<std::string>(), HasSubstr("scores were multiplied by 0.133"));
  scaled(0.05 * percent / 100, "rounded");
}

/// The shipped decode step, whose K and V are e4m3 with a scale for each head.
TEST_F(JudgeCommand, TheDecodeExampleIsRounded) {
  expect_holds(json_of({"judge", "--input", "assets/examples/decode.safetensors"}), R"({"heads": 4, "n": 1, "n_k": 1000})");
}

/// A head of a language model with large scores and a sink: correct kernels pass, and small mistakes are named.
TEST_F(JudgeCommand, AHeadOfALanguageModel) {
  const std::vector<std::vector<std::string>> kernels{{"--policy", "hw"},
                                                      {"--policy", "base_eager"},
                                                      {"--like", "fa2_a100"},
                                                      {"--policy", "hw", "--algorithm", "split_kv", "--block-k", "48"}};
  std::unique_ptr<const Call> call;
  for (const std::vector<std::string>& kernel : kernels) {
    call = std::make_unique<const Call>(with({"--input", example + ":0", "--mask", "causal", "--format", "bf16"}, kernel));
    EXPECT_EQ(attoscope(call->judge({"--format", "bf16", "--mask", "causal"})).code, 0) << kernel[1];
    if (sanitized) break;
  }
  for (const auto& [problem, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--mask", "window:1000"}, "Wrong: a causal mask without its window."},
           {{"--mask", "causal", "--sink", "0"}, "Wrong: a missing sink."},
           {{"--mask", "causal", "--softcap", "50"}, "Wrong: a missing soft cap."}}) {
    const Outcome outcome = attoscope(call->judge(with({"--format", "bf16"}, problem)));
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.out, StartsWith(words));
    if (sanitized) break;
  }
}

/// A policy beside a kernel changes its rounding, and is named with it.
TEST_F(JudgeCommand, NamesThePolicyBesideTheKernel) {
  const Call call({"--n", "40", "--d", "8", "--format", "fp16", "--mask", "causal", "--like", "fa3_h100", "--policy", "eager"});
  const json told = json_of(call.command({"--format", "fp16", "--like", "fa3_h100", "--policy", "eager"}));
  EXPECT_THAT(told["derivation"][2].get<std::string>(),
              StartsWith("1 kernel that rounds as fa3_h100 with --policy eager does was computed on these tensors"));
}

TEST_F(JudgeCommand, WritesAPageAndJsonOrNothing) {
  const Call call;
  const std::string page = call.scratch / "report.html", file = call.scratch / "verdict.json";
  succeed(call.command({"--report", page, "--json", file}));
  const std::string html = bytes_of_file(page);
  EXPECT_THAT(
      html, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("Rounded: every element"), HasSubstr("data:image/png;base64,iVBOR"),
                  HasSubstr("attoscope judge --q "), HasSubstr("--mask causal"), HasSubstr("href=\"attoscope:open?file=/"),
                  HasSubstr("&amp;mask=causal"), Not(HasSubstr("http"))));
  const json told = json::parse(bytes_of_file(file));
  expect_holds(told, R"({"schema": "attoscope.judgement/1", "ok": true, "elements": 320})");
  EXPECT_EQ(told["sentences"].size(), 3U);
  EXPECT_GE(told["family"].size(), 8U);
  EXPECT_EQ(
      attoscope(call.command({"--report", call.scratch / "nowhere/report.html", "--json", call.scratch / "none.json"})).code,
      1);
  EXPECT_FALSE(std::filesystem::exists(call.scratch / "none.json"));
}

/// The command in a verdict has every given option but those of devices, threads and outputs; running it gives the same
/// verdict.
TEST_F(JudgeCommand, TheCommandOfAVerdictAsksTheSame) {
  const Call call;
  const json told = json_of(call.command({"--scale", "0.3", "--head", "0", "--layout", "h n d", "--policy", "hw", "--format",
                                          "bf16", "--quiet", "--unsaved", "--report", call.scratch / "r.html"}),
                            3);
  const std::string command = told["command"];
  EXPECT_THAT(command, AllOf(StartsWith("attoscope judge --q " + call.file("q")), HasSubstr(" --layout 'h n d'"),
                             HasSubstr(" --mask causal"), HasSubstr(" --scale 0.3"), HasSubstr(" --head 0")));
  for (const char* output : {"--json", "--report", "--quiet", "--unsaved", "--threads"})
    EXPECT_THAT(command, Not(HasSubstr(output)));
  std::vector<std::string> again{"judge", "--json", "-", "--layout", "h n d"};
  std::istringstream words(command.substr(command.find("--q")));
  for (std::string word; words >> word;) {
    if (word == "--layout")
      words >> word >> word >> word;  // 'h n d' above
    else
      again.push_back(word);
  }
  EXPECT_EQ(json::parse(attoscope(again).out)["table"], told["table"]);
}

/// Writes a tensor of the call with another shape.
std::string tensor_file(const Call& call, const std::string& name, const std::string& shape, std::size_t count) {
  return call.scratch.write(name, npy_of(shape, std::vector<float>(count, 0.5F)));
}

TEST_F(JudgeCommand, RefusesWhatDoesNotFitInASentence) {
  const Call call;
  const auto with = [&](const std::string& option, const std::string& file) {
    std::vector<std::string> all = call.command();
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      if (all[i] == option) all[i + 1] = file;
    return attoscope(all);
  };
  const Outcome tokens = with("--k", tensor_file(call, "k.npy", "(41, 8)", 41 * 8));
  EXPECT_EQ(tokens.code, 1);
  EXPECT_THAT(tokens.err, HasSubstr("v.npy has shape [40, 8], expected batch, heads and tokens like k's [41, 8]"));
  EXPECT_THAT(with("--v", tensor_file(call, "v.npy", "(40, 16)", 640)).err,
              HasSubstr("has shape [40, 8], expected "));  // expected of o: as many columns as V
  const std::string q = tensor_file(call, "q.npy", "(4, 50, 8)", 1600), k = tensor_file(call, "k.npy", "(4, 25, 8)", 800);
  EXPECT_THAT(
      attoscope({"judge", "--q", q, "--k", k, "--v", k, "--o", q}).err,
      HasSubstr("q.npy has shape [4, 50, 8], which fits h n d (4 heads of 50 tokens) and n h d (50 heads of 4 tokens)"));
  EXPECT_THAT(with("--o", tensor_file(call, "o.npy", "(2, 40, 8)", 640)).err, HasSubstr("expected a shape like q's [40, 8]"));
  EXPECT_THAT(with("--o", tensor_file(call, "o.npy", "(8, 40)", 320)).err, HasSubstr("has shape [8, 40]"));
  EXPECT_THAT(with("--o", call.scratch / "none.npy").err, HasSubstr("none.npy"));
  EXPECT_THAT(with("--o", "o.txt").err,
              HasSubstr("--o 'o.txt' is not understood, expected FILE.npy, FILE.safetensors, FILE.pt, "));
  EXPECT_THAT(with("--mask", "diagonal").err, HasSubstr("diagonal"));
  EXPECT_THAT(attoscope(call.command({"--like", "fa3_fp8"})).err,
              HasSubstr("--like is 'fa3_fp8', expected a kernel that stores nothing with scales, of FP8 kernels fa3_fp8_h100"));
  EXPECT_EQ(with("--mask", "diagonal").code, 2);
  EXPECT_EQ(attoscope({"judge", "--q", call.file("q"), "--o", call.file("a")}).code, 2);
  EXPECT_THAT(attoscope({"judge", "--q", call.file("q"), "--o", call.file("a")}).err, HasSubstr("--k is missing"));
  expect_refused(call.command({"--json", "-", "--report", "-"}), 2, "--report and --json are both -, expected one of them");
  expect_refused(call.command({"--head", "1"}), 2, "--head is 1, expected 0 to 0");
  EXPECT_THAT(attoscope(call.command({"--json", call.file("q")})).err, HasSubstr("--json writes this file, too"));
  EXPECT_THAT(attoscope(call.command({"--layout", "dnh"})).err, HasSubstr("--layout is 'dnh', expected h n d, b h n d, n h d"));
}

/// pytorch#101967: V[1] is NaN, and row 0 does not see it.
TEST_F(JudgeCommand, JudgesTensorsWithNaN) {
  const auto write = [&](const std::string& name, const std::vector<float>& x) {
    return scratch_.write(name, npy_of("(2, 4)", x));
  };
  const float nan = std::nanf("");
  const auto judged_with = [&](const std::vector<float>& o, const std::vector<float>& v, const std::string& mask) {
    return attoscope({"judge", "--q", write("q.npy", {1, 2, 3, 4, 4, 3, 2, 1}), "--k", write("k.npy", {1, 0, 1, 0, 0, 1, 0, 1}),
                      "--v", write("v.npy", v), "--o", write("o.npy", o), "--mask", mask, "--json", "-"});
  };
  const std::vector<float> v{1, 2, 3, 4, nan, nan, nan, nan}, all(8, nan);
  const Outcome right = judged_with(v, v, "causal"), leaked = judged_with(all, v, "causal");
  ASSERT_EQ(right.code, 0) << right.out << right.err;
  const json told = json::parse(right.out);
  EXPECT_EQ(told["table"][0]["nonfinite"], 0);
  EXPECT_EQ(told["table"][0]["nonfinite_expected"], 4);
  EXPECT_THAT(told["sentences"][1].get<std::string>(), HasSubstr("4 elements are NaN or infinite, as attention of these"));
  ASSERT_EQ(leaked.code, 3) << leaked.out << leaked.err;
  EXPECT_EQ(json::parse(leaked.out)["sentences"][0], "Wrong: a masked key's NaN in V reaches row 0: 0 * NaN.");
  EXPECT_EQ(judged_with({1, 2, 3, 4, 5, 6, 7, 8}, v, "causal").code, 3) << "numbers where row 1 sees NaN";
  const Outcome nothing = judged_with(all, v, "none");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("NaN or infinite in every element"));
}

/// One and a half times the error of a kernel that rounds P: too much for the declared one, whose P is not rounded.
TEST_F(JudgeCommand, SaysIfAnOutputRoundsOtherwiseThanDeclared) {
  const std::string folder = scratch_ / "out";
  succeed({"run", "--n", "128", "--d", "128", "--mask", "causal", "--policy", "hw", "--set", "a.output=exact", "--format",
           "bf16", "--save", folder});
  constexpr std::size_t count = 128 * 128;
  const std::vector<double> golden = last_numbers<double>(folder + "/golden.npy", count);
  std::vector<double> o = last_numbers<double>(folder + "/a.npy", count);
  for (std::size_t i = 0; i < count; ++i) o[i] = golden[i] + 1.5 * (o[i] - golden[i]);
  const json told = json_of({"judge", "--q", folder + "/q.npy", "--k", folder + "/k.npy", "--v", folder + "/v.npy", "--o",
                             scratch_.write("o.npy", npy_of("(128, 128)", o)), "--format", "bf16", "--mask", "causal",
                             "--policy", "base_floor"});
  EXPECT_THAT(told["sentences"][0].get<std::string>(),
              HasSubstr(", if it rounds as kernels with an fp32 softmax do, not as declared."));
}

TEST_F(JudgeCommand, ReadsEightBitTensors) {
  const auto file_with = [&](char number) {  // writes O
    std::vector<FileTensor> tensors;
    for (const char* const name : {"q", "k", "v", "o"})
      tensors.push_back({name, "F8_E4M3", "[32,16]", std::string(32 * 16, *name == 'o' ? number : '\x38')});
    return scratch_.write("fp8.safetensors", safetensors(tensors));
  };
  EXPECT_EQ(json_of({"judge", "--input", file_with('\x38')})["format"], "e4m3");  // code of 1
  EXPECT_EQ(attoscope({"judge", "--input", file_with('\x40')}).code, 3);          // code of 2
}

/// Heads before tokens and tokens before heads are the same call.
TEST_F(JudgeCommand, ReadsBothLayouts) {
  const Call first, second;
  constexpr int n = 40, d = 8;
  std::vector<std::string> tokens_first{"judge", "--mask", "causal", "--layout", "bnhd"},
      heads_first{"judge", "--mask", "causal"};
  for (const char* name : {"q", "k", "v", "a"}) {
    const std::string one = raw(last_numbers<double>(first.file(name), n * d)),
                      two = raw(last_numbers<double>(second.file(name), n * d));
    std::string mixed;
    for (std::size_t row = 0; row < n; ++row) mixed += one.substr(row * d * 8, d * 8) + two.substr(row * d * 8, d * 8);
    const std::string option = std::string("--") + (*name == 'a' ? "o" : name);
    tokens_first.insert(tokens_first.end(),
                        {option, scratch_.write(std::string(name) + "_nhd.npy", npy(npy_header("<f8", "(40, 2, 8)"), mixed))});
    heads_first.insert(heads_first.end(), {option, scratch_.write(std::string(name) + "_hnd.npy",
                                                                  npy(npy_header("<f8", "(2, 40, 8)"), one + two))});
  }
  EXPECT_EQ(attoscope(heads_first).code, 0);
  EXPECT_EQ(attoscope(tokens_first).code, 0);
  EXPECT_THAT(attoscope(tokens_first).out, HasSubstr("None of 640 elements"));
  tokens_first[4] = "hnd";
  EXPECT_THAT(attoscope(tokens_first).out,
              HasSubstr("Read as n h d, heads behind tokens, it is rounded: if the tensors are meant so, say --layout nhd."));
  heads_first.insert(heads_first.end(), {"--layout", "nhd", "--head", "1"});
  EXPECT_THAT(attoscope(heads_first).out, HasSubstr("say --layout hnd."));
  heads_first.resize(heads_first.size() - 4);
  heads_first.back() = scratch_ / "a_nhd.npy";  // only O has tokens first
  EXPECT_EQ(attoscope(heads_first).code, 0);
}

/// A batch of heads side by side, (batch, n, heads * d), is read as (heads, n, d).
TEST_F(JudgeCommand, ProposesHeadsSideBySideWhereHeadsFirstIsWrong) {
  constexpr int n = 40, d = 32;
  const std::vector<std::string> run{"--n", "40", "--d", "32", "--format", "bf16", "--mask", "causal"};
  const Call first(run), second(with(run, {"--seed", "7"}));
  std::vector<std::string> command{"judge", "--mask", "causal"};
  for (const char* name : {"q", "k", "v", "a"}) {
    const std::string one = raw(last_numbers<double>(first.file(name), n * d)),
                      two = raw(last_numbers<double>(second.file(name), n * d));
    std::string rows;
    for (std::size_t row = 0; row < n; ++row) rows += one.substr(row * d * 8, d * 8) + two.substr(row * d * 8, d * 8);
    command.insert(command.end(), {std::string("--") + (*name == 'a' ? "o" : name),
                                   scratch_.write(std::string(name) + ".npy", npy(npy_header("<f8", "(1, 40, 64)"), rows))});
  }
  EXPECT_THAT(attoscope(command).out, HasSubstr("Read as n (2 d), heads side by side, it is rounded: if the tensors are "
                                                "meant so, say --layout 'n (2 d)'."));
  EXPECT_EQ(attoscope(with(command, {"--layout", "n (2 d)"})).code, 0);
}

TEST_F(JudgeCommand, ProposesNoLayoutForAWrongOutput) {
  const Call call;
  const auto tensor = [&](const char* name) {
    return scratch_.write(std::string(name) + ".npy", npy_of("(8, 5, 8)", last_numbers<double>(call.file(name), 320)));
  };
  for (const std::vector<std::string>& numbers :
       {std::vector<std::string>{},
        std::vector<std::string>{"--alibi", "1,0.5,0.25,0.125,0"}}) {  // five heads, and eight in the other layout
    const Outcome outcome = attoscope(with(
        {"judge", "--q", tensor("q"), "--k", tensor("k"), "--v", tensor("v"), "--o", tensor("q"), "--layout", "nhd"}, numbers));
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("--layout")));
  }
}

}  // namespace
}  // namespace attoscope::testing
