// Invalid .safetensors and .npy files: each is refused with one sentence.

#include <string>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

/// A file's bytes, and words of the expected error sentence.
struct Lie {
  std::string bytes, said;
};

std::string refusal_of(Input input) {
  return sentence_of([&] { load_tensors(input); });
}

/// A .safetensors file with only this entry, or with q, k and v.
std::string file_with(const std::string& entry, std::size_t bytes) { return safetensors("{" + entry + "}", bytes); }
std::string file_with(const std::string& q, const std::string& k, const std::string& v, std::size_t bytes) {
  return file_with(q + "," + k + "," + v, bytes);
}
std::string q_of(const std::string& shape, int begin, int end) { return entry("q", "F32", shape, begin, end); }

void expect_refusals(const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) EXPECT_THAT(refusal(lie.bytes), HasSubstr(lie.said)) << lie.bytes.substr(0, 200);
}

TEST(BadSafetensors, Files) {
  EXPECT_THAT(refusal_of(parse_input("/nowhere/x.safetensors")), HasSubstr("/nowhere/x.safetensors: cannot be opened"));
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "x.safetensors");
  EXPECT_THAT(refusal_of(parse_input(scratch / "x.safetensors")), HasSubstr("not a regular file"));
  const std::string path = scratch.write("long.safetensors", little_endian(17 << 20, 8));
  std::filesystem::resize_file(path, 40 << 20);
  EXPECT_THAT(refusal_of(parse_input(path)), HasSubstr("expected 2 to 16777216"));
}

TEST(BadSafetensors, TruncatedEverywhere) {
  const std::string bytes = safetensors(good_header(), 72);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(refusal(bytes.substr(0, size)), "") << size;
}

TEST(BadSafetensors, Headers) {
  std::string ones = "[1";
  for (int i = 0; i < 1000; ++i) ones += ",1";
  expect_refusals({{"", "has 0 bytes"},
                   {"1234567", "has 7 bytes"},
                   {little_endian(100, 8), "has 8 bytes, expected a .safetensors file"},
                   {little_endian(100, 8) + "{}", "header length is 100"},
                   {std::string(8, '\xff') + "{}", "header length is 18446744073709551615 bytes, expected 2 to 2"},
                   {safetensors("{\"q\": nonsense}", 0), "is not JSON at byte 8"},
                   {safetensors("[1, 2]", 0), "begins with '['"},
                   {safetensors(good_header() + "}", 72), "is not JSON"},
                   {safetensors("{\"\xc3\x28\":1}", 0), "is not JSON"},
                   {safetensors("{\"q\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}", 0), "nested deeper"},
                   {safetensors(good_header(entry("q", "F32", "[2,3]", 0, 24) + ","), 72), "key 'q' twice"},
                   {safetensors("{\"q\":1e999}", 0), "beyond the range"},
                   {safetensors("{\"q\":3}", 0), "tensor 'q' is '3', expected an object"},
                   {safetensors("{\"q\":{\"shape\":[1,1],\"data_offsets\":[0,0]}}", 0), "has no 'dtype'"},
                   {safetensors("{\"q\":{\"dtype\":\"F32\",\"shape\":[1,1]}}", 0), "has no 'data_offsets'"},
                   {safetensors(R"({"q":{"dtype":7,"shape":[1,1],"data_offsets":[0,4]}})", 4), "has dtype '7'"},
                   {safetensors(good_header("\"__metadata__\":{\"a\":1},"), 72), "__metadata__ has '1'"},
                   {safetensors(good_header("\"__metadata__\":null,"), 72), "__metadata__ has 'null'"},
                   {file_with(q_of("7", 0, 0), 0), "expected a list"},
                   {file_with(q_of("[-2,3]", 0, 24), 24), "has '-2' in 'shape'"},
                   {file_with(q_of("[2.0,3]", 0, 24), 24), "has '2.0' in 'shape'"},
                   {file_with(q_of("[99999999999999999999]", 0, 0), 0), "in 'shape'"},
                   {file_with(q_of("[4294967296,4294967296]", 0, 0), 0), "expected one that fits a file"},
                   {file_with(q_of(ones + "]", 0, 4), 4), "'shape' of 1001 numbers, expected at most 64"},
                   {file_with(entry("x", "F32", "[2,3]", 0, 24), 24), "has no three tensors called q, k, v"}});
}

TEST(BadSafetensors, Offsets) {
  const std::string q = q_of("[2,3]", 0, 24);
  expect_refusals({{safetensors(good_header(), 71), "has data_offsets [48, 72], expected [begin, end] within the 71 bytes"},
                   {file_with(q_of("[2,3]", 24, 0), 24), "data_offsets [24, 0]"},
                   {safetensors(R"({"q":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4,8]}})", 8), "data_offsets [0, 4, 8]"},
                   {file_with(q, entry("k", "F32", "[2,3]", 20, 44), entry("v", "F32", "[2,3]", 44, 68), 68),
                    "tensor 'k' begins at byte 20 of the data, expected 24"},
                   {file_with(q, entry("k", "F32", "[2,3]", 28, 52), entry("v", "F32", "[2,3]", 52, 76), 76),
                    "tensor 'k' begins at byte 28 of the data, expected 24"},
                   {safetensors(good_header(), 80), "holds 80 bytes of data, expected the 72"},
                   {file_with(q_of("[2,3]", 0, 20), 20), "has 20 bytes, expected 24 for shape [2, 3] of F32"}});
}

