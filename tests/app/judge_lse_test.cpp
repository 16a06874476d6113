// `attoscope judge --lse`: shapes, bases and files of a log-sum-exp, and the sentences about a wrong one.

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "app/files/zip.h"
#include "app/judge/lse_verdict.h"
#include "app/judge/row_numbers.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/questions/planted_slips.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::judge_lse_test {
namespace {

using namespace planted;
using nlohmann::json;

/// Two batches of three heads, 48 x 16, causal, with a correct O and L.
struct LseFiles {
  static constexpr int n = 48, d = 16, heads = 6;
  TemporaryDirectory scratch;
  Values q, k, v, o, lse;  ///< heads first

  LseFiles() {
    for (int head = 0; head < heads; ++head) {
      const Problem p = problem(n, d, planted::causal, static_cast<std::uint64_t>(head + 1));
      const Seen x = seen(p);
      const auto append = [](Values& all, const Values& more) { all.insert(all.end(), more.begin(), more.end()); };
      append(q, x.t.q), append(k, x.t.k), append(v, x.t.v), append(o, *stored(right(x), bf16));
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int j = 0; j <= i; ++j) sum += std::exp(x.S(i, j));
        lse.push_back(static_cast<float>(std::log(sum)));
      }
    }
    for (const auto& [part, x] : parts()) write(part, "(2, 3, 48, 16)", *x);
  }
  std::vector<std::pair<const char*, const Values*>> parts() const { return {{"q", &q}, {"k", &k}, {"v", &v}, {"o", &o}}; }
  static std::string bytes_of(const Values& x) { return raw(std::vector<float>(x.begin(), x.end())); }
  void write(const std::string& name, const std::string& shape, const Values& x) const {
    scratch.write(name + ".npy", npy(npy_header("<f4", shape), bytes_of(x)));
  }
  /// The numbers of x reordered to tokens before heads: x is L, or has `columns` numbers per token.
  static Values across(const Values& x, std::size_t columns = 1) {
    Values y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % columns, row = i / columns % n, head = i / columns / n % 3, batch = i / columns / n / 3;
      y[((batch * n + row) * 3 + head) * columns + c] = x[i];
    }
    return y;
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"judge", "--mask", "causal", "--threads", "1", "--format", "bf16"};
    for (const char* part : {"q", "k", "v", "o"})
      all.insert(all.end(), {std::string("--") + part, scratch / (std::string(part) + ".npy")});
    return with(all, more);
  }
  json told(const Values& x, const std::string& shape, int code, const std::vector<std::string>& more = {}) const {
    SCOPED_TRACE(shape);
    write("lse", shape, x);
    return json_of(command(with({"--lse", scratch / "lse.npy"}, more)), code);
  }
};

TEST(JudgeLseCommand, ReadsEveryShapeInBothBases) {
  const LseFiles files;
  Values in_2 = files.lse;
  for (double& x : in_2) x *= std::numbers::log2e;
  for (const bool two : {false, true}) {
    const Values& x = two ? in_2 : files.lse;
    for (const auto& [shape, values] :
         {std::pair{"(2, 3, 48)", x}, {"(2, 3, 48, 1)", x}, {"(2, 48, 3)", LseFiles::across(x)}}) {
      const json told = files.told(values, shape, 0);
      ASSERT_TRUE(told.contains("lse")) << shape;
      EXPECT_EQ(told["lse"]["verdict"], "rounded") << shape;
      EXPECT_EQ(told["lse"]["base"], two ? "2" : "e") << shape;
      EXPECT_LE(told["lse"]["ratio"].get<double>(), 1) << shape;
      EXPECT_THAT(told["sentences"][0].get<std::string>(), HasSubstr(two ? "in base 2" : "natural"));
    }
  }
  EXPECT_FALSE(json_of(files.command()).contains("lse"));
}

