// `attoscope dot`: dot products of files, messages and error sentences; tensor_core_test checks the recorded products.

#include <bit>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/app/outcome.h"
#include "tests/reference/plain_tensor_core.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

/// The numbers behind the header of a vector that the program wrote.
std::vector<float> vector_in(const std::string& path, std::size_t count) {
  const std::string bytes = bytes_of_file(path);
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
  EXPECT_THAT(bytes, HasSubstr("'shape': (" + std::to_string(count) + ",)"));
  return last_numbers<float>(path, count);
}

/// A command and its files: a and b of 2 x 3 numbers, c of two.
struct Files {
  TemporaryDirectory scratch;
  std::string a = scratch.write("a.npy", npy_of<float>("(2, 3)", {1, 2, 3, 4, 5, 6}));
  std::string b = scratch.write("b.npy", npy_of<float>("(2, 3)", {1, 0.5F, 0.25F, -1, 1, 0}));
  std::string c = scratch.write("c.npy", npy_of<float>("(2,)", {100, -1}));
  std::string d = scratch / "d.npy";

  std::vector<std::string> command(const std::vector<std::string>& more = {}, const std::string& gpu = "h100",
                                   const std::string& format = "fp16") const {
    return with({"dot", gpu, "--format", format, "--a", a, "--b", b, "--out", d}, more);
  }
  /// Expects an error sentence and no output file.
  void expect_nothing_written(const std::vector<std::string>& words, int code, const std::string& sentence) const {
    const long before = scratch.count();
    expect_refused(words, code, sentence);
    EXPECT_EQ(scratch.count(), before) << sentence;
  }
};

TEST(Dot, AddsByHand) {
  const Files files;
  succeed(files.command());
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{2.75F, 1}));
  succeed(files.command({"--c", files.c}));
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{102.75F, 0}));
}

TEST(Dot, ReadsAnyFileOfTensors) {
  Files files;
  const std::string a = raw(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::string both = files.scratch.write(
      "x.safetensors",
      safetensors(std::vector<FileTensor>{{"a", "F32", "[2,3]", a}, {"b", "I8", "[2,3]", {1, 0, 0, 2, 1, 0}}}));
  const std::string alone =
      files.scratch.write("y.safetensors", safetensors(std::vector<FileTensor>{{"a", "F32", "[2,3]", a}}));
  files.a = both + ":a", files.b = both + ":b";
  succeed(files.command());
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{1, 13}));
  files.a = alone;
  succeed(files.command());
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{1, 13}));
  files.a = both;
  expect_refused(files.command(), 1, "x.safetensors: names no single tensor, only 'a', 'b'");
  files.a = "a.txt";
  expect_refused(files.command(), 1, "--a 'a.txt' is not understood, expected FILE.npy, FILE.safetensors, FILE.pt, ");
}

TEST(Dot, TellsTheRuleAsJson) {
  const Files files;
  const json told = json_of(files.command({"--c", files.c}, "h100", "e4m3"));
  expect_holds(told, R"({
    "schema": "attoscope.dot/1", "gpu": "h100", "format": "e4m3", "result": "f32", "rows": 2, "k": 3,
    "rule": {"block": 32, "aligned_bits": 13, "rounding": "towards zero to e8m13", "c": "in the block"}})");
  EXPECT_EQ(told["recorded"], false) << "nothing was recorded with c other than 0";
  EXPECT_EQ(json_of(files.command({}, "h100", "e4m3"))["recorded"], true);
}

