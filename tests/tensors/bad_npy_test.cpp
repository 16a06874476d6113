// Every lie that a .npy file can tell: one sentence each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace testing;  // attoscope::testing: the files made by hand

TEST(BadNpy, Empty) { EXPECT_THAT(npy_refusal(""), HasSubstr("does not begin as a .npy file")); }
TEST(BadNpy, OtherMagic) {
  EXPECT_THAT(npy_refusal("PK\x03\x04 this is a zip file"), HasSubstr("does not begin as a .npy file"));
}
TEST(BadNpy, Version) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(2, 3)"), std::string(24, 0), 9)), HasSubstr("has version 9"));
}
TEST(BadNpy, HeaderBeyondTheFile) {
  const std::string good = npy(npy_header("<f4", "(2, 3)"), std::string(24, 0));
  EXPECT_THAT(npy_refusal(good.substr(0, 30)), HasSubstr("header length is"));
  EXPECT_THAT(npy_refusal(good.substr(0, 11)), HasSubstr("header length is"));
}
TEST(BadNpy, HeaderTooLong) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(2, 3)") + std::string(70000, ' '), "", 2)),
              HasSubstr("expected at most 65536"));
}
TEST(BadNpy, Truncated) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(2, 3)"), std::string(23, 0))),
              HasSubstr("holds 23 bytes of data, expected 24"));
}
TEST(BadNpy, DataLeftOver) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(2, 3)"), std::string(25, 0))),
              HasSubstr("holds 25 bytes of data, expected 24"));
}
TEST(BadNpy, OtherTypes) {
  for (const char* const descr : {"|O", "<i4", "<f16", "f4", "|f4", "<c8", "", "<"}) {
    EXPECT_THAT(npy_refusal(npy(npy_header(descr, "(2, 3)"), std::string(24, 0))),
                AllOf(HasSubstr("descr is '" + std::string(descr) + "'"), HasSubstr("expected f2")));
  }
}
TEST(BadNpy, StructuredType) {
  EXPECT_THAT(npy_refusal(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", "")),
              HasSubstr("expected a text in quotes"));
}
TEST(BadNpy, NegativeSize) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(-2, 3)"), "")), HasSubstr("expected a size from 0 on"));
}
TEST(BadNpy, HugeSize) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(99999999999999999999, 3)"), "")), HasSubstr("expected a size"));
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(9999999999, 9999999999)"), "")), HasSubstr("expected one that fits a file"));
}
TEST(BadNpy, ZeroSize) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(0, 3)"), "")), HasSubstr("expected a number of tokens"));
}
TEST(BadNpy, Scalar) { EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "()"), std::string(4, 0))), HasSubstr("has shape []")); }
TEST(BadNpy, ShapesDiffer) {
  EXPECT_THAT(npy_refusal(npy(npy_header("<f4", "(3, 2)"), std::string(24, 0))), HasSubstr("expected batch and d like q's"));
}
TEST(BadNpy, HeaderWithoutKeys) { EXPECT_THAT(npy_refusal(npy("{}", "")), HasSubstr("lacks one of")); }
TEST(BadNpy, UnknownKey) { EXPECT_THAT(npy_refusal(npy("{'x': 1}", "")), HasSubstr("has the key 'x'")); }
TEST(BadNpy, KeyTwice) { EXPECT_THAT(npy_refusal(npy("{'descr': '<f4', 'descr': '<f4'}", "")), HasSubstr("'descr' twice")); }
TEST(BadNpy, BrokenHeaders) {
  for (const char* const header : {"", "{", "{'descr", "{'descr'", "{'descr':", "{'descr': '<f4'", "{'shape': (",
                                   "{'shape': (2", "{'shape': (2,,3)}", "{'fortran_order': Maybe}", "[]", "{} x"}) {
    EXPECT_THAT(npy_refusal(npy(header, "")), HasSubstr("expected")) << header;
  }
}

}  // namespace
}  // namespace attoscope
