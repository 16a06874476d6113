// `attoscope dot`: sums through files, its messages and its refusals; tensor_core_test has the recorded products.

#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/arithmetic/tensor_core_sum.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

template <class T>
std::string npy_of(const std::string& shape, const std::vector<T>& values) {
  return npy(npy_header(sizeof(T) == 4 ? "<f4" : "<f8", shape), raw(values));
}

/// The numbers behind the header of a vector that the program wrote.
std::vector<float> vector_in(const std::string& path, std::size_t count) {
  const std::string bytes = bytes_of_file(path);
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
  EXPECT_THAT(bytes, HasSubstr("'shape': (" + std::to_string(count) + ",)"));
  std::vector<float> values(count);
  if (bytes.size() < 4 * count) return {};
  std::memcpy(values.data(), bytes.data() + bytes.size() - 4 * count, 4 * count);
  return values;
}

/// A command of its own files: 2 x 3 numbers in a and b, two in c.
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
};

TEST(Dot, AddsByHand) {
  const Files files;
  ASSERT_EQ(attoscope(files.command()).code, 0);
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{2.75F, 1}));
  ASSERT_EQ(attoscope(files.command({"--c", files.c})).code, 0);
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
  ASSERT_EQ(attoscope(files.command()).code, 0);
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{1, 13}));
  files.a = alone;
  ASSERT_EQ(attoscope(files.command()).code, 0);
  EXPECT_EQ(vector_in(files.d, 2), (std::vector<float>{1, 13}));
  files.a = both;
  expect_refused(files.command(), 1, "x.safetensors: names no single tensor, only 'a', 'b'");
  files.a = "a.txt";
  expect_refused(files.command(), 1, "--a 'a.txt' is not understood, expected FILE.npy, FILE.safetensors, FILE.pt, ");
}

