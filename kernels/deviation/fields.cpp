#include "kernels/deviation/fields.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "kernels/deviation/meter.h"
#include "kernels/deviation/sample.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

FieldRule rule_of(const Result& result, Field field) { return {field, result.experiment.format, ulp_floor(result.golden_rms)}; }

const double* stored_golden(const std::optional<ErrorParts>& parts) {
  return parts ? parts->stored_golden->values.data() : nullptr;
}

FieldMatrices matrices_of(const Result& result) {
  return {result.golden->values.data(),  result.a.values.data(),        result.b.values.data(),
          stored_golden(result.a_parts), stored_golden(result.b_parts), result.shares ? result.shares->values.data() : nullptr};
}

/// Values of one field, a compile-time constant: the loop over elements has no branch on it.
template <Field field>
void take_values(const FieldRule& rule, const FieldMatrices& matrices, std::span<float> values) {
  const FieldRule known{field, rule.format, rule.ulp_floor};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = shown_value(field_value(known, matrices, static_cast<std::ptrdiff_t>(i)));
}

template <std::size_t... fields>
void take_values(const FieldRule& rule, const FieldMatrices& matrices, std::span<float> values,
                 std::index_sequence<fields...>) {
  const auto asked = static_cast<std::size_t>(rule.field);
  ((asked == fields ? take_values<static_cast<Field>(fields)>(rule, matrices, values) : void()), ...);
}

/// Adjacent pixels [first, end) of a row that cover the same cells.
struct PixelRun {
  int first = 0, end = 0;
  CellSpan cells;
};

std::vector<PixelRun> pixel_runs(int width, double from, double to, int cols) {
  std::vector<PixelRun> runs;
  for (int x = 0; x < width; ++x) {
    const CellSpan cells = cells_under(x, width, from, to, cols);
    if (runs.empty() || runs.back().cells != cells) runs.push_back({x, x, cells});
    runs.back().end = x + 1;
  }
  return runs;
}

/// Computes the largest rank of each column over the rows.
void pool_rows(const std::vector<float>& values, int cols, CellSpan rows, std::vector<std::uint32_t>& pooled) {
  std::ranges::fill(pooled, least_rank);
  for (int r = rows.first; r < rows.end; ++r) {
    const float* const row = values.data() + static_cast<std::ptrdiff_t>(r) * cols;
    for (int c = 0; c < cols; ++c) {
      std::uint32_t& best = pooled[static_cast<std::size_t>(c)];
      best = std::max(best, rank_of(row[c]));
    }
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
    {"a_ulps", "a - golden in ulps",
     "signed error of a in ulps of the main format at |golden|, no finer than at 1 % of its RMS", true},
    {"b_ulps", "b - golden in ulps",
     "signed error of b in ulps of the main format at |golden|, no finer than at 1 % of its RMS", true},
    {"a_relative", "(a - golden) / golden", "signed error of a relative to the golden value", true},
    {"b_relative", "(b - golden) / golden", "signed error of b relative to the golden value", true},
    {"a_minus_b", "a - b", "difference of the two methods", true},
    {"a_storage", "storage of a",
     "effect of storage alone on a: golden on the numbers that its stored Q, K and V represent, minus golden", true},
    {"a_arithmetic", "arithmetic of a", "further effect of a's arithmetic: a minus golden on the numbers that it stored", true},
    {"b_storage", "storage of b",
     "effect of storage alone on b: golden on the numbers that its stored Q, K and V represent, minus golden", true},
    {"b_arithmetic", "arithmetic of b", "further effect of b's arithmetic: b minus golden on the numbers that it stored", true},
    {"tolerance", "error / tolerance",
     "error of each element of a loaded output divided by the error that correct kernels may have there: wrong above 1", false},
}};

bool has_field(const Result& result, Field field) {
  if (!is_extra(field)) return true;
  if (field == Field::tolerance) return result.shares != nullptr;
  const bool of_a = field == Field::a_storage || field == Field::a_arithmetic;
  return (of_a ? result.a_parts : result.b_parts).has_value();
}

double field_value(const Result& result, Field field, int row, int col) {
  return field_value(rule_of(result, field), matrices_of(result), static_cast<std::ptrdiff_t>(row) * result.golden->cols + col);
}

std::vector<float> field_values(const Result& result, Field field) {
  std::vector<float> values(result.golden->values.size());
  take_values(rule_of(result, field), matrices_of(result), values, std::make_index_sequence<field_count>{});
  return values;
}

std::vector<float> sampled(const std::vector<float>& values, int rows, int cols, const CellRect& rect, int width, int height,
                           float outside) {
  std::vector<float> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), outside);
  const std::vector<PixelRun> runs = pixel_runs(width, rect.col0, rect.col1, cols);
  std::vector<std::uint32_t> pooled(static_cast<std::size_t>(cols));
  CellSpan last{-1, -1};
  const float* made = nullptr;  // the row of pixels that shows the cells `last`
  for (int y = 0; y < height; ++y) {
    const CellSpan under = cells_under(y, height, rect.row0, rect.row1, rows);
    if (under.first >= under.end) continue;
    float* const out = pixels.data() + static_cast<std::ptrdiff_t>(y) * width;
    if (under == last) {
      std::copy_n(made, width, out);
      continue;
    }
    pool_rows(values, cols, under, pooled);
    last = under;
    made = out;
    for (const auto& [first, end, cells] : runs) {
      if (cells.first >= cells.end) continue;
      const auto most = std::max_element(pooled.begin() + cells.first, pooled.begin() + cells.end);
      std::fill(out + first, out + end, value_of_rank(*most));
    }
  }
  return pixels;
}

}  // namespace attoscope
