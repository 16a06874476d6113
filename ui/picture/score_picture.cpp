// The scores: S and P of a window of rows and keys, and the error of P.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/experiment/rules.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

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

/// Reason why there are no scores; empty: there are.
std::string why_no_scores(const Session& session, const PanelInput& input) {
  switch (session.experiment.a.algorithm) {
    case Algorithm::hardware:
      return "Method a runs on the tensor cores: its scores never leave the chip. Choose an emulated algorithm to see S and P.";
    case Algorithm::loaded:
      return "Method a was loaded from a file, which has no scores. Choose an emulated algorithm to see S and P.";
    default:
      break;
  }
  if (!input.side.scores || input.side.scores->S.empty())
    return input.answer.result || input.answer.computing ? "computing the scores" : "no answer yet";
  return {};
}

/// A cell of the window; row -1: none.
struct ScoreCell {
  int row = -1, key = -1;  ///< indices in Q and K
  std::size_t at = 0;
};

ScoreCell cell_at(const ScoreWindow& w, const Point& point) {
  const ScoreQuestion& q = w.question;
  const int row = static_cast<int>(std::floor(point.row)), key = static_cast<int>(std::floor(point.col));
  if (row < q.first_row || row >= q.first_row + q.rows || key < q.first_key || key >= q.first_key + q.keys) return {};
  return {row, key, cell_index(row - q.first_row, q.keys, key - q.first_key)};
}

int tile_of(const Experiment& e, int key) {
  return (e.a.reverse_keys ? key_count(e.problem) - 1 - key : key) / tile_keys(e.a, key_count(e.problem));
}

std::vector<NoteLine> note(const ScoreWindow& w, const ScoreCell& cell) {
  const Experiment& e = w.question.experiment;
  std::vector<NoteLine> lines{
      {colours().secondary, fmt::format("row {}, key {}, tile {}", cell.row, cell.key, tile_of(e, cell.key))}};
  if (!sees_key(e.problem, cell.row, cell.key)) {
    lines.push_back({colours().faint, "masked: the row does not see the key"});
    return lines;
  }
  const double S = w.S[cell.at], P = w.P[cell.at], weight = w.weight[cell.at];
  lines.push_back({colours().a, fmt::format("S     {:>13}", std::isfinite(S) ? fmt::format("{:.6f}", S) : scientific(S))});
  lines.push_back({colours().a, fmt::format("P     {:>13}", scientific(P, 6))});
  lines.push_back({colours().golden, fmt::format("true  {:>13}", scientific(weight, 6))});
  lines.push_back({colours().text, fmt::format("error {:>13}", signed_scientific(P - weight, 4))});
  return lines;
}

/// Marks the keys that the traced row has consumed.
void draw_consumed_keys(const Places& p, const CellRect& rect, const PanelInput& input, const View& view) {
  const int index = input.answer.result ? scrubbed(*input.answer.result, view) : -1;
  if (index < 0) return;
  const Experiment& e = input.answer.result->experiment;
  const double keys = tile_keys(e.a, key_count(e.problem)), n = key_count(e.problem);
  const double first = input.answer.result->trace.tiles.front().tile * keys;
  const double end = std::min(n, (input.answer.result->trace.tiles[static_cast<std::size_t>(index)].tile + 1) * keys);
  draw_consumed(p, rect, e.a.reverse_keys ? n - end : first, e.a.reverse_keys ? n - first : end);
}

/// Row and column of a cell as curves, with the true values.
void draw_curves(const Places& p, const CellRect& rect, const ScoreState& m, const ScoreCell& cell, const Colouring& how) {
  const ScoreWindow& w = *m.window;
  const std::ptrdiff_t keys = w.question.keys, row = cell.row - w.question.first_row, col = cell.key - w.question.first_key;
  std::vector<ProfileCurve> along_row, along_col;
  const auto add = [&](Colour colour, const char* name, const std::vector<float>& x) {
    along_row.push_back({colour, name, {x.begin() + row * keys, x.begin() + (row + 1) * keys}});
    along_col.push_back({colour, name, {}});
    for (std::ptrdiff_t r = 0; r < w.question.rows; ++r)
      along_col.back().values.push_back(x[static_cast<std::size_t>(r * keys + col)]);
  };
  if (m.show == ScoreShow::P) add(colours().golden, "true weight", w.weight);
  add(colours().a, m.show == ScoreShow::S ? "S" : (m.show == ScoreShow::P ? "P" : "P - true weight"),
      m.show == ScoreShow::S ? w.S : (m.show == ScoreShow::P ? w.P : m.values));
  draw_along_row(p, rect, m, along_row, how, fmt::format("row {}", cell.row));
  draw_along_col(p, rect, m, along_col, how, fmt::format("key {}", cell.key));
}