TEST(Dot, TellsTheRuleAsJson) {
  const Files files;
  const Outcome outcome = attoscope(files.command({"--c", files.c, "--json", "-"}, "h100", "e4m3"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json told = json::parse(outcome.out);
  EXPECT_EQ(told["schema"], "attoscope.dot/1");
  EXPECT_EQ(told["gpu"], "h100");
  EXPECT_EQ(told["format"], "e4m3");
  EXPECT_EQ(told["result"], "f32");
  EXPECT_EQ(told["rule"]["block"], 32);
  EXPECT_EQ(told["rule"]["aligned_bits"], 13);
  EXPECT_EQ(told["rule"]["rounding"], "towards zero to e8m13");
  EXPECT_EQ(told["rule"]["c"], "in the block");
  EXPECT_EQ(told["recorded"], false) << "with another c than 0 nothing was recorded";
  EXPECT_EQ(json_of(files.command({}, "h100", "e4m3"))["recorded"], true);
  EXPECT_EQ(told["rows"], 2);
  EXPECT_EQ(told["k"], 3);
}

TEST(Dot, SaysWhereNothingWasRecorded) {
  const Files files;
  EXPECT_THAT(attoscope(files.command({}, "rtx50")).out, HasSubstr("model, not recorded"));
  EXPECT_THAT(attoscope(files.command({}, "h100", "e4m3")).out, Not(HasSubstr("model, not recorded")));
  EXPECT_THAT(attoscope(files.command({"--result", "f16", "--c", files.c}, "b200", "e4m3")).out,
              AllOf(Not(HasSubstr("model, not recorded")), HasSubstr("products 0 and 1 of every four before 2 and 3"),
                    HasSubstr("c after both halves of the block, in fp16 to nearest even")));
  const std::vector<double> long_row(33, 1.0);
  const std::string a = files.scratch.write("long.npy", npy_of("(1, 33)", long_row));
  EXPECT_THAT(attoscope({"dot", "h100", "--format", "e4m3", "--a", a, "--b", a, "--out", files.d}).out,
              HasSubstr("model, not recorded"))
      << "the second block starts from the first one's result";
  EXPECT_THAT(attoscope({"dot", "b200", "--format", "e4m3", "--result", "f16", "--a", a, "--b", a, "--out", files.d}).out,
              HasSubstr("model, not recorded"));
}

TEST(Dot, CountsWhatItRounds) {
  const Files files;
  const std::string a = files.scratch.write("f8.npy", npy_of<double>("(2, 3)", {1.0, 1.0 / 3, 1e9, 1, 1, -0.0}));
  const json told = json_of({"dot", "a100", "--format", "fp16", "--a", a, "--b", files.b, "--out", files.d});
  EXPECT_EQ(told["changed"]["a"], 2);
  EXPECT_EQ(told["changed"]["b"], 0);
  EXPECT_EQ(told["nonfinite"], 1) << "fp16 has no 1e9";
  EXPECT_THAT(attoscope({"dot", "a100", "--format", "fp16", "--a", a, "--b", files.b, "--out", files.d}).out,
              HasSubstr("2 of 6 values of a changed, 0 of b, 0 of c"));
}

/// float64 is rounded once, to the format: through float first 1 + 2^-11 + 2^-40 would be a tie.
TEST(Dot, RoundsDoublesOnce) {
  const Files files;
  const double x = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  const std::string a = files.scratch.write("a8.npy", npy_of<double>("(1, 1)", {x}));
  const std::string one = files.scratch.write("one.npy", npy_of<double>("(1, 1)", {1.0}));
  ASSERT_EQ(attoscope({"dot", "h100", "--format", "fp16", "--a", a, "--b", one, "--out", files.d}).code, 0);
  EXPECT_EQ(vector_in(files.d, 1).at(0), 1 + std::ldexp(1.0F, -10));
}

TEST(Dot, LongRowsAreThoseOfTheFunction) {
  const TemporaryDirectory scratch;
  Dice dice(3);
  std::vector<float> a(1000), b(1000);
  for (float& x : a) x = static_cast<float>(round(bf16, dice.normal()));
  for (float& x : b) x = static_cast<float>(round(bf16, dice.normal()));
  const std::string a_file = scratch.write("a.npy", npy_of("(1, 1000)", a)),
                    b_file = scratch.write("b.npy", npy_of("(1, 1000)", b));
  ASSERT_EQ(attoscope({"dot", "a2", "--format", "bf16", "--a", a_file, "--b", b_file, "--out", scratch / "d.npy"}).code, 0);
  EXPECT_EQ(vector_in(scratch / "d.npy", 1).at(0),
            plain_tensor_core_dot(tensor_core_rule(TensorCore::a2, bf16, SumType::f32), a, b, 0));
}

/// Expects a refusal in a sentence, and no file.
void expect_nothing_written(const Files& files, const std::vector<std::string>& command, int code,
                            const std::string& sentence) {
  const long before = files.scratch.count();
  expect_refused(command, code, sentence);
  EXPECT_EQ(files.scratch.count(), before) << sentence;
}

TEST(DotRefuses, WhatAGpuLacks) {
  const Files files;
  expect_nothing_written(files, files.command({}, "a100", "e4m3"), 2, "a100 multiplies no e4m3, expected fp16, bf16 or tf32");
  expect_nothing_written(files, files.command({}, "h100", "fp32"), 2, "tensor cores multiply no fp32 here");
  expect_nothing_written(files, files.command({}, "h100", "e3m2"), 2, "tensor cores multiply no e3m2 here");
  expect_nothing_written(files, files.command({"--result", "f16"}, "h100", "bf16"), 2, "in f32 alone");
  expect_nothing_written(files, files.command({}, "h800"), 2, "GPU 'h800' is unknown: expected v100, a100");
  expect_nothing_written(files, files.command({}, "h100", "half"), 2, "--format: format 'half' is unknown");
  expect_nothing_written(files, files.command({"--result", "f64"}), 2, "--result: type of sums 'f64' is unknown");
  expect_nothing_written(files, {"dot", "h100", "--a", files.a, "--b", files.b, "--out", files.d}, 2, "--format is required");
}

TEST(DotRefuses, ShapesThatDiffer) {
  Files files;
  files.b = files.scratch.write("b.npy", npy_of<float>("(3, 2)", {1, 2, 3, 4, 5, 6}));
  expect_nothing_written(files, files.command(), 1, "b.npy has shape [3, 2], expected that of --a, [2, 3]");
  files.b = files.a;
  const std::string three = files.scratch.write("three.npy", npy_of<float>("(3,)", {1, 2, 3}));
  expect_nothing_written(files, files.command({"--c", three}), 1, "three.npy has 3 numbers, expected 2, one for each row");
  expect_nothing_written(files, files.command({"--c", files.a}), 1, "a.npy has shape [2, 3], expected [rows]");
  files.a = three;
  expect_nothing_written(files, files.command(), 1, "three.npy has shape [3], expected [rows, K]");
  files.a = files.scratch.write("empty.npy", npy_of<float>("(2, 0)", {}));
  expect_nothing_written(files, files.command(), 1, "empty.npy has shape [2, 0], expected sizes from 1");
}

/// NaN, infinities of both signs and 0 times infinity give tensor cores' NaN.
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
  ASSERT_EQ(attoscope(files.command({"--c", c})).code, 0);
  d = vector_in(files.d, 2);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(d[0]), 0x7fffffffU);
}

TEST(DotRefuses, FilesThatCannotBeReadOrWritten) {
  Files files;
  expect_nothing_written(files, files.command({"--json", files.scratch / "no/such/d.json"}), 1, "--json");
  const std::string d = files.d;
  files.d = files.scratch / "no/such/d.npy";
  expect_nothing_written(files, files.command(), 1, "--out");
  files.d = d;
  expect_nothing_written(files, files.command({"--json", d}), 2, "--json");
  files.d = files.a;
  expect_nothing_written(files, files.command(), 2, "--out");
  files.d = d;
  files.b = files.scratch / "none.npy";
  expect_nothing_written(files, files.command(), 1, "none.npy");
  files.b = files.scratch.write("text.npy", "no numbers");
  expect_nothing_written(files, files.command(), 1, "text.npy: does not begin as a .npy file of NumPy does");
}

}  // namespace
}  // namespace attoscope::testing
