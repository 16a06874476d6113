// Kernel outputs from files: shapes, heads, types, error sentences; and `attoscope run --kernel`.
#include "app/tensors/kernel_output.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/tensors/npy.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::kernel_output_test {
namespace {

using namespace testing;  // attoscope::testing

/// 0, 1, 2, ... as F32.
std::string counting(int count) { return raw(floats_of(count)); }

std::string one_tensor(const std::string& name, const std::string& shape, int count) {
  return safetensors({{name, "F32", shape, counting(count)}});
}

KernelOutput read(const std::string& spec, int n = 0, int d = 0) {
  KernelOutput output = parse_kernel_output(spec);
  load_kernel_output(output, {.n = n, .d = d});
  return output;
}

class LoadedOutput : public ScratchTest {};
class RunKernel : public ScratchTest {
 protected:
  /// Writes O = golden rounded to bf16; returns the file for --kernel.
  std::string saved_output(const std::vector<std::string>& options) const {
    succeed(with({"run", "--n", "96", "--d", "16", "--save", scratch_ / "saved"}, options));
    std::vector<double> o = *read(scratch_ / "saved/golden.npy").values;
    for (double& x : o) x = round(bf16, x);
    return scratch_.write("o.npy", npy_bytes(96, 16, o.data()));
  }
};

std::string refusal_of(const std::string& spec, int n, int d) {
  KernelOutput output = parse_kernel_output(spec);
  const std::string sentence = sentence_of([&] { load_kernel_output(output, {.n = n, .d = d}); });
  EXPECT_EQ(output.values, nullptr);
  EXPECT_THAT(sentence, HasSubstr(output.file));
  return sentence;
}

TEST_F(LoadedOutput, SpecsNameAFileAndAHead) {
  EXPECT_EQ(parse_kernel_output("o.npy").file, "o.npy");
  EXPECT_EQ(parse_kernel_output("a:b/o.npy").file, "a:b/o.npy");
  EXPECT_EQ(parse_kernel_output("o.safetensors:3").index, 3);
  EXPECT_EQ(parse_kernel_output("o.npy:2").file, "o.npy");
  EXPECT_EQ(kernel_output_spec(parse_kernel_output("o.npy:2")), "o.npy:2");
  EXPECT_EQ(kernel_output_spec(parse_kernel_output("o.npy")), "o.npy");
  for (const char* bad : {"", "o.txt", "o", "o.txt:3", ":3"})
    EXPECT_THAT(sentence_of<std::invalid_argument>([&] { parse_kernel_output(bad); }), HasSubstr("expected FILE.npy[:INDEX]"))
        << bad;
  for (const char* bad : {"o.npy:", "o.npy:x", "o.npy:-1", "o.npy:99999999999"})
    EXPECT_THAT(sentence_of<std::invalid_argument>([&] { parse_kernel_output(bad); }), HasSubstr("expected a whole number"))
        << bad;
}

TEST_F(LoadedOutput, AMatrixOfNumPy) {
  const std::string file = scratch_.write("o.npy", npy(npy_header("<f4", "(2, 3)"), counting(6)));
  const KernelOutput o = read(file, 2, 3);
  EXPECT_EQ(o.n, 2);
  EXPECT_EQ(o.d, 3);
  EXPECT_EQ(o.type, "F32");
  EXPECT_NE(o.digest, 0U);
  EXPECT_THAT(*o.values, ElementsAre(0, 1, 2, 3, 4, 5));
  scratch_.write("o.npy", npy(npy_header("<f4", "(2, 3)"), counting(7).substr(4)));
  EXPECT_NE(read(file).digest, o.digest) << "other numbers have another digest";
}

TEST_F(LoadedOutput, HeadsBeforeOrAfterTheTokens) {
  const std::string first = scratch_.write("hnd.safetensors", one_tensor("o", "[2,3,2]", 12));
  EXPECT_THAT(*read(first + ":1", 3, 2).values, ElementsAre(6, 7, 8, 9, 10, 11));
  const std::string after = scratch_.write("nhd.safetensors", one_tensor("o", "[3,2,2]", 12));
  EXPECT_THAT(*read(after + ":0", 3, 2).values, ElementsAre(0, 1, 4, 5, 8, 9));
  EXPECT_THAT(*read(after + ":1", 3, 2).values, ElementsAre(2, 3, 6, 7, 10, 11));
  const std::string batched = scratch_.write("bhnd.safetensors", one_tensor("o", "[2,2,3,1]", 12));
  EXPECT_THAT(*read(batched + ":3", 3, 1).values, ElementsAre(9, 10, 11));
  const std::string across = scratch_.write("bnhd.safetensors", one_tensor("o", "[2,3,2,1]", 12));
  EXPECT_THAT(*read(across + ":2", 3, 1).values, ElementsAre(6, 8, 10));
  EXPECT_THAT(refusal_of(across + ":4", 3, 1),
              AllOf(HasSubstr("head index is 4"), HasSubstr("0 to 3"), HasSubstr("[2, 3, 2, 1]")));
}

TEST_F(LoadedOutput, TheHeadIsTheInputsWhereNoneIsNamed) {
  const std::string file = scratch_.write("o.safetensors", one_tensor("o", "[2,3,2]", 12));
  Problem p{.n = 3, .d = 2};
  p.input.kind = InputKind::tensors;
  p.input.index = 1;
  EXPECT_EQ(read_kernel_output(file, p).index, 1);
  EXPECT_THAT(*read_kernel_output(file, p).values, ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(read_kernel_output(file + ":0", p).index, 0) << "an explicit head stays";
  p.input.index = 2;
  EXPECT_EQ(read_kernel_output(file, p).index, 0) << "the file has two heads";
  p.input = {};
  p.input.index = 1;
  EXPECT_EQ(read_kernel_output(file, p).index, 0) << "drawn inputs have no heads";
  EXPECT_EQ(kernel_output_heads(file, p), 2);
  EXPECT_THAT(contents_of(file + ":1"), ElementsAre("o: [2, 3, 2] F32"));
}

TEST_F(LoadedOutput, TensorsGoByTheirNames) {
  for (const char* name : {"o", "O", "out", "output", "attn_out", "attn_output", "whatever"}) {
    const std::string file = scratch_.write("o.safetensors", one_tensor(name, "[2,3]", 6));
    EXPECT_EQ(read(file).n, 2) << name;
    EXPECT_TRUE(is_kernel_output(file));
    EXPECT_TRUE(holds_kernel_output(file));
  }
  const std::string both = good_header(entry("out", "F32", "[2,3]", 72, 96) + ",");
  const std::string file = scratch_.write("all.safetensors", little_endian(both.size(), 8) + both + counting(24));
  EXPECT_FALSE(is_kernel_output(file)) << "a file with Q, K and V is taken as a call";
  EXPECT_TRUE(holds_kernel_output(file));
  EXPECT_THAT(*read(file).values, ElementsAre(18, 19, 20, 21, 22, 23));
  EXPECT_FALSE(holds_kernel_output(example));
  EXPECT_FALSE(is_kernel_output(example));
  EXPECT_TRUE(is_kernel_output("o.npy"));
  for (const char* const part : {"q.npy", "folder/K.npy", "value.npy"}) EXPECT_FALSE(is_kernel_output(part)) << part;
  EXPECT_FALSE(is_kernel_output("q.npy,k.npy,v.npy"));
  EXPECT_FALSE(is_kernel_output("session.json"));
  EXPECT_THAT(refusal_of(example, 0, 0), HasSubstr("no tensor called o"));
}

TEST_F(LoadedOutput, MisfitsAreRefusedInASentence) {
  const auto file = [&](const std::string& shape, int count) {
    return scratch_.write("o.safetensors", one_tensor("o", shape, count));
  };
  EXPECT_THAT(refusal_of(file("[3,2]", 6), 2, 3),
              AllOf(HasSubstr("'o' has shape [3, 2]"), HasSubstr("expected [2, 3], [heads, 2, 3] or [2, heads, 3]"),
                    HasSubstr("transposed")));
  EXPECT_THAT(refusal_of(file("[4,2]", 8), 2, 3), ::testing::Not(HasSubstr("transposed")));
  EXPECT_THAT(refusal_of(file("[6]", 6), 2, 3), HasSubstr("has shape [6]"));
  EXPECT_THAT(refusal_of(file("[1,1,1,2,3]", 6), 2, 3), HasSubstr("expected"));
  EXPECT_THAT(refusal_of(file("[0,3]", 0), 0, 0), HasSubstr("expected"));
  EXPECT_THAT(refusal_of(file("[2,3]", 6), 2, 4), HasSubstr("expected [2, 4]"));
  EXPECT_THAT(refusal_of(scratch_ / "absent.npy", 2, 3), HasSubstr("absent.npy"));
  EXPECT_THAT(refusal_of(scratch_.write("cut.npy", "\x93NUMPY"), 2, 3), HasSubstr("cut.npy"));
}

TEST_F(LoadedOutput, FortranOrderOfNumPyIsReadHeadByHead) {
  const std::string file = scratch_.write("f.npy", npy(npy_header("<f4", "(2, 3)", "True"), counting(6)));
  EXPECT_THAT(*read(file, 2, 3).values, ElementsAre(0, 2, 4, 1, 3, 5));
  const std::string middle = scratch_.write("m.npy", npy(npy_header("<f4", "(3, 2, 2)", "True"), counting(12)));
  EXPECT_THAT(refusal_of(middle, 3, 2), HasSubstr("Fortran order"));
}

nlohmann::json verdict(const std::vector<std::string>& options) {
  const nlohmann::json json = json_of(with({"run"}, options));
  EXPECT_EQ(json["experiment"]["loaded"]["file"].empty(), false);
  return json.value("verdict", nlohmann::json());
}

TEST_F(RunKernel, ARoundedOutputIsRounded) {
  const std::string file = saved_output({});
  for (const char* as : {"a", "b"}) {
    const nlohmann::json v = verdict({"--kernel", file, "--kernel-as", as});
    expect_holds(v, R"({"verdict": "rounded", "slip": null})");
  }
  EXPECT_TRUE(verdict({"--n", "96", "--d", "16"}).is_null()) << "no verdict without a loaded output";
  succeed({"run", "--kernel", file, "--save-field", "tolerance=" + scratch_ / "t.npy"});
  for (const double share : last_numbers<double>(scratch_ / "t.npy", 96 * 16)) EXPECT_TRUE(share >= 0 && share <= 1) << share;
}

TEST_F(RunKernel, AMissingMaskIsNamed) {
  const std::string file = saved_output({"--mask", "none"});
  const nlohmann::json v = verdict({"--mask", "causal", "--kernel", file});
  expect_holds(v, R"({"verdict": "wrong", "slip": {"kind": "mask", "text": "a missing causal mask"}})");
  const Outcome table = attoscope({"run", "--mask", "causal", "--kernel", file});
  EXPECT_THAT(table.out, AllOf(HasSubstr("a: loaded " + file + " (F64)"), HasSubstr("Wrong: a missing causal mask.")));
}

TEST_F(RunKernel, ItsShapeIsTheProblemsWhereNobodyTells) {
  const std::string file = saved_output({});
  const Outcome other = attoscope({"run", "--n", "64", "--kernel", file});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr("has shape [96, 16]"), HasSubstr("expected [64, d]")));
  EXPECT_EQ(attoscope({"run", "--kernel", file, "--kernel-as", "c"}).code, 2);
  EXPECT_EQ(attoscope({"run", "--kernel", "o.txt"}).code, 2);
  const Outcome of_file = attoscope({"run", "--input", example, "--kernel", file});
  EXPECT_EQ(of_file.code, 1);
  EXPECT_THAT(of_file.err, HasSubstr("expected [1024, 64]"));
}

