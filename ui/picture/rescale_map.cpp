// The rescale map: moves of the running max, and P outside its format, by rows and tiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

int held_rows(const RescaleMap& map) { return map.tiles > 0 ? static_cast<int>(map.m.size()) / map.tiles : 0; }

double held_m(const RescaleMap& map, int tile, int row) {
  return static_cast<double>(map.m[cell_index(tile, held_rows(map), row)]);
}

/// True if a run of tiles begins at this tile: nothing is rescaled there.
bool begins_run(const Experiment& e, int tile) { return tile % tiles_of_a_run(e.a, key_count(e.problem)) == 0; }

void set_axes(RescaleState& m, const Experiment& e, int tiles, int rows, int computed, int row_step) {
  m.rows = rows;
  m.cols = m.across = tiles;
  m.n = e.problem.n;
  m.per_row = static_cast<double>(computed) / std::max(1, e.problem.n) / std::max(1, row_step);
}

/// m of a held row before and after a tile; NaN if no key is seen yet, or a run begins.
struct RunningMax {
  double before, after;
  bool moved() const { return before > -std::numeric_limits<double>::infinity() && after != before && !std::isnan(after); }
};
RunningMax running_max(const Result& r, int tile, int held_row) {
  const RescaleMap& map = r.rescale_map;
  return {begins_run(r.experiment, tile) ? none : held_m(map, tile - 1, held_row), held_m(map, tile, held_row)};
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
      m.values[cell_index(row, m.cols, tile)] = m.show == RescaleShow::moved ? 1.0f : static_cast<float>(by);
    }
}

void take_counts(RescaleState& m, const Clipping& c) {
  const auto& counts = m.show == RescaleShow::saturated ? c.saturated : c.underflowed;
  const int rows = c.tiles > 0 ? static_cast<int>(counts.size()) / c.tiles : 0;
  const Problem& p = c.experiment.problem;
  set_axes(m, c.experiment, c.tiles, rows, p.rows == 0 ? p.n : std::min(p.rows, p.n), c.row_step);
  m.values.resize(counts.size());
  for (int row = 0; row < rows; ++row)
    for (int tile = 0; tile < c.tiles; ++tile) m.values[cell_index(row, c.tiles, tile)] = counts[cell_index(tile, rows, row)];
}