/// L of one packed sequence: shapes (heads, total) and (total, heads).
TEST(JudgeLseCommand, ReadsPackedShapes) {
  const LseFiles files;
  const auto first = [](const Values& x) { return Values(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2)); };
  for (const auto& [part, x] : files.parts()) files.write(part, "(3, 48, 16)", first(*x));
  const Values lse = first(files.lse);
  for (const auto& [shape, values] :
       {std::pair{"(3, 48)", lse}, {"(3, 48, 1)", lse}, {"(1, 3, 48)", lse}, {"(48, 3)", first(LseFiles::across(files.lse))}})
    EXPECT_EQ(files.told(values, shape, 0)["lse"]["verdict"], "rounded") << shape;
  files.write("lse", "(48, 5)", Values(240));
  expect_refused(files.command({"--lse", files.scratch / "lse.npy"}), 1,
                 "lse.npy has shape [48, 5], expected (batch, heads, n)");
  expect_refused(files.command({"--lse", "missing.npy"}), 1, "missing.npy");
}

TEST(JudgeLseCommand, AWrongOneIsSaid) {
  const LseFiles files;
  Values x = files.lse;
  for (std::size_t i = 4 * LseFiles::n; i < 5 * LseFiles::n; ++i) x[i] *= std::numbers::log2e;
  const std::string page = files.scratch / "page.html";
  const json told = files.told(x, "(2, 3, 48)", 3, {"--report", page});
  expect_holds(told, R"({"verdict": "wrong", "ok": false,
                         "lse": {"verdict": "wrong", "base": "e", "head": 4, "slip": {"kind": "base"}}})");
  EXPECT_THAT(told["sentences"][0].get<std::string>(),
              AllOf(StartsWith("Wrong: the log-sum-exp is wrong: numbers of base 2 among natural ones"),
                    HasSubstr("The rest is rounded.")));
  EXPECT_THAT(bytes_of_file(page), AllOf(HasSubstr("<h2>Log-sum-exp</h2>"), HasSubstr("numbers of base 2")));
  for (double& y : x) y = 0;
  EXPECT_EQ(files.told(x, "(2, 3, 48)", 3)["lse"]["verdict"], "wrong");
}

/// The base is that of the named mistake, if no head tells it; numbers agree in sentences and JSON.
TEST(JudgeLseCommand, AMistakeTellsTheBase) {
  const LseFiles files;
  Values negative = files.lse, broken = files.lse;
  for (double& x : negative) x = -x;
  const json told = files.told(negative, "(2, 3, 48)", 3);
  expect_holds(told, R"({"lse": {"verdict": "wrong", "base": "e", "slip": {"kind": "sign"}}})");
  EXPECT_THAT(told["sentences"][1].get<std::string>(),
              AllOf(StartsWith("Read as natural, L of query "), EndsWith("; 6 of 6 heads are wrong.")));
  EXPECT_THAT(told["sentences"][2].get<std::string>(), HasSubstr("fit that mistake: look for it in the kernel."));
  broken[LseFiles::n + 5] = std::nan("");
  const std::string evidence = files.told(broken, "(2, 3, 48)", 3)["sentences"][1];
  EXPECT_THAT(evidence, StartsWith("Read as natural, L of query 5 is NaN, expected "));
  EXPECT_THAT(evidence, EndsWith("; 1 query is beyond its tolerance, in row 5 of head 1; 1 of 6 heads is wrong."));
}

/// L in the file of Q, K, V and O is found by its name.
TEST(JudgeLseCommand, FindsItByNameInTheFile) {
  const LseFiles files;
  for (const char* name : {"lse", "softmax_lse", "logsumexp", "stats", "outputs.lse"})
    for (const bool wrong : {false, true}) {
      std::vector<FileTensor> tensors;
      for (const auto& [part, x] : files.parts()) tensors.push_back({part, "F32", "[2,3,48,16]", LseFiles::bytes_of(*x)});
      Values lse = files.lse;
      if (wrong) lse[100] += 0.01;
      tensors.push_back({name, "F32", "[2,3,48]", LseFiles::bytes_of(lse)});
      const std::string file = files.scratch.write("call.safetensors", safetensors(tensors));
      const json told =
          json_of({"judge", "--input", file, "--mask", "causal", "--format", "bf16", "--threads", "1"}, wrong ? 3 : 0);
      EXPECT_EQ(told["lse"]["verdict"], wrong ? "wrong" : "rounded") << name;
    }
}

