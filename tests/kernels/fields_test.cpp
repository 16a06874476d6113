/// Fields of the heat map: values by their formulas, and sampling that hides no cell.
#include "kernels/deviation/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/arithmetic/enum_array.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope::fields_test {
namespace {

using namespace testing;  // attoscope::testing

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float outside = -12345;

/// Sort key: NaN above infinity above numbers, then by magnitude.
std::pair<int, float> weight(float x) {
  if (std::isnan(x)) return {2, 0};
  return std::isinf(x) ? std::pair{1, 0.0f} : std::pair{0, std::fabs(x)};
}

/// Range of pixel `p` of `pixels` over [from, to); `heaviest`: the largest weight of the cells that it touches, or {-1, 0}.
struct Span {
  double from, to;
  bool touches(int cell) const { return cell < to - 1e-9 && cell + 1 > from + 1e-9; }
};
Span pixel_span(double from, double to, int p, int pixels) {
  const double step = (to - from) / pixels;
  return {from + p * step, from + (p + 1) * step};
}

std::pair<int, float> heaviest(const std::vector<float>& values, int rows, int cols, Span r, Span c) {
  std::pair<int, float> best{-1, 0};
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (r.touches(i) && c.touches(j)) best = std::max(best, weight(values[static_cast<std::size_t>(i * cols + j)]));
  return best;
}

std::pair<int, float> shown(float pixel) { return pixel == outside ? std::pair{-1, 0.0f} : weight(pixel); }

/// A matrix with a few outliers, NaN and infinities among small numbers.
std::vector<float> spotted(Dice& dice, int rows, int cols) {
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (float& x : values) {
    x = static_cast<float>(dice.normal());
    if (dice.one_in(40)) x = dice.any(std::array{nan, infinity, -infinity, 1000.0f, -2000.0f});
  }
  return values;
}

void expect_nothing_hidden(const std::vector<float>& values, int rows, int cols, const CellRect& rect, int width, int height) {
  const std::vector<float> picture = sampled(values, rows, cols, rect, width, height, outside);
  ASSERT_EQ(picture.size(), static_cast<std::size_t>(width * height));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      ASSERT_EQ(
          shown(picture[static_cast<std::size_t>(y * width + x)]),
          heaviest(values, rows, cols, pixel_span(rect.row0, rect.row1, y, height), pixel_span(rect.col0, rect.col1, x, width)))
          << "pixel (" << x << ", " << y << ") of " << width << " x " << height << ", cells " << rows << " x " << cols
          << " from (" << rect.row0 << ", " << rect.col0 << ") to (" << rect.row1 << ", " << rect.col1 << ")";
}

TEST(Sampled, ShowsTheHeaviestCellUnderEveryPixelAtOddSizes) {
  Dice dice(1);
  for (int i = 0; i < 300; ++i) {
    const int rows = dice.between(1, 65), cols = dice.between(1, 33);
    expect_nothing_hidden(spotted(dice, rows, cols), rows, cols, {0, 0, double(rows), double(cols)}, dice.between(1, 40),
                          dice.between(1, 40));
    if (HasFatalFailure()) return;
  }
}

TEST(Sampled, FollowsAFractionalViewThatReachesBeyondTheMatrix) {
  Dice dice(2);
  for (int i = 0; i < 300; ++i) {
    const int rows = dice.between(1, 65), cols = dice.between(1, 33);
    const double row0 = dice.between(-80, 8 * rows) / 8.0, col0 = dice.between(-80, 8 * cols) / 8.0;
    const CellRect rect{row0, col0, row0 + dice.between(1, 700) / 8.0, col0 + dice.between(1, 400) / 8.0};
    expect_nothing_hidden(spotted(dice, rows, cols), rows, cols, rect, 1 << dice.between(0, 5), 1 << dice.between(0, 5));
    if (HasFatalFailure()) return;
  }
}

TEST(Sampled, FollowsAnyZoomAtAnySize) {
  Dice dice(4);
  for (int i = 0; i < 300; ++i) {
    const int rows = dice.between(1, 97), cols = dice.between(1, 53);
    const double height = rows * (0.01 + dice.unit()), width = cols * (0.01 + dice.unit());
    const double row0 = dice.unit() * rows, col0 = dice.unit() * cols;
    expect_nothing_hidden(spotted(dice, rows, cols), rows, cols, {row0, col0, row0 + height, col0 + width}, dice.between(1, 71),
                          dice.between(1, 71));
    if (HasFatalFailure()) return;
  }
}

TEST(Sampled, KeepsOneOutlierOfATallMatrixAtEveryZoom) {
  constexpr int rows = 16384, cols = 64;
  std::vector<float> values(rows * cols, 1e-3f);
  values[12345 * cols + 17] = -7;
  for (const int height : {1, 3, 100, 777, 1080, 2160}) {
    const std::vector<float> picture = sampled(values, rows, cols, {0, 0, rows, cols}, 200, height, outside);
    EXPECT_EQ(*std::ranges::min_element(picture), -7) << height;
  }
}

TEST(Sampled, KeepsTheSignAndPutsNanBeforeInfinityBeforeNumbers) {
  const CellRect all{0, 0, 2, 2};
  EXPECT_EQ(sampled({1, -3, 2, 0}, 2, 2, all, 1, 1, outside)[0], -3);
  EXPECT_EQ(sampled({1, std::numeric_limits<float>::max(), -infinity, 0}, 2, 2, all, 1, 1, outside)[0], -infinity);
  EXPECT_TRUE(std::isnan(sampled({1, -infinity, nan, 0}, 2, 2, all, 1, 1, outside)[0]));
}

TEST(Sampled, WithOnePixelPerCellIsTheMatrix) {
  Dice dice(3);
  const std::vector<float> values = spotted(dice, 37, 21), picture = sampled(values, 37, 21, {0, 0, 37, 21}, 21, 37, outside);
  EXPECT_TRUE(std::ranges::equal(values, picture, same<float>));
}

TEST(Sampled, SurvivesAnEmptyMatrixAndAnEmptyView) {
  EXPECT_EQ(sampled({}, 0, 0, {0, 0, 0, 0}, 3, 2, outside), std::vector<float>(6, outside));
  EXPECT_EQ(sampled({1}, 1, 1, {5, 5, 6, 6}, 2, 2, outside), std::vector<float>(4, outside));
}

Result small_result() { return compute(sized_experiment(37, 5)); }

/// Value of a field at a cell, from the matrices by its formula.
double by_formula(const Result& r, Field field, int row, int col) {
  const double golden = (*r.golden)(row, col), a = r.a(row, col), b = r.b(row, col);
  const double unit = ulp(r.experiment.format, std::max(std::fabs(golden), 0.01 * r.golden_rms));
  const auto stored = [&](const std::optional<ErrorParts>& parts, double otherwise) {
    return parts ? (*parts->stored_golden)(row, col) : otherwise;
  };
  return EnumArray<Field, double>{golden,
                                  a,
                                  b,
                                  a - golden,
                                  b - golden,
                                  std::fabs(a - golden),
                                  std::fabs(b - golden),
                                  (a - golden) / unit,
                                  (b - golden) / unit,
                                  (a - golden) / std::fabs(golden),
                                  (b - golden) / std::fabs(golden),
                                  a - b,
                                  stored(r.a_parts, golden) - golden,
                                  a - stored(r.a_parts, golden),
                                  stored(r.b_parts, golden) - golden,
                                  b - stored(r.b_parts, golden),
                                  r.shares ? (*r.shares)(row, col) : nan}[field];
}

/// small_result() if a stores K and V with scales.
Result stored_result() {
  Experiment e = small_result().experiment;
  e.a.algorithm = Algorithm::flash2;
  e.a.scaling.K = parse_scaling("int8/token");
  e.a.scaling.V = parse_scaling("e4m3/channel");
  return compute(e);
}

void expect_formulas(const Result& r) {
  for (int f = 0; f < field_count; ++f) {
    const auto field = static_cast<Field>(f);
    const std::vector<float> values = field_values(r, field);
    ASSERT_EQ(values.size(), r.a.values.size());
    for (int row = 0; row < r.a.rows; ++row)
      for (int col = 0; col < r.a.cols; ++col) {
        const double expected = by_formula(r, field, row, col);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(field_value(r, field, row, col)) &&
                      std::isnan(values[static_cast<std::size_t>(row * r.a.cols + col)]));
          continue;
        }
        ASSERT_NEAR(field_value(r, field, row, col), expected, 1e-12 * std::fabs(expected)) << text(field).name;
        ASSERT_EQ(values[static_cast<std::size_t>(row * r.a.cols + col)], static_cast<float>(field_value(r, field, row, col)));
      }
  }
}

