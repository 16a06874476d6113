#include "ui/heatmap_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/numbers.h"

namespace attoscope {

double matrix_per_row(const HeatMemory& memory) { return memory.n > 0 ? static_cast<double>(memory.rows) / memory.n : 1; }

int matrix_row_at(const HeatMemory& memory, double row) {
  return std::clamp(static_cast<int>(row * matrix_per_row(memory)), 0, std::max(0, memory.rows - 1));
}

RowSpan row_span(const HeatMemory& memory, int matrix_row) {
  const double rows = 1 / matrix_per_row(memory);
  return {matrix_row * rows, (matrix_row + 1) * rows};
}

bool is_first_answer(const Result& result) {
  const Problem& p = result.experiment.problem;
  return static_cast<int>(result.rows.size()) < (p.rows == 0 ? p.n : std::min(p.rows, p.n));
}

CellRect seen(const CellRect& zoom, int rows, int cols) {
  const CellRect whole{0, 0, static_cast<double>(rows), static_cast<double>(cols)};
  if (zoom == CellRect{} || !(zoom.row1 > zoom.row0) || !(zoom.col1 > zoom.col0)) return whole;
  if (zoom.row0 >= rows || zoom.col0 >= cols || zoom.row1 <= 0 || zoom.col1 <= 0) return whole;
  return {std::max(0.0, zoom.row0), std::max(0.0, zoom.col0), std::min<double>(rows, zoom.row1),
          std::min<double>(cols, zoom.col1)};
}

namespace {

void scale_axis(double& low, double& high, double about, double factor, double least, double size) {
  const double length = std::clamp((high - low) * factor, std::min(least, size), size);
  const double t = (about - low) / (high - low);
  low = std::clamp(about - t * length, 0.0, size - length);
  high = low + length;
}

}  // namespace

CellRect zoomed(const CellRect& rect, double row, double col, double row_factor, double col_factor, int rows, int cols) {
  CellRect r = rect;
  scale_axis(r.row0, r.row1, row, row_factor, 4, rows);
  scale_axis(r.col0, r.col1, col, col_factor, 2, cols);
  return r;
}

CellRect panned(const CellRect& rect, double by_rows, double by_cols, int rows, int cols) {
  const double height = rect.row1 - rect.row0, width = rect.col1 - rect.col0;
  const double row = std::clamp(rect.row0 + by_rows, 0.0, rows - height),
               col = std::clamp(rect.col0 + by_cols, 0.0, cols - width);
  return {row, col, row + height, col + width};
}

CellRect stored(const CellRect& rect, int rows, int cols) {
  const double slack = 1e-6;
  const bool whole = rect.row0 <= slack && rect.col0 <= slack && rect.row1 >= rows - slack && rect.col1 >= cols - slack;
  return whole ? CellRect{} : rect;
}

bool refresh_values(HeatMemory& memory, const std::shared_ptr<const Result>& result, Field field) {
  if (memory.result == result && memory.field == field) return false;
  memory.result = result;
  memory.field = field;
  memory.values = result ? field_values(*result, field) : std::vector<float>{};
  memory.rows = result ? result->a.rows : 0;
  memory.cols = result ? result->a.cols : 0;
  memory.n = result ? result->experiment.problem.n : 0;
  memory.row_worst.assign(static_cast<std::size_t>(memory.rows), 0);
  memory.largest = 0;
  memory.has_nan = memory.has_infinity = memory.has_minus_infinity = false;
  const float* value = memory.values.data();
  for (float& worst : memory.row_worst) {
    bool finite = true;
    for (int c = 0; c < memory.cols; ++c, ++value) {
      const float magnitude = std::abs(*value);
      if (magnitude <= std::numeric_limits<float>::max()) {
        worst = std::max(worst, magnitude);
        continue;
      }
      finite = false;
      memory.has_nan |= std::isnan(*value);
      memory.has_infinity |= *value > 0;
      memory.has_minus_infinity |= *value < 0;
    }
    memory.largest = std::max(memory.largest, worst);
    if (!finite) worst = std::numeric_limits<float>::infinity();
  }
  memory.image.width = 0;
  return true;
}

void refresh_image(HeatMemory& memory, const CellRect& rect, int width, int height) {
  if (memory.image.width == width && memory.image.height == height && memory.rect == rect) return;
  memory.rect = rect;
  memory.image.width = width;
  memory.image.height = height;
  const double scale = matrix_per_row(memory);
  const CellRect cells{rect.row0 * scale, rect.col0, rect.row1 * scale, rect.col1};
  memory.image.source = {&memory.values, memory.rows, memory.cols, cells, memory.field, memory.result ? memory.result->on_device : nullptr};
  memory.image.pixels.clear();
  if (!memory.image.source.on_device)
    memory.image.pixels = sampled(memory.values, memory.rows, memory.cols, cells, width, height, PixelImage::nothing);
  ++memory.image.version;
}

int matrix_row(const Result& result, int row) {
  const auto at = std::lower_bound(result.rows.begin(), result.rows.end(), row);
  return at != result.rows.end() && *at == row ? static_cast<int>(at - result.rows.begin()) : -1;
}

double colour_range(const HeatMemory& memory, const View& view) {
  const double range = view.range_pinned ? view.range : rounded_up(memory.largest);
  return range > 0 && std::isfinite(range) ? range : 1;
}

Colouring colouring(const HeatMemory& memory, const View& view) {
  const auto range = static_cast<float>(std::clamp(colour_range(memory, view), 1e-37, 3e38));
  return {.diverging = text(memory.field).is_signed,
          .log = view.scale == ValueScale::log,
          .range = range,
          .knee = range / 300,
          .light = is_light(view.theme)};
}

}  // namespace attoscope