/// L of each layer is found beside its Q, K and V; a layer may have none.
TEST(JudgeLseCommand, FindsThatOfEachLayer) {
  const LseFiles files;
  const auto told = [&](const Values& lse, int first, const std::string& shape_of_first, int code) {
    std::vector<FileTensor> tensors;
    for (int layer = 0; layer < 2; ++layer) {
      const std::string before = "layers." + std::to_string(layer) + ".";
      const auto half = [&](const Values& x) {
        const auto size = static_cast<std::ptrdiff_t>(x.size() / 2);
        return LseFiles::bytes_of(Values(x.begin() + layer * size, x.begin() + (layer + 1) * size));
      };
      for (const auto& [part, x] : files.parts()) tensors.push_back({before + part, "F32", "[3,48,16]", half(*x)});
      if (layer >= first) tensors.push_back({before + "lse", "F32", layer == 0 ? shape_of_first : "[3,48]", half(lse)});
    }
    const std::string file = files.scratch.write("layers.safetensors", safetensors(tensors));
    const std::vector<std::string> command{"judge", "--input", file, "--mask", "causal", "--format", "bf16", "--threads", "1"};
    expect_refused(with(command, {"--lse", file + ":layers.1.lse"}), 1, "--lse names one tensor and the files hold 2 layers");
    return json_of(command, code);
  };
  const auto first_sentence = [](const json& said) { return said["sentences"][0].get<std::string>(); };
  EXPECT_THAT(first_sentence(told(files.lse, 0, "[3,48]", 0)), EndsWith(" The log-sum-exp, natural, is rounded."));
  const std::string second_alone = " The log-sum-exp, natural, is rounded; 3 heads have none.";
  EXPECT_THAT(first_sentence(told(files.lse, 1, "", 0)), EndsWith(second_alone));
  const json unused = told(files.lse, 0, "[144]", 0);
  EXPECT_THAT(first_sentence(unused), EndsWith(second_alone));
  EXPECT_THAT(unused["derivation"].back().get<std::string>(),
              EndsWith("'layers.0.lse' has shape [144], which is no log-sum-exp of a layer beside it: it is not used."));
  Values wrong = files.lse;
  wrong[4 * LseFiles::n + 12] += 0.01;
  for (const int first : {0, 1}) {
    const json said = told(wrong, first, "[3,48]", 3);
    expect_holds(said, R"({"verdict": "wrong", "lse": {"verdict": "wrong", "head": 4, "row": 12}})");
    EXPECT_THAT(said["sentences"][1].get<std::string>(), HasSubstr("in row 12 of layer 1, head 1; 1 of "));
  }
}

/// L in the file with another shape or type is not judged, and the report says so.
TEST(JudgeLseCommand, TellsOfOneThatDoesNotFit) {
  const LseFiles files;
  const auto derivation = [&](const std::string& type, const std::string& shape, std::size_t bytes) {
    std::vector<FileTensor> tensors;
    for (const auto& [part, x] : files.parts()) tensors.push_back({part, "F32", "[2,3,48,16]", LseFiles::bytes_of(*x)});
    tensors.push_back({"lse", type, shape, std::string(bytes, '\0')});
    const std::string file = files.scratch.write("call.safetensors", safetensors(tensors));
    const json told = json_of({"judge", "--input", file, "--mask", "causal", "--format", "bf16", "--threads", "1"});
    EXPECT_FALSE(told.contains("lse"));
    return told["derivation"].back().get<std::string>();
  };
  EXPECT_THAT(derivation("F32", "[2,3,47]", 1128),
              AllOf(StartsWith("Left out: "),
                    EndsWith("tensor 'lse' has shape [2, 3, 47], which is no log-sum-exp of this call: it is not used.")));
  EXPECT_THAT(
      derivation("I64", "[2,3,48]", 2304),
      AllOf(StartsWith("Left out: "), HasSubstr("tensor 'lse' has dtype 'I64', expected "), EndsWith(": it is not used.")));
}