TEST(Dot, SaysWhereNothingWasRecorded) {
  Files files;
  const std::string not_recorded = "model, not recorded";
  EXPECT_THAT(attoscope(files.command({}, "rtx50")).out, HasSubstr(not_recorded));
  EXPECT_THAT(attoscope(files.command({}, "h100", "e4m3")).out, Not(HasSubstr(not_recorded)));
  EXPECT_THAT(attoscope(files.command({"--result", "f16", "--c", files.c}, "b200", "e4m3")).out,
              AllOf(Not(HasSubstr(not_recorded)), HasSubstr("products 0 and 1 of every four before 2 and 3"),
                    HasSubstr("c after both halves of the block, in fp16 to nearest even")));
  const auto is_recorded = [&](const char* gpu, int k) {
    files.a = files.b = files.scratch.write(
        "ones.npy", npy_of("(1, " + std::to_string(k) + ")", std::vector<double>(static_cast<std::size_t>(k), 1.0)));
    return json_of(files.command({}, gpu, "tf32"))["recorded"].get<bool>();
  };
  for (const char* const gpu : {"h100", "h200", "b200"}) EXPECT_TRUE(is_recorded(gpu, 4) && !is_recorded(gpu, 5)) << gpu;
  EXPECT_TRUE(is_recorded("a100", 8)) << "two blocks of 4, as recorded";
  files.a = files.b = files.scratch.write("long.npy", npy_of("(1, 33)", std::vector<double>(33, 1.0)));
  EXPECT_THAT(attoscope(files.command({}, "h100", "e4m3")).out, HasSubstr(not_recorded))
      << "the second block has c = the result of the first block";
  EXPECT_THAT(attoscope(files.command({"--result", "f16"}, "b200", "e4m3")).out, HasSubstr(not_recorded));
}

