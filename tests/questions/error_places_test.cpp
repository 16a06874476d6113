// Places of errors, in words.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/slips/slips.h"

namespace attoscope {
namespace {

std::vector<bool> marks(int n, const std::function<bool(int)>& is_bad) {
  std::vector<bool> bad;
  for (int i = 0; i < n; ++i) bad.push_back(is_bad(i));
  return bad;
}
std::string places(
    int n, const std::function<bool(int)>& row, const std::function<bool(int)>& column = [](int) { return true; }) {
  return error_places(marks(n, row), marks(64, column));
}

TEST(ErrorPlaces, AreNamed) {
  EXPECT_EQ(places(1000, [](int) { return false; }), "");
  EXPECT_EQ(places(1000, [](int) { return true; }), "everywhere");
  EXPECT_EQ(places(1000, [](int i) { return i >= 960; }), "in rows 960 to 999");
  EXPECT_EQ(places(1000, [](int i) { return i == 7; }), "in row 7");
  EXPECT_EQ(places(1000, [](int i) { return i % 64 == 3; }), "in every 64th row from row 3 on");
  EXPECT_EQ(places(1000, [](int i) { return i % 32 == 1; }), "in every 32nd row from row 1 on");
  EXPECT_EQ(places(1024, [](int i) { return i / 64 == 3 || i / 64 == 9; }), "in whole tiles of 64 rows: 2 of 16");
  EXPECT_EQ(places(1000, [](int i) { return i == 7 || i == 9 || i == 500; }), "in 3 rows, the first 7");
  EXPECT_EQ(places(1000, [](int) { return true; }, [](int c) { return c >= 32; }), "in columns 32 to 63");
  EXPECT_EQ(places(1000, [](int) { return true; }, [](int c) { return c % 8 == 1; }), "in every 8th column from column 1 on");
  EXPECT_EQ(places(1000, [](int) { return true; }, [](int c) { return c < 3 || c == 60; }), "in 4 of 64 columns");
}

}  // namespace
}  // namespace attoscope