TEST_F(RunKernel, AnotherHeadOfTheFileIsNamed) {
  EXPECT_EQ(attoscope({"run", "--input", example + ":2", "--mask", "causal", "--save", scratch_ / "saved"}).code, 0);
  const nlohmann::json v = verdict({"--input", example + ":0", "--mask", "causal", "--kernel", scratch_ / "saved/a.npy"});
  expect_holds(v, R"({"slip": {"kind": "head", "text": "head 2 instead of head 0"}})");
}

/// Layers of a prefill and of a decoding step: each head is judged alone.
TEST_F(RunKernel, LayersOfSeveralShapesAreJudgedHeadByHead) {
  std::vector<FileTensor> tensors;
  for (const auto& [layer, queries] : {std::pair{"0.", 12}, {"1.", 1}})
    for (const char* const part : {"q", "k", "v", "out"}) {
      const bool has_queries = *part == 'q' || *part == 'o';
      tensors.push_back(counted(layer + std::string(part), {2, has_queries ? queries : 12, 8}, [](int) { return 0.5; }));
    }
  const std::string file = scratch_.write("dump.safetensors", safetensors(tensors));
  const nlohmann::json heads = json_of({"heads", file, "--kernel", file, "--no-cache"})["heads"];
  EXPECT_EQ(heads.size(), 4U);
  for (const nlohmann::json& head : heads) EXPECT_EQ(head["verdict"]["verdict"], "rounded") << head;
  for (const char* const head : {":0", ":3"})
    EXPECT_EQ(verdict({"--input", file + head, "--kernel", file + head})["verdict"], "rounded") << head;
}

/// Columns behind those of V do not look like a second head beside the first.
TEST_F(RunKernel, AnOutputMayHaveTwiceTheColumnsOfV) {
  std::vector<FileTensor> call;
  for (const char* const part : {"q", "k", "v"}) call.push_back(counted(part, {2, 12, 8}, [](int) { return 0.5; }));
  const std::string file = scratch_.write("call.safetensors", safetensors(call)),
                    o = scratch_.write("o.safetensors",
                                       safetensors({counted("o", {2, 12, 16}, [](int i) { return i % 16 < 8 ? 0.5 : 7; })}));
  EXPECT_EQ(verdict({"--input", file + ":1", "--kernel", o})["verdict"], "rounded");
  const nlohmann::json heads = json_of({"heads", file, "--kernel", o, "--no-cache"})["heads"];
  EXPECT_EQ(heads.size(), 2U);
  for (const nlohmann::json& head : heads) EXPECT_EQ(head["verdict"]["verdict"], "rounded") << head;
}

}  // namespace
}  // namespace attoscope::kernel_output_test