TEST(Dot, WritesItsSumsToAFile) {
  Files files;
  files.d = "-";
  files.expect_nothing_written(files.command(), 2, "--out is '-', expected a file");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(Dot, NamesAllTypesThatItReads) {
  Files files;
  files.a = files.scratch.write("c.npy", npy(npy_header("<c8", "(2, 3)"), std::string(48, 0)));
  expect_refused(files.command(), 1, "descr is '<c8', expected f2, f4, f8, i2 to i8 or u2 to u8 after < or >, |i1, |u1 or |b1");
  files.a = files.scratch.write("whole.npy", npy(npy_header("<i8", "(2, 3)"), std::string(48, 0)));
  succeed(files.command());
}

TEST(Dot, CountsWhatItRounds) {
  Files files;
  files.a = files.scratch.write("f8.npy", npy_of<double>("(2, 3)", {1.0, 1.0 / 3, 1e9, 1, 1, -0.0}));
  const json told = json_of(files.command({}, "a100"));
  expect_holds(told, R"({"changed": {"a": 2, "b": 0}})");
  EXPECT_EQ(told["nonfinite"], 1) << "fp16 has no 1e9";
  EXPECT_THAT(attoscope(files.command({}, "a100")).out, HasSubstr("2 of 6 values of a changed, 0 of b, 0 of c"));
}

/// float64 is rounded once, directly to the format: rounded to float first, 1 + 2^-11 + 2^-40 would become a tie.
TEST(Dot, RoundsDoublesOnce) {
  Files files;
  const double x = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  files.a = files.scratch.write("a8.npy", npy_of<double>("(1, 1)", {x}));
  files.b = files.scratch.write("one.npy", npy_of<double>("(1, 1)", {1.0}));
  succeed(files.command());
  EXPECT_EQ(vector_in(files.d, 1).at(0), 1 + std::ldexp(1.0F, -10));
}

TEST(Dot, LongRowsAreThoseOfTheFunction) {
  Files files;
  Dice dice(3);
  std::vector<float> a(1000), b(1000);
  for (std::vector<float>* const numbers : {&a, &b})
    for (float& x : *numbers) x = static_cast<float>(round(bf16, dice.normal()));
  files.a = files.scratch.write("a.npy", npy_of("(1, 1000)", a));
  files.b = files.scratch.write("b.npy", npy_of("(1, 1000)", b));
  succeed(files.command({}, "a2", "bf16"));
  EXPECT_EQ(vector_in(files.d, 1).at(0), plain::tensor_core_dot(tensor_core_rule(TensorCore::a2, bf16, SumType::f32), a, b, 0));
}

TEST(DotRefuses, FormatsAndTypesThatAGpuLacks) {
  const Files files;
  files.expect_nothing_written(files.command({}, "a100", "e4m3"), 2, "a100 multiplies no e4m3, expected fp16, bf16 or tf32");
  files.expect_nothing_written(files.command({}, "h100", "fp32"), 2, "tensor cores multiply no fp32 here");
  files.expect_nothing_written(files.command({}, "h100", "e3m2"), 2, "tensor cores multiply no e3m2 here");
  files.expect_nothing_written(files.command({"--result", "f16"}, "h100", "bf16"), 2, "in f32 alone");
  files.expect_nothing_written(files.command({}, "h800"), 2, "GPU 'h800' is unknown: expected v100, a100");
  files.expect_nothing_written(files.command({}, "h100", "half"), 2, "--format: format 'half' is unknown");
  files.expect_nothing_written(files.command({"--result", "f64"}), 2, "--result: type of sums 'f64' is unknown");
  files.expect_nothing_written({"dot", "h100", "--a", files.a, "--b", files.b, "--out", files.d}, 2, "--format is required");
}

TEST(DotRefuses, ShapesThatDiffer) {
  Files files;
  files.b = files.scratch.write("b.npy", npy_of<float>("(3, 2)", {1, 2, 3, 4, 5, 6}));
  files.expect_nothing_written(files.command(), 1, "b.npy has shape [3, 2], expected that of --a, [2, 3]");
  files.b = files.a;
  const std::string three = files.scratch.write("three.npy", npy_of<float>("(3,)", {1, 2, 3}));
  files.expect_nothing_written(files.command({"--c", three}), 1, "three.npy has 3 numbers, expected 2, one for each row");
  files.expect_nothing_written(files.command({"--c", files.a}), 1, "a.npy has shape [2, 3], expected [rows]");
  files.a = three;
  files.expect_nothing_written(files.command(), 1, "three.npy has shape [3], expected [rows, K]");
  files.a = files.scratch.write("empty.npy", npy_of<float>("(2, 0)", {}));
  files.expect_nothing_written(files.command(), 1, "empty.npy has shape [2, 0], expected sizes from 1");
}

/// NaN, the sum of +inf and -inf, and 0 times infinity give the NaN of tensor cores.
TEST(Dot, TakesNaNAndInfinities) {
  Files files;
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  files.b = files.scratch.write("nan.npy", npy_of<float>("(2, 3)", {1, infinity, 3, 4, -nan, 6}));
  const std::string c = files.scratch.write("nan_c.npy", npy_of<float>("(2,)", {-infinity, 0}));
  const Outcome outcome = attoscope(files.command({"--json", "-"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["changed"]["b"], 0);
  EXPECT_EQ(json::parse(outcome.out)["nonfinite"], 2);
  std::vector<float> d = vector_in(files.d, 2);
  EXPECT_EQ(d[0], infinity);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(d[1]), 0x7fffffffU);
  succeed(files.command({"--c", c}));
  d = vector_in(files.d, 2);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(d[0]), 0x7fffffffU);
}

TEST(DotRefuses, FilesThatCannotBeReadOrWritten) {
  Files files;
  files.expect_nothing_written(files.command({"--json", files.scratch / "no/such/d.json"}), 1, "--json");
  const std::string d = files.d;
  files.d = files.scratch / "no/such/d.npy";
  files.expect_nothing_written(files.command(), 1, "--out");
  files.d = d;
  files.expect_nothing_written(files.command({"--json", d}), 2, "--json");
  files.d = files.a;
  files.expect_nothing_written(files.command(), 2, "--out");
  files.d = d;
  files.b = files.scratch / "none.npy";
  files.expect_nothing_written(files.command(), 1, "none.npy");
  files.b = files.scratch.write("text.npy", "no numbers");
  files.expect_nothing_written(files.command(), 1, "text.npy: does not begin as a .npy file of NumPy does");
}

}  // namespace
}  // namespace attoscope::testing
