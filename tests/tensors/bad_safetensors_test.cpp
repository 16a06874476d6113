// Every lie that a .safetensors file can tell: one sentence each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // attoscope::testing: the files made by hand

TEST(BadSafetensors, Missing) {
  Input input = parse_input("/nowhere/x.safetensors");
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { load_tensors(input); }),
              HasSubstr("/nowhere/x.safetensors: cannot be opened"));
}
TEST(BadSafetensors, Directory) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "x.safetensors");
  Input input = parse_input(scratch / "x.safetensors");
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { load_tensors(input); }), HasSubstr("not a regular file"));
}
TEST(BadSafetensors, Empty) { EXPECT_THAT(refusal(""), HasSubstr("has 0 bytes")); }
TEST(BadSafetensors, SevenBytes) { EXPECT_THAT(refusal("1234567"), HasSubstr("has 7 bytes")); }
TEST(BadSafetensors, HeaderBeyondTheFile) {
  EXPECT_THAT(refusal(little_endian(100, 8) + "{}"), HasSubstr("header length is 100"));
}
TEST(BadSafetensors, HeaderOfAllBits) {
  EXPECT_THAT(refusal(std::string(8, '\xff') + "{}"),
              HasSubstr("header length is 18446744073709551615 bytes, expected 2 to 2"));
}
TEST(BadSafetensors, HeaderTooLong) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("x.safetensors", little_endian(17 << 20, 8));
  std::filesystem::resize_file(path, 40 << 20);
  Input input = parse_input(path);
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { load_tensors(input); }), HasSubstr("expected 2 to 16777216"));
}
TEST(BadSafetensors, NoJson) { EXPECT_THAT(refusal(safetensors("{\"q\": nonsense}", 0)), HasSubstr("is not JSON at byte 8")); }
TEST(BadSafetensors, NoObject) { EXPECT_THAT(refusal(safetensors("[1, 2]", 0)), HasSubstr("begins with '['")); }
TEST(BadSafetensors, TrailingText) { EXPECT_THAT(refusal(safetensors(good_header() + "}", 72)), HasSubstr("is not JSON")); }
TEST(BadSafetensors, BrokenUtf8) { EXPECT_THAT(refusal(safetensors("{\"\xc3\x28\":1}", 0)), HasSubstr("is not JSON")); }
TEST(BadSafetensors, DeepNesting) {
  EXPECT_THAT(refusal(safetensors("{\"q\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}", 0)),
              HasSubstr("nested deeper"));
}
TEST(BadSafetensors, KeyTwice) {
  EXPECT_THAT(refusal(safetensors(good_header(entry("q", "F32", "[2,3]", 0, 24) + ","), 72)), HasSubstr("key 'q' twice"));
}
TEST(BadSafetensors, HugeNumber) { EXPECT_THAT(refusal(safetensors("{\"q\":1e999}", 0)), HasSubstr("beyond the range")); }
TEST(BadSafetensors, EntryNoObject) {
  EXPECT_THAT(refusal(safetensors("{\"q\":3}", 0)), HasSubstr("tensor 'q' is '3', expected an object"));
}
TEST(BadSafetensors, EntryWithoutDtype) {
  EXPECT_THAT(refusal(safetensors("{\"q\":{\"shape\":[1,1],\"data_offsets\":[0,0]}}", 0)), HasSubstr("has no 'dtype'"));
}
TEST(BadSafetensors, EntryWithoutOffsets) {
  EXPECT_THAT(refusal(safetensors("{\"q\":{\"dtype\":\"F32\",\"shape\":[1,1]}}", 0)), HasSubstr("has no 'data_offsets'"));
}
TEST(BadSafetensors, ShapeNoList) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "7", 0, 0) + "}", 0)), HasSubstr("expected a list"));
}
TEST(BadSafetensors, NegativeSize) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[-2,3]", 0, 24) + "}", 24)), HasSubstr("has '-2' in 'shape'"));
}
TEST(BadSafetensors, FractionalSize) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[2.0,3]", 0, 24) + "}", 24)), HasSubstr("has '2.0' in 'shape'"));
}
TEST(BadSafetensors, SizeBeyond64Bits) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[99999999999999999999]", 0, 0) + "}", 0)), HasSubstr("in 'shape'"));
}
TEST(BadSafetensors, ProductBeyond64Bits) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[4294967296,4294967296]", 0, 0) + "}", 0)),
              HasSubstr("expected one that fits a file"));
}
TEST(BadSafetensors, ManyDimensions) {
  std::string shape = "[1";
  for (int i = 0; i < 1000; ++i) shape += ",1";
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", shape + "]", 0, 4) + "}", 4)), HasSubstr("'shape' of 1001 numbers"));
}
TEST(BadSafetensors, ZeroSize) {
  const std::string header = "{" + entry("q", "F32", "[0,3]", 0, 0) + "," + entry("k", "F32", "[0,3]", 0, 0) + "," +
                             entry("v", "F32", "[0,3]", 0, 0) + "}";
  EXPECT_THAT(refusal(safetensors(header, 0)), HasSubstr("expected a number of tokens from 1"));
}
TEST(BadSafetensors, ZeroHeads) {
  const std::string header = "{" + entry("q", "F32", "[0,2,3]", 0, 0) + "," + entry("k", "F32", "[0,2,3]", 0, 0) + "," +
                             entry("v", "F32", "[0,2,3]", 0, 0) + "}";
  EXPECT_THAT(refusal(safetensors(header, 0)), HasSubstr("expected a number of heads from 1"));
}
TEST(BadSafetensors, OffsetsBeyondTheFile) {
  EXPECT_THAT(refusal(safetensors(good_header(), 71)),
              HasSubstr("has data_offsets [48, 72], expected [begin, end] within the 71 bytes"));
}
TEST(BadSafetensors, OffsetsBackwards) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[2,3]", 24, 0) + "}", 24)), HasSubstr("data_offsets [24, 0]"));
}
TEST(BadSafetensors, ThreeOffsets) {
  EXPECT_THAT(refusal(safetensors(R"({"q":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4,8]}})", 8)),
              HasSubstr("data_offsets [0, 4, 8]"));
}
TEST(BadSafetensors, Overlap) {
  const std::string header = "{" + entry("q", "F32", "[2,3]", 0, 24) + "," + entry("k", "F32", "[2,3]", 20, 44) + "," +
                             entry("v", "F32", "[2,3]", 44, 68) + "}";
  EXPECT_THAT(refusal(safetensors(header, 68)), HasSubstr("tensor 'k' begins at byte 20 of the data, expected 24"));
}
TEST(BadSafetensors, Hole) {
  const std::string header = "{" + entry("q", "F32", "[2,3]", 0, 24) + "," + entry("k", "F32", "[2,3]", 28, 52) + "," +
                             entry("v", "F32", "[2,3]", 52, 76) + "}";
  EXPECT_THAT(refusal(safetensors(header, 76)), HasSubstr("tensor 'k' begins at byte 28 of the data, expected 24"));
}
TEST(BadSafetensors, DataLeftOver) {
  EXPECT_THAT(refusal(safetensors(good_header(), 80)), HasSubstr("holds 80 bytes of data, expected the 72"));
}
TEST(BadSafetensors, SizeDoesNotFitShape) {
  EXPECT_THAT(refusal(safetensors("{" + entry("q", "F32", "[2,3]", 0, 20) + "}", 20)),
              HasSubstr("has 20 bytes, expected 24 for shape [2, 3] of F32"));
}
TEST(BadSafetensors, WrongDtype) {
  const std::string header = "{" + entry("q", "I32", "[2,3]", 0, 24) + "," + entry("k", "F32", "[2,3]", 24, 48) + "," +
                             entry("v", "F32", "[2,3]", 48, 72) + "}";
  EXPECT_THAT(refusal(safetensors(header, 72)),
              HasSubstr("tensor 'q' has dtype 'I32', expected F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I8 or U8"));
}
TEST(BadSafetensors, DtypeNoText) {
  EXPECT_THAT(refusal(safetensors(R"({"q":{"dtype":7,"shape":[1,1],"data_offsets":[0,4]}})", 4)), HasSubstr("has dtype '7'"));
}
TEST(BadSafetensors, ShapesDiffer) {
  const std::string header = "{" + entry("q", "F32", "[2,3]", 0, 24) + "," + entry("k", "F32", "[3,2]", 24, 48) + "," +
                             entry("v", "F32", "[2,3]", 48, 72) + "}";
  EXPECT_THAT(refusal(safetensors(header, 72)), HasSubstr("tensor 'k' has shape [3, 2], expected batch and d like q's [2, 3]"));
}
TEST(BadSafetensors, OneDimension) {
  const std::string header = "{" + entry("q", "F32", "[6]", 0, 24) + "," + entry("k", "F32", "[6]", 24, 48) + "," +
                             entry("v", "F32", "[6]", 48, 72) + "}";
  EXPECT_THAT(refusal(safetensors(header, 72)), HasSubstr("has shape [6], expected (n, d)"));
}
TEST(BadSafetensors, NoQ) {
  EXPECT_THAT(refusal(safetensors("{" + entry("x", "F32", "[2,3]", 0, 24) + "}", 24)),
              HasSubstr("has no three tensors called q, k, v"));
}
TEST(BadSafetensors, MetadataNoTexts) {
  EXPECT_THAT(refusal(safetensors(good_header("\"__metadata__\":{\"a\":1},"), 72)), HasSubstr("__metadata__ has '1'"));
  EXPECT_THAT(refusal(safetensors(good_header("\"__metadata__\":null,"), 72)), HasSubstr("__metadata__ has 'null'"));
}
TEST(BadSafetensors, TooLongForUs) {
  const std::string shape = "[1048577,1]";
  const std::string header = "{" + entry("q", "F16", shape, 0, 2097154) + "," + entry("k", "F16", shape, 2097154, 4194308) +
                             "," + entry("v", "F16", shape, 4194308, 6291462) + "}";
  EXPECT_THAT(refusal(safetensors(header, 6291462)), HasSubstr("expected a number of tokens from 1 to 1048576"));
}
TEST(BadSafetensors, IndexOutOfRange) {
  EXPECT_THAT(refusal(safetensors(good_header(), 72), 1), HasSubstr("head index is 1, expected 0 to 0"));
}
TEST(BadSafetensors, NegativeIndex) {
  Input input = parse_input(example);
  input.index = -1;
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { load_tensors(input); }), HasSubstr("head index is -1"));
}
TEST(BadSafetensors, UnknownKindOfFile) {
  Input input = parse_input(example);
  input.file = "x.dat";
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { load_tensors(input); }), HasSubstr("'x.dat'"));
}

}  // namespace
}  // namespace attoscope
