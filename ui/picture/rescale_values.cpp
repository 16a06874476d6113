
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/picture/heatmap_view.h"

namespace attoscope::ui {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

int held_rows(const RescaleMap& map) { return map.tiles > 0 ? static_cast<int>(map.m.size()) / map.tiles : 0; }

double held_m(const RescaleMap& map, int tile, int row) {
  return static_cast<double>(
      map.m[static_cast<std::size_t>(tile) * static_cast<std::size_t>(held_rows(map)) + static_cast<std::size_t>(row)]);
}

/// True if a run of split_kv begins at this tile: nothing is rescaled there.
bool begins_run(const Experiment& e, int tiles, int tile) {
  if (e.a.algorithm != Algorithm::split_kv) return tile == 0;
  return tile % ((tiles - 1) / std::max(1, e.a.splits) + 1) == 0;
}

void set_axes(RescaleState& m, const Experiment& e, int tiles, int rows, int computed, int row_step) {
  m.rows = rows;
  m.cols = m.across = tiles;
  m.n = e.problem.n;
  m.per_row = static_cast<double>(computed) / std::max(1, e.problem.n) / std::max(1, row_step);
}

void take_moves(RescaleState& m, const Result& r) {
  const int rows = held_rows(r.rescale_map);
  set_axes(m, r.experiment, r.rescale_map.tiles, rows, static_cast<int>(r.rows.size()), r.rescale_map.row_step);
  m.values.assign(static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.cols), 0);
  for (int row = 0; row < m.rows; ++row)
    for (int tile = 0; tile < m.cols; ++tile) {
      const RunningMax at = running_max(r, tile, row);
      if (!at.moved()) continue;
      const double by = at.after - at.before;
      m.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(m.cols) + static_cast<std::size_t>(tile)] =
          m.show == RescaleShow::moved ? 1.0f : static_cast<float>(by);
    }
}

void take_counts(RescaleState& m, const Clipping& c) {
  const auto& counts = m.show == RescaleShow::saturated ? c.saturated : c.underflowed;
  const int rows = c.tiles > 0 ? static_cast<int>(counts.size()) / c.tiles : 0;
  const Problem& p = c.experiment.problem;
  set_axes(m, c.experiment, c.tiles, rows, p.rows == 0 ? p.n : std::min(p.rows, p.n), c.row_step);
  m.values.resize(counts.size());
  for (int row = 0; row < rows; ++row)
    for (int tile = 0; tile < c.tiles; ++tile)
      m.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(c.tiles) + static_cast<std::size_t>(tile)] =
          counts[static_cast<std::size_t>(tile) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row)];
}

/// Pixels for which `holds` is true, as rectangles; adjacent equal columns are joined.
template <class Holds>
std::vector<CellRect> rectangles(const PixelImage& image, Holds holds) {
  std::vector<CellRect> found;
  const auto at = [&](int x, int y) {
    return holds(
        image.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)]);
  };
  const auto same_column = [&](int x, int other) {
    for (int y = 0; y < image.height; ++y)
      if (at(x, y) != at(other, y)) return false;
    return true;
  };
  for (int x = 0, end = 0; x < image.width; x = end) {
    for (end = x + 1; end < image.width && same_column(x, end);) ++end;
    for (int y = 0; y < image.height; ++y) {
      const int top = y;
      while (y < image.height && at(x, y)) ++y;
      if (y > top)
        found.push_back({static_cast<double>(top), static_cast<double>(x), static_cast<double>(y), static_cast<double>(end)});
    }
  }
  return found;
}

}  // namespace

bool RunningMax::moved() const {
  return before > -std::numeric_limits<double>::infinity() && after != before && !std::isnan(after);
}

RunningMax running_max(const Result& r, int tile, int held_row) {
  const RescaleMap& map = r.rescale_map;
  const double after = held_m(map, tile, held_row);
  return {tile == 0 || begins_run(r.experiment, map.tiles, tile) ? none : held_m(map, tile - 1, held_row), after};
}

bool same_counts(const Experiment& x, const Experiment& y) {
  if (x.problem.rows != 0) return x == y;
  Experiment same_row = x;
  same_row.problem.traced_row = y.problem.traced_row;
  return same_row == y;
}

ClippedCounts clipped_here(const Clipping* c, const Experiment& experiment, int tile, int row) {
  if (c == nullptr || c->tiles <= tile || !same_counts(c->experiment, experiment)) return {};
  const std::vector<int> rows = computed_rows(experiment.problem);
  const auto at = std::lower_bound(rows.begin(), rows.end(), row);
  const auto index = at - rows.begin();
  if (at == rows.end() || *at != row || index % c->row_step != 0) return {};
  const std::size_t held = c->saturated.size() / static_cast<std::size_t>(c->tiles);
  const std::size_t cell = static_cast<std::size_t>(tile) * held + static_cast<std::size_t>(index / c->row_step);
  return {c->saturated[cell], c->underflowed[cell]};
}

int map_row(const RescaleState& m, int matrix_row) {
  if (shows_counts(m.show)) {
    const std::vector<int> rows = computed_rows(m.clipping->experiment.problem);
    return rows[std::min(rows.size() - 1,
                         static_cast<std::size_t>(matrix_row) * static_cast<std::size_t>(m.clipping->row_step))];
  }
  const auto& rows = m.result->rows;
  return rows[std::min(rows.size() - 1,
                       static_cast<std::size_t>(matrix_row) * static_cast<std::size_t>(m.result->rescale_map.row_step))];
}

void refresh_map(RescaleState& m, const std::shared_ptr<const Result>& result, const std::shared_ptr<const Clipping>& clipping,
                 RescaleShow show) {
  const bool counts = shows_counts(show);
  if (m.show == show && (counts ? m.clipping == clipping : m.result == result) && !m.values.empty()) {
    m.result = result;
    m.clipping = clipping;
    return;
  }
  const int earlier_row = m.earlier_traced_row, earlier_tile = m.earlier_scrubbed_tile;
  m = RescaleState{};
  m.earlier_traced_row = earlier_row;
  m.earlier_scrubbed_tile = earlier_tile;
  m.result = result;
  m.clipping = clipping;
  m.show = show;
  if (counts && clipping) take_counts(m, *clipping);
  if (!counts && result) take_moves(m, *result);
  measure(m);
}

void take_marks(RescaleState& m) {
  m.marks = rectangles(m.image, [](float value) { return value == 1.0f; });
  for (float& value : m.image.pixels)
    if (value == 1.0f) value = 0;
}

void take_visible(RescaleState& m) {
  m.visible = rectangles(m.image, [](float value) { return value != PixelImage::nothing && value != PixelImage::masked; });
}

}  // namespace attoscope::ui