/// Pixels for which `holds` is true, as rectangles; adjacent equal columns are joined.
template <class Holds>
std::vector<CellRect> rectangles(const PixelImage& image, Holds holds) {
  std::vector<CellRect> found;
  const auto at = [&](int x, int y) { return holds(image.pixels[cell_index(y, image.width, x)]); };
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

/// Counts of P in a tile and a row; -1 if the row was not counted or the counts are of another experiment.
struct ClippedCounts {
  int saturated = -1, underflowed = -1;
};
ClippedCounts clipped_here(const Clipping* c, const Experiment& experiment, int tile, int row) {
  if (c == nullptr || c->tiles <= tile || !answers(c->experiment, experiment)) return {};
  const std::vector<int> rows = computed_rows(experiment.problem);
  const auto at = std::lower_bound(rows.begin(), rows.end(), row);
  const auto index = at - rows.begin();
  if (at == rows.end() || *at != row || index % c->row_step != 0) return {};
  const std::size_t held = c->saturated.size() / static_cast<std::size_t>(c->tiles);
  const std::size_t cell = static_cast<std::size_t>(tile) * held + static_cast<std::size_t>(index / c->row_step);
  return {c->saturated[cell], c->underflowed[cell]};
}

/// Row of Q at a row of the map's matrix.
int map_row(const RescaleState& m, int matrix_row) {
  const bool counts = shows_counts(m.show);
  const std::vector<int> rows = counts ? computed_rows(m.clipping->experiment.problem) : m.result->rows;
  const int step = counts ? m.clipping->row_step : m.result->rescale_map.row_step;
  return rows[std::min(rows.size() - 1, static_cast<std::size_t>(matrix_row) * static_cast<std::size_t>(step))];
}

/// Reason why there is no map; empty: there is one.
std::string why_no_map(const PanelInput& input, const View& view) {
  if (!input.answer.result) return input.answer.computing ? "computing the first picture" : "no answer yet";
  const Experiment& e = input.answer.result->experiment;
  if (e.a.algorithm == Algorithm::hardware)
    return "Method a ran on the tensor cores: its running max stays inside the kernel, so there is nothing to map.";
  if (e.a.algorithm == Algorithm::loaded)
    return "Method a was loaded from a file: its running max is not known, so there is nothing to map.";
  if (shows_counts(view.rescale_show))
    return !input.side.clipping || input.side.clipping->tiles == 0 ? "counting P in every tile" : "";
  if (e.a.algorithm == Algorithm::three_pass)
    return "Three passes: the max is known before the first exp, so nothing is rescaled.";
  return input.answer.result->rescale_map.m.empty() ? "This answer has no record of its running max." : "";
}

/// Experiment of the map: the counts' or the answer's.
const Experiment& mapped(const RescaleState& m) { return shows_counts(m.show) ? m.clipping->experiment : m.result->experiment; }

std::vector<NoteLine> note(const RescaleState& m, const Clipping* clipping, int tile, int matrix_row) {
  const Experiment& e = mapped(m);
  const int row = map_row(m, matrix_row), keys = tile_keys(e.a, key_count(e.problem)), n = key_count(e.problem);
  const int first = tile * keys, last = std::min(n, first + keys) - 1;
  std::vector<NoteLine> lines{
      {colours().secondary, fmt::format("row {}, tile {}: keys {} .. {}", row, tile, e.a.reverse_keys ? n - 1 - last : first,
                                        e.a.reverse_keys ? n - 1 - first : last)}};
  if (!shows_counts(m.show)) {
    const RunningMax at = running_max(*m.result, tile, matrix_row);
    if (std::isnan(at.after)) {
      lines.push_back({colours().faint, "the row sees no key of this tile"});
      return lines;
    }
    if (std::isnan(at.before)) {
      lines.push_back({colours().text, fmt::format("m = {:.6g}, no m before it", at.after)});
    } else {
      lines.push_back({at.moved() ? colours().moved : colours().text, fmt::format("m {:.6g} → {:.6g}", at.before, at.after)});
      lines.push_back({at.moved() ? colours().moved : colours().secondary,
                       fmt::format("exp({:.4g}) = {:.4g} {}", at.before - at.after, std::exp(at.before - at.after),
                                   at.moved() ? "= α before rounding" : "")});
    }
  }
  const ClippedCounts here = clipped_here(clipping, e, tile, row);
  if (here.saturated >= 0) {
    lines.push_back({here.saturated > 0 ? colours().bad : colours().secondary, fmt::format("{} P saturated", here.saturated)});
    lines.push_back({colours().secondary, fmt::format("{} P underflowed", here.underflowed)});
  }
  return lines;
}

/// Colour of tiles where m did not move; differs from moved and masked.
Colour stayed_colour() { return mixed(colours().panel, colours().text, 0.22f); }

void paint_map(const PanelInput& input, RescaleState& m, const Places& p, const CellRect& rect, const Colouring& how) {
  const bool moved = m.show == RescaleShow::moved;
  if (refresh_pixels(m, p, rect)) {
    if (moved) {  // pixels in which m moved become marks
      m.marks = rectangles(m.image, [](float value) { return value == 1.0f; });
      std::ranges::replace(m.image.pixels, 1.0f, 0.0f);
    }
    hide_unseen(m, mapped(m).problem, tile_keys(mapped(m).a, key_count(mapped(m).problem)), mapped(m).a.reverse_keys);
    if (moved)
      m.visible = rectangles(m.image, [](float value) { return value != PixelImage::nothing && value != PixelImage::masked; });
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (input.paint) input.paint(list, p.min, p.max, m.image, how);
  if (!moved) return;
  const float x = p.width() / static_cast<float>(m.image.width), y = p.height() / static_cast<float>(m.image.height);
  const auto fill = [&](const std::vector<CellRect>& parts, Colour colour) {
    for (const CellRect& part : parts)
      list->AddRectFilled({p.min.x + static_cast<float>(part.col0) * x, p.min.y + static_cast<float>(part.row0) * y},
                          {p.min.x + static_cast<float>(part.col1) * x, p.min.y + static_cast<float>(part.row1) * y}, colour);
  };
  fill(m.visible, stayed_colour());
  fill(m.marks, colours().moved);
}

/// Legend of the map of moves.
void draw_legend(const Box& bar, bool masked, const Colouring& how) {
  const auto entry = [&](float y, Colour colour, const char* text) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({bar.min.x, y}, {bar.max.x, y + px(12)}, colour);
    list->AddRect({bar.min.x, y}, {bar.max.x, y + px(12)}, colours().line);
    draw_text({bar.max.x + px(8), y - px(1)}, Face::small, colours().secondary, text);
  };
  const float y = bar.min.y;
  entry(y, colours().moved, "moved");
  entry(y + px(24), stayed_colour(), "stayed");
  if (!masked) return;
  entry(y + px(48), colours().panel, "masked");
  draw_hatch({{bar.min.x, y + px(48)}, {bar.max.x, y + px(60)}}, how);
}

/// Marks the tiles that the traced row has consumed.
void draw_consumed_tiles(const Places& p, const CellRect& rect, const PanelInput& input, const View& view) {
  const int index = scrubbed(*input.answer.result, view);
  if (index < 0) return;
  const auto& tiles = input.answer.result->trace.tiles;
  draw_consumed(p, rect, tiles.front().tile, tiles[static_cast<std::size_t>(index)].tile + 1);
}

}  // namespace

