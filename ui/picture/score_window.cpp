
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ui/picture/heatmap_view.h"

namespace attoscope::ui {

namespace {

/// A range of rows or keys.
struct Range {
  int first, count;
  int end() const { return first + count; }
};

Range shown_range(double from, double to, int n) {
  const int first = std::clamp(static_cast<int>(std::floor(from)), 0, n - 1);
  return {first, std::clamp(static_cast<int>(std::ceil(to)), first + 1, n) - first};
}

/// The range, longer by half its length at both ends.
Range with_room(Range r, int n) {
  const int first = std::max(0, r.first - r.count / 2);
  return {first, std::min(n, r.end() + r.count / 2) - first};
}

/// At most `most` of the range, around `middle`.
Range part_of(Range r, int most, int middle) {
  if (r.count <= most) return r;
  return {std::clamp(middle - most / 2, r.first, r.end() - most), most};
}

/// Number of rows computed within about a second; each row is a run over all keys.
int affordable_rows(const Problem& p) {
  constexpr std::int64_t steps = std::int64_t{1} << 29;
  return static_cast<int>(
      std::clamp<std::int64_t>(steps / (static_cast<std::int64_t>(key_count(p)) * p.d), 16, max_window_cells));
}

bool fits(Range rows, Range keys, const Problem& p) {
  return rows.count <= affordable_rows(p) && static_cast<std::int64_t>(rows.count) * keys.count <= max_window_cells;
}

bool within(const ScoreQuestion& outer, Range rows, Range keys) {
  return outer.first_row <= rows.first && rows.end() <= outer.first_row + outer.rows && outer.first_key <= keys.first &&
         keys.end() <= outer.first_key + outer.keys;
}

}  // namespace

Experiment scored(Experiment e) {
  e.problem.traced_row = e.problem.rows = 0;
  return e;
}

ScoreQuestion score_question(const Experiment& experiment, const CellRect& rect, int row, const ScoreQuestion* last) {
  const Experiment e = scored(experiment);
  const Problem& p = e.problem;
  Range rows = shown_range(rect.row0, rect.row1, p.n), keys = shown_range(rect.col0, rect.col1, key_count(p));
  if (fits(rows, keys, p)) {
    if (last != nullptr && within(*last, rows, keys) && last->experiment == e) return *last;
    const Range more_rows = with_room(rows, p.n), more_keys = with_room(keys, key_count(p));
    if (fits(more_rows, more_keys, p)) rows = more_rows, keys = more_keys;
    return {e, rows.first, rows.count, keys.first, keys.count};
  }
  const int most = std::min(affordable_rows(p), std::max(256, max_window_cells / keys.count));
  rows = part_of(rows, most, row);
  keys = part_of(keys, max_window_cells / rows.count, row);
  if (last != nullptr && within(*last, rows, keys) && last->experiment == e) return *last;
  return {e, rows.first, rows.count, keys.first, keys.count};
}

bool holds(const ScoreQuestion& window, const CellRect& rect) {
  const Problem& p = window.experiment.problem;
  return within(window, shown_range(rect.row0, rect.row1, p.n), shown_range(rect.col0, rect.col1, key_count(p)));
}

std::string window_remark(const ScoreQuestion& q, const CellRect& rect) {
  if (holds(q, rect)) return "";
  return fmt::format("only rows {} .. {}, keys {} .. {} are computed: click a row or zoom in for others", q.first_row,
                     q.first_row + q.rows - 1, q.first_key, q.first_key + q.keys - 1);
}

void clear_unseen(std::vector<float>& values, const ScoreQuestion& q) {
  const MaskView mask = mask_view(q.experiment.problem);
  for (int row = 0; row < q.rows; ++row) {
    const Keys keys = visible_keys(q.experiment.problem, q.first_row + row);
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row) * q.keys;
    std::fill(begin, begin + std::clamp(keys.first - q.first_key, 0, q.keys), 0.0f);
    std::fill(begin + std::clamp(keys.end - q.first_key, 0, q.keys), begin + q.keys, 0.0f);
    for (int i = 0; mask.terms != nullptr && i < q.keys; ++i)
      if (mask.drops(q.first_row + row, q.first_key + i)) begin[i] = 0;
  }
}

void refresh_scores(ScoreState& m, const std::shared_ptr<const ScoreWindow>& window, ScoreShow show) {
  if (m.window == window && m.show == show) return;
  const EarlierClick earlier = m.earlier;
  m = ScoreState{};
  m.earlier = earlier;
  m.window = window;
  m.show = show;
  if (!window) return;
  const ScoreQuestion& q = window->question;
  const Problem& p = q.experiment.problem;
  m.rows = q.rows;
  m.cols = q.keys;
  m.n = p.n;
  m.across = key_count(p);
  m.first_row = q.first_row;
  m.first_col = q.first_key;
  m.values = show == ScoreShow::S ? window->S : window->P;
  if (show == ScoreShow::P_error)
    for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] -= window->weight[i];
  clear_unseen(m.values, q);
  measure(m);
}

}  // namespace attoscope::ui