/// L and gradients in an archive of .npy files are found as in other files, and are named with the archive.
TEST(JudgeLseCommand, FindsItByNameInAnArchive) {
  const LseFiles files;
  files.write("lse", "(2, 3, 48)", files.lse);
  std::vector<ZipMember> members;
  for (const std::string part : {"q", "k", "v", "o", "lse"})
    members.push_back({part + ".npy", bytes_of_file(files.scratch / (part + ".npy"))});
  members.push_back({"grad_out.npy", members[3].bytes});
  const std::string file = files.scratch.write("call.npz", zip_bytes(members));
  const std::vector<std::string> command{"judge", "--input", file, "--mask", "causal", "--format", "bf16", "--threads", "1"};
  EXPECT_EQ(json_of(command)["lse"]["verdict"], "rounded");
  EXPECT_EQ(json_of(files.command({"--lse", file + ":lse"}))["lse"]["verdict"], "rounded");
  EXPECT_EQ(gradients_in(file).d_o, file + ":grad_out");
}

/// L of two packed sequences of 48 tokens: heads before tokens, tokens before heads, and a mistake in the second sequence.
TEST(JudgeLseCommand, ReadsThatOfPackedSequences) {
  const LseFiles files;
  for (const auto& [part, x] : files.parts()) files.write(part, "(96, 3, 16)", LseFiles::across(*x, LseFiles::d));
  const std::string bounds = little_endian(0, 4) + little_endian(48, 4) + little_endian(96, 4),
                    cu = files.scratch.write("cu.npy", npy(npy_header("<i4", "(3,)"), bounds));
  const auto told = [&](const Values& lse, const std::string& shape, int code) {
    return files.told(lse, shape, code, {"--cu-seqlens-q", cu});
  };
  const Values across = LseFiles::across(files.lse);
  Values along(across.size());
  for (std::size_t i = 0; i < across.size(); ++i) along[i % 3 * 96 + i / 3] = across[i];
  EXPECT_EQ(told(across, "(96, 3)", 0)["lse"]["verdict"], "rounded");
  EXPECT_EQ(told(along, "(3, 96)", 0)["lse"]["verdict"], "rounded");
  along[96 + 60] += 0.01;  // head 1, token 12 of the second sequence
  expect_holds(told(along, "(3, 96)", 3), R"({"lse": {"verdict": "wrong", "head": 4, "row": 12}})");
  const std::string file = files.scratch / "lse.npy";
  const Outcome ordered = attoscope(files.command({"--cu-seqlens-q", cu, "--lse", file + "[h n]"}));
  EXPECT_EQ(ordered.code, 1);
  EXPECT_THAT(ordered.err, AllOf(HasSubstr(file + "[h n]"), HasSubstr("expected '" + file + "'")));
}