TEST(Fields, FollowTheirFormulas) {
  expect_formulas(small_result());
  expect_formulas(stored_result());
  Result judged = small_result();
  EXPECT_FALSE(has_field(judged, Field::tolerance));
  judged.shares = judged.golden;
  EXPECT_TRUE(has_field(judged, Field::tolerance));
  expect_formulas(judged);
}

TEST(Fields, OfStorageAndArithmeticAddUpToTheError) {
  const Result r = stored_result();
  EXPECT_TRUE(has_field(r, Field::a_storage) && has_field(r, Field::a_arithmetic));
  EXPECT_FALSE(has_field(r, Field::b_storage) || has_field(r, Field::b_arithmetic));
  double storage = 0;
  for (int row = 0; row < r.a.rows; ++row)
    for (int col = 0; col < r.a.cols; ++col) {
      const double of_storage = field_value(r, Field::a_storage, row, col), error = field_value(r, Field::a_error, row, col);
      EXPECT_NEAR(of_storage + field_value(r, Field::a_arithmetic, row, col), error, 1e-15);
      EXPECT_EQ(field_value(r, Field::b_storage, row, col), 0);
      EXPECT_EQ(field_value(r, Field::b_arithmetic, row, col), field_value(r, Field::b_error, row, col));
      storage = std::max(storage, std::fabs(of_storage));
    }
  EXPECT_EQ(storage, r.a_parts->storage.max_abs);
  EXPECT_GT(storage, 0);
}

TEST(Fields, KeepNanAndInfinity) {
  Result r = small_result();
  r.a.values[0] = NAN;
  r.a.values[1] = HUGE_VAL;
  for (const Field f : {Field::a, Field::a_error, Field::a_abs, Field::a_ulps, Field::a_relative, Field::a_minus_b}) {
    const std::vector<float> values = field_values(r, f);
    EXPECT_TRUE(std::isnan(values[0])) << text(f).name;
    EXPECT_EQ(values[1], infinity) << text(f).name;
  }
}

TEST(Fields, HaveTheirOwnNamesAndSaySomething) {
  std::set<std::string_view> names;
  for (const FieldText& t : field_texts) {
    names.insert(t.name);
    EXPECT_FALSE(t.title.empty()) << t.name;
    EXPECT_FALSE(t.what.empty()) << t.name;
  }
  EXPECT_EQ(names.size(), std::size_t{field_count});
  EXPECT_EQ(text(Field::a_error).name, "a_error");
  EXPECT_FALSE(text(Field::a_abs).is_signed);
  EXPECT_TRUE(text(Field::a_error).is_signed);
}

}  // namespace
}  // namespace attoscope::fields_test
