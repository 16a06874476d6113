#include "kernels/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attoscope {
namespace {

double floored_ulps(const Result& r, double difference, double reference) {
  return difference / ulp(r.experiment.format, std::isfinite(reference) ? std::max(std::fabs(reference), 0.01 * r.golden_rms) : 0);
}

/// Whether a pixel prefers x to y: NaN before infinity before the larger magnitude.
bool outranks(float x, float y) { return y == y && (x != x || std::fabs(x) > std::fabs(y)); }

/// The cells [first, end) under pixel `p` of `pixels` over [from, to) in cells, clipped to 0 .. cells.
struct Span {
  int first = 0, end = 0;
};
Span cells_under(int p, int pixels, double from, double to, int cells) {
  const double step = (to - from) / pixels, low = from + p * step, high = from + (p + 1) * step;
  const double first = std::floor(low + 1e-9), end = std::max(first + 1, std::ceil(high - 1e-9));
  return {static_cast<int>(std::clamp(first, 0.0, double(cells))), static_cast<int>(std::clamp(end, 0.0, double(cells)))};
}

/// The row of preferred values over rows [rows.first, rows.end).
void pool_rows(const std::vector<float>& values, int cols, Span rows, std::vector<float>& pooled) {
  const auto row = [&](int r) { return values.begin() + static_cast<std::ptrdiff_t>(r) * cols; };
  std::copy_n(row(rows.first), cols, pooled.begin());
  for (int r = rows.first + 1; r < rows.end; ++r)
    for (int c = 0; c < cols; ++c) {
      const float v = row(r)[c];
      if (outranks(v, pooled[static_cast<std::size_t>(c)])) pooled[static_cast<std::size_t>(c)] = v;
    }
}

}  // namespace

const std::array<FieldText, field_count> field_texts{{
    {"golden", "golden", "the true output: softmax(scale Q K^T) V in higher precision on the same rounded inputs", true},
    {"a", "a", "output of method a", true},
    {"b", "b", "output of method b", true},
    {"a_error", "a - golden", "signed error of a", true},
    {"b_error", "b - golden", "signed error of b", true},
    {"a_abs", "|a - golden|", "magnitude of a's error", false},
    {"b_abs", "|b - golden|", "magnitude of b's error", false},
    {"a_ulps", "a - golden in ulps", "signed error of a in ulps of the main format at |golden|, no finer than at 1 % of its RMS", true},
    {"b_ulps", "b - golden in ulps", "signed error of b in ulps of the main format at |golden|, no finer than at 1 % of its RMS", true},
    {"a_relative", "(a - golden) / golden", "signed error of a relative to the golden value", true},
    {"b_relative", "(b - golden) / golden", "signed error of b relative to the golden value", true},
    {"a_minus_b", "a - b", "difference of the two methods", true},
}};

double field_value(const Result& result, Field field, int row, int col) {
  const double g = (*result.golden)(row, col), a = result.a(row, col), b = result.b(row, col);
  switch (field) {
    case Field::golden: return g;
    case Field::a: return a;
    case Field::b: return b;
    case Field::a_error: return a - g;
    case Field::b_error: return b - g;
    case Field::a_abs: return std::fabs(a - g);
    case Field::b_abs: return std::fabs(b - g);
    case Field::a_ulps: return floored_ulps(result, a - g, g);
    case Field::b_ulps: return floored_ulps(result, b - g, g);
    case Field::a_relative: return a == g ? 0 : (a - g) / std::fabs(g);
    case Field::b_relative: return b == g ? 0 : (b - g) / std::fabs(g);
    case Field::a_minus_b: return a - b;
  }
  return 0;
}

std::vector<float> field_values(const Result& result, Field field) {
  const int rows = result.golden->rows, cols = result.golden->cols;
  std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  std::size_t i = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) values[i++] = static_cast<float>(field_value(result, field, r, c));
  return values;
}

std::vector<float> sampled(const std::vector<float>& values, int rows, int cols, const CellRect& rect, int width, int height,
                           float outside) {
  std::vector<float> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), outside);
  std::vector<Span> columns;
  for (int x = 0; x < width; ++x) columns.push_back(cells_under(x, width, rect.col0, rect.col1, cols));
  std::vector<float> pooled(static_cast<std::size_t>(cols));
  Span last{-1, -1};
  for (int y = 0; y < height; ++y) {
    const Span under = cells_under(y, height, rect.row0, rect.row1, rows);
    if (under.first >= under.end) continue;
    if (under.first != last.first || under.end != last.end) pool_rows(values, cols, under, pooled);
    last = under;
    float* out = pixels.data() + static_cast<std::ptrdiff_t>(y) * width;
    for (int x = 0; x < width; ++x) {
      const Span c = columns[static_cast<std::size_t>(x)];
      if (c.first >= c.end) continue;
      out[x] = *std::max_element(pooled.begin() + c.first, pooled.begin() + c.end, [](float p, float q) { return outranks(q, p); });
    }
  }
  return pixels;
}

}  // namespace attoscope