TEST(BadSafetensors, Tensors) {
  const auto three = [](const std::string& dtype, const std::string& shape, int bytes) {
    return file_with(entry("q", dtype, shape, 0, bytes), entry("k", dtype, shape, bytes, 2 * bytes),
                     entry("v", dtype, shape, 2 * bytes, 3 * bytes), static_cast<std::size_t>(3 * bytes));
  };
  const std::string q = q_of("[2,3]", 0, 24), k = entry("k", "F32", "[2,3]", 24, 48), v = entry("v", "F32", "[2,3]", 48, 72);
  expect_refusals({{three("F32", "[0,3]", 0), "expected a number of tokens from 1"},
                   {three("F32", "[0,2,3]", 0), "expected a number of heads from 1"},
                   {file_with(entry("q", "I32", "[2,3]", 0, 24), k, v, 72),
                    "tensor 'q' has dtype 'I32', expected F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I8 or U8"},
                   {file_with(q, entry("k", "F32", "[3,2]", 24, 48), v, 72),
                    "tensor 'k' has shape [3, 2], expected batch and d like q's [2, 3]"},
                   {three("F32", "[6]", 24), "has shape [6], expected (n, d)"},
                   {three("F16", "[1048577,1]", 2097154), "expected a number of tokens from 1 to 1048576"}});
}

TEST(BadSafetensors, Indices) {
  EXPECT_THAT(refusal(safetensors(good_header(), 72), 1), HasSubstr("head index is 1, expected 0 to 0"));
  Input input = parse_input(example);
  input.index = -1;
  EXPECT_THAT(refusal_of(input), HasSubstr("head index is -1"));
  input = parse_input(example);
  input.file = "x.dat";
  EXPECT_THAT(refusal_of(input), HasSubstr("'x.dat'"));
}

TEST(BadNpy, Files) {
  const auto of_shape = [](const std::string& shape, std::size_t bytes) {
    return npy(npy_header("<f4", shape), std::string(bytes, 0));
  };
  const std::string good = of_shape("(2, 3)", 24);
  for (const auto& [bytes, said] : std::vector<Lie>{
           {"", "does not begin as a .npy file"},
           {"PK\x03\x04 this is a zip file", "does not begin as a .npy file"},
           {npy(npy_header("<f4", "(2, 3)"), std::string(24, 0), 9), "has version 9"},
           {good.substr(0, 30), "header length is"},
           {good.substr(0, 11), "header length is"},
           {npy(npy_header("<f4", "(2, 3)") + std::string(70000, ' '), "", 2), "expected at most 65536"},
           {of_shape("(2, 3)", 23), "holds 23 bytes of data, expected 24"},
           {of_shape("(2, 3)", 25), "holds 25 bytes of data, expected 24"},
           {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", ""), "expected a text in quotes"},
           {of_shape("(-2, 3)", 0), "expected a size from 0 on"},
           {of_shape("(99999999999999999999, 3)", 0), "expected a size"},
           {of_shape("(9999999999, 9999999999)", 0), "expected one that fits a file"},
           {of_shape("(0, 3)", 0), "expected a number of tokens"},
           {of_shape("()", 4), "has shape []"},
           {of_shape("(3, 2)", 24), "expected batch and d like q's"},
           {npy("{}", ""), "lacks one of"},
           {npy("{'x': 1}", ""), "has the key 'x'"},
           {npy("{'descr': '<f4', 'descr': '<f4'}", ""), "'descr' twice"}})
    EXPECT_THAT(npy_refusal(bytes), HasSubstr(said)) << bytes.substr(0, 200);
}
TEST(BadNpy, OtherTypes) {
  for (const char* const descr : {"|O", "<i4", "<f16", "f4", "|f4", "<c8", "", "<"})
    EXPECT_THAT(npy_refusal(npy(npy_header(descr, "(2, 3)"), std::string(24, 0))),
                AllOf(HasSubstr("descr is '" + std::string(descr) + "'"), HasSubstr("expected f2")));
}
TEST(BadNpy, TypesThatNumPyDoesNotKeep) {
  for (const char* const descr : {"<V2", "|V2", "<V1", "|V1", "<f1"})
    EXPECT_THAT(
        npy_refusal(npy(npy_header(descr, "(2, 3)"), std::string(12, 0))),
        AllOf(HasSubstr("descr is '" + std::string(descr) + "', expected float32, or a .safetensors file of "),
              HasSubstr("attoscope.save_safetensors, since NumPy does not keep the type of an array of ml_dtypes (JAX)")));
}
TEST(BadNpy, BrokenHeaders) {
  for (const char* const header : {"", "{", "{'descr", "{'descr'", "{'descr':", "{'descr': '<f4'", "{'shape': (",
                                   "{'shape': (2", "{'shape': (2,,3)}", "{'fortran_order': Maybe}", "[]", "{} x"})
    EXPECT_THAT(npy_refusal(npy(header, "")), HasSubstr("expected")) << header;
}

}  // namespace
}  // namespace attoscope