std::string remark(const ScoreState& m, const Places& p, const CellRect& rect) {
  const std::string part = window_remark(m.window->question, rect);
  return part.empty() ? sampling_text(m, p, rect) : part;
}

/// Cell whose row and column are drawn: under the mouse, or the traced row's last key.
ScoreCell profiled(const ScoreWindow& w, const ScoreCell& under, int traced) {
  if (under.row >= 0) return under;
  const ScoreQuestion& q = w.question;
  const int row = std::clamp(traced, q.first_row, q.first_row + q.rows - 1);
  return {row, std::clamp(visible_keys(q.experiment.problem, row).end - 1, q.first_key, q.first_key + q.keys - 1), 0};
}

void draw_window(Session& session, const PanelInput& input, UiState& all, const Places& p, const CellRect& rect) {
  ScoreState& m = all.scores;
  const View& view = session.view;
  const ScoreWindow& w = *m.window;
  const Experiment& e = w.question.experiment;
  const auto at = hovered(p, rect);
  const ScoreCell cell = at ? cell_at(w, *at) : ScoreCell{};
  if (cell.row >= 0) trace_clicked(session, all, cell.row, tile_of(e, cell.key));
  const Colouring how = colouring(view.score_show != ScoreShow::P, colour_range(all, view), view);
  if (refresh_pixels(m, p, rect)) hide_unseen(m, e.problem, 1, false);
  if (input.paint) input.paint(ImGui::GetWindowDrawList(), p.min, p.max, m.image, how);
  const double block = tile_keys(e.a, key_count(e.problem)), n = key_count(e.problem);
  if (view.show_tiles) {
    draw_row_lines(p, rect, tile_rows(e.a, e.problem.n));
    draw_col_lines(p, rect, block, e.a.reverse_keys ? n - std::floor(n / block) * block : 0);
  }
  draw_consumed_keys(p, rect, input, view);
  draw_outline(p, is_stale(input) || e != scored(session.experiment));
  draw_row_axis(p, rect);
  draw_col_axis(p, rect);
  if (input.answer.result) draw_traced(p, rect, input.answer.result->trace.row);
  draw_colour_bar(p.bars[0], how, m);
  draw_range_lock(session.view, all, p, how);
  draw_caption(p, "key", remark(m, p, rect));
  if (view.profiles) draw_curves(p, rect, m, profiled(w, cell, traced_row(session.experiment.problem)), how);
  if (cell.row < 0) return;
  draw_crosshair(p, rect, {cell.row + 0.5, cell.key + 0.5});
  draw_cell_mark(p, rect, {static_cast<double>(cell.row), cell.row + 1.0}, cell.key, cell.key + 1);
  draw_note(p, ImGui::GetIO().MousePos, note(w, cell));
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
  const bool whole = fits(rows, keys, p);
  if (!whole) {
    rows = part_of(rows, std::min(affordable_rows(p), std::max(256, max_window_cells / keys.count)), row);
    keys = part_of(keys, max_window_cells / rows.count, row);
  }
  if (last != nullptr && within(*last, rows, keys) && last->experiment == e) return *last;
  const Range more_rows = with_room(rows, p.n), more_keys = with_room(keys, key_count(p));
  if (whole && fits(more_rows, more_keys, p)) {
    rows = more_rows;
    keys = more_keys;
  }
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
  m = ScoreState{};
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

void draw_scores(const Frame& frame, const Box& room) {
  ScoreState& m = frame.state.scores;
  View& view = frame.session.view;
  const Places p =
      places(room.min, room.max, {.side = view.profiles ? 96.0f : 0.0f, .below = view.profiles ? 88.0f : 0.0f, .bars = 1});
  const bool emulated = is_emulated(frame.session.experiment.a.algorithm);
  if (emulated) refresh_scores(m, frame.input.side.scores, view.score_show);
  const Problem& problem = frame.session.experiment.problem;
  const int n = m.n > 0 ? m.n : problem.n, keys = m.n > 0 ? m.across : key_count(problem);
  CellRect rect = seen(view.score_look.zoom, n, keys);
  const std::string why = why_no_scores(frame.session, frame.input);
  if (why.empty()) {
    const CellRect moved = navigated("picture", p, rect, n, keys);
    if (!(moved == rect)) view.score_look.zoom = stored(rect = moved, n, keys);
  }
  if (emulated && frame.input.answer.result && frame.input.answer.result->experiment == frame.session.experiment) {
    const ScoreQuestion question =
        score_question(frame.session.experiment, seen(view.score_look.zoom, problem.n, key_count(problem)), traced_row(problem),
                       frame.input.side.scores ? &frame.input.side.scores->question : nullptr);
    if (!frame.input.side.scores || !(frame.input.side.scores->question == question)) frame.requests.side.scores = question;
  }
  if (!why.empty()) return draw_instead(p, why);
  draw_window(frame.session, frame.input, frame.state, p, rect);
}

}  // namespace attoscope::ui