std::string map_remark(const RescaleState& m, const Places& p, const CellRect& rect) {
  const double under = cells_a_pixel(m, p, rect);
  const bool marks = m.show == RescaleShow::moved && under > 1;
  return (m.rows < m.n ? fmt::format("{} of {} rows; ", m.rows, m.n) : "") +
         (marks ? fmt::format("a pixel shows a move in any of the {:.0f} cells under it", under) : sampling_text(m, p, rect));
}

void refresh_map(RescaleState& m, const std::shared_ptr<const Result>& result, const std::shared_ptr<const Clipping>& clipping,
                 RescaleShow show) {
  const bool counts = shows_counts(show);
  if (m.show == show && (counts ? m.clipping == clipping : m.result == result) && !m.values.empty()) {
    m.result = result;
    m.clipping = clipping;
    return;
  }
  m = RescaleState{};
  m.result = result;
  m.clipping = clipping;
  m.show = show;
  if (counts && clipping) take_counts(m, *clipping);
  if (!counts && result) take_moves(m, *result);
  measure(m);
}

void draw_rescale_map(const Frame& frame, const Box& room) {
  RescaleState& m = frame.state.rescale_map;
  View& view = frame.session.view;
  const Places p = places(room.min, room.max, {.side = 0, .below = 0, .bars = 1});
  const bool counts = shows_counts(view.rescale_show);
  const bool current = frame.input.side.clipping && answers(frame.input.side.clipping->experiment, frame.session.experiment);
  if (counts && !current && frame.input.answer.result && !frame.input.answer.computing &&
      is_emulated(frame.session.experiment.a.algorithm))
    frame.requests.side.clipping = frame.session.experiment;
  if (const std::string why = why_no_map(frame.input, view); !why.empty()) return draw_instead(p, why);
  refresh_map(m, frame.input.answer.result, frame.input.side.clipping, view.rescale_show);
  if (m.rows <= 0 || m.cols <= 0) return draw_instead(p, "no answer yet");
  CellRect rect = seen(view.rescale_look.zoom, m.n, m.across);
  const CellRect moved = navigated("picture", p, rect, m.n, m.across);
  if (!(moved == rect)) view.rescale_look.zoom = stored(rect = moved, m.n, m.across);
  const auto at = hovered(p, rect);
  const int row = at ? matrix_row_at(m, at->row) : -1, tile = at ? matrix_col_at(m, at->col) : -1;
  if (at) trace_clicked(frame.session, frame.state, map_row(m, row), tile);

  const Colouring how = colouring(false, view.rescale_show == RescaleShow::moved ? 1 : colour_range(frame.state, view), view);
  paint_map(frame.input, m, p, rect, how);
  if (view.show_tiles) {
    draw_row_lines(p, rect, tile_rows(mapped(m).a, m.n));
    draw_col_lines(p, rect, 1, 0);
  }
  draw_consumed_tiles(p, rect, frame.input, view);
  draw_outline(p, is_stale(frame.input) || (counts && !current));
  draw_row_axis(p, rect);
  draw_col_axis(p, rect);
  draw_traced(p, rect, frame.input.answer.result->trace.row);
  if (view.rescale_show == RescaleShow::moved) {
    draw_legend(p.bars[0], !sees_all(mapped(m).problem), how);
  } else {
    draw_colour_bar(p.bars[0], how, m);
    draw_range_lock(view, frame.state, p, how);
  }
  draw_caption(p, "tile of " + counted(tile_keys(mapped(m).a, key_count(mapped(m).problem)), "key"), map_remark(m, p, rect));
  if (!at) return;
  draw_cell_mark(p, rect, row_span(m, row), tile, tile + 1);
  draw_note(p, ImGui::GetIO().MousePos, note(m, frame.input.side.clipping.get(), tile, row));
}

}  // namespace attoscope::ui