/// An output's head is compared with another head of Q, K and V: L beside these is of their head, a named one of the output's.
/// An L without this head, or with other queries, gets a sentence.
TEST(JudgeLseBeside, IsOfTheHeadOfQUnlessItIsNamed) {
  const LseFiles files;
  const auto told = [&](Experiment e, const std::string& output, const std::string& lse) {
    use_kernel_output(e, read_kernel_output(output, e.problem), false);
    e.loaded.lse = lse;
    return judge_lse_beside(e, judge_experiment(e), {});
  };
  const auto call = [&](bool packed) {
    std::vector<FileTensor> tensors;
    for (const auto& [part, x] : files.parts())
      tensors.push_back({part, "F32", packed ? "[96,3,16]" : "[2,3,48,16]",
                         LseFiles::bytes_of(packed ? LseFiles::across(*x, LseFiles::d) : *x)});
    tensors.back() = {"lse", "F32", packed ? "[96,3]" : "[2,3,48]",
                      LseFiles::bytes_of(packed ? LseFiles::across(files.lse) : files.lse)};
    if (packed) tensors.push_back({"cu_seqlens_q", "I32", "[3]", raw(std::vector<std::int32_t>{0, 48, 96})});
    return CallFiles(TensorSpec(files.scratch.write("call.safetensors", safetensors(tensors))));
  };
  Experiment e = with_format(default_experiment(), bf16);
  e.problem.mask = planted::causal;
  const std::string o = files.scratch / "eight.npy", lse = files.scratch / "lse.npy";
  files.write("eight", "(8, 48, 16)", Values(8 * LseFiles::n * LseFiles::d));
  files.write("lse", "(2, 3, 48)", files.lse);
  for (const bool packed : {false, true})
    EXPECT_TRUE(told(on_head(e, call(packed), 0, true), o + ":7", "")->rounded()) << packed;
  const Experiment first = on_head(e, call(false), 0, true);
  EXPECT_FALSE(told(first, o + ":3", lse)->rounded());
  EXPECT_THAT(sentence_of([&] { told(first, o + ":6", lse); }),
              HasSubstr("lse.npy has shape [2, 3, 48, 1], expected 48 queries of head 6"));
  files.write("short", "(24, 16)", Values(24 * LseFiles::d));
  e.problem.n = 24;
  EXPECT_THAT(sentence_of([&] { told(on_head(e, call(false), 0, false), files.scratch / "short.npy", ""); }),
              HasSubstr("tensor 'lse' has shape [2, 3, 48, 1], expected 24 queries of head 0"));
}

/// With 4 heads and 4 tokens both orders fit: the error shows how to give the order, and L is then read in this order.
TEST(JudgeLseCommand, AsksForTheOrderWhereBothFit) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("lse.npy", npy_of("(4, 4)", floats_of(16)));
  const HeadShape q{.heads = 4, .n = 4, .d = 8};
  const std::string sentence = sentence_of([&] { open_row_numbers(file, "--lse", lse_names, q); });
  EXPECT_THAT(sentence, AllOf(HasSubstr("has shape [4, 4], expected its order"), HasSubstr("--lse '" + file + "[h n]'")));
  EXPECT_EQ(open_row_numbers(file + "[h n]", "--lse", lse_names, q).of(1), (Values{4, 5, 6, 7}));
  EXPECT_EQ(open_row_numbers(file + "[n h]", "--lse", lse_names, q).of(1), (Values{1, 5, 9, 13}));
}

TEST(JudgeLseCommand, RefusesFortranOrder) {
  const LseFiles files;
  const std::string lse =
      files.scratch.write("lse.npy", npy(npy_header("<f4", "(2, 3, 48)", "True"), files.bytes_of(files.lse)));
  expect_refused(files.command({"--lse", lse}), 1, "lse.npy is in Fortran order, expected C order");
}

/// Random shapes are accepted or refused; an accepted shape has one number per query.
TEST(JudgeLseCommand, EveryShapeIsTakenOrNot) {
  Dice dice(3);
  constexpr std::array<std::uint64_t, 8> sizes{0, 1, 2, 3, 6, 7, 1ULL << 40, ~0ULL};
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    CallPart part;
    std::uint64_t numbers = 1;
    for (int rank = dice.between(0, 5); rank > 0; --rank) {
      const std::uint64_t size = sizes[static_cast<std::size_t>(dice.between(0, 7))];
      part.tensor.tensor.shape.push_back(size), numbers *= size;
    }
    const HeadShape q{dice.one_in(2) ? HeadOrder::heads_first : HeadOrder::tokens_first, dice.between(1, 2), dice.between(1, 3),
                      dice.between(1, 7), 16};
    std::optional<RowNumbers> found;
    try {
      found = row_numbers(part, q);
    } catch (const std::runtime_error&) {  // shape does not fit, or has more bytes than any file
    }
    if (!found) continue;
    ++taken;
    EXPECT_EQ(numbers, static_cast<std::uint64_t>(q.count() * q.n));
    EXPECT_TRUE(found->shape.same_sizes({q.order, q.batch, q.heads, q.n, 1}));
  }
  EXPECT_GT(taken, 50);
}

}  // namespace
}  // namespace attoscope::testing::judge_lse_test
