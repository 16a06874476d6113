// The rescale map: moves of the running max, and P outside its format, by rows and tiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/experiment/rules.h"
#include "ui/frame/frame.h"
#include "ui/frame/pixel_image.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/picture_frame.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

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

/// Experiment of the map: that of the counts, or of the answer.
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
      lines.push_back({colours().faint, "the row sees no key of it"});
      return lines;
    }
    if (std::isnan(at.before)) {
      lines.push_back({colours().text, fmt::format("m = {:.6g}, nothing before it", at.after)});
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
    if (moved) take_marks(m);
    hide_unseen(m, mapped(m).problem, tile_keys(mapped(m).a, key_count(mapped(m).problem)), mapped(m).a.reverse_keys);
    if (moved) take_visible(m);
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
void draw_legend(const Places& p, bool masked, const Colouring& how) {
  const auto entry = [&](float y, Colour colour, const char* text) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({p.bar_left[0], y}, {p.bar_right[0], y + px(12)}, colour);
    list->AddRect({p.bar_left[0], y}, {p.bar_right[0], y + px(12)}, colours().line);
    draw_text({p.bar_right[0] + px(8), y - px(1)}, Face::small, colours().secondary, text);
  };
  entry(p.min.y, colours().moved, "moved");
  entry(p.min.y + px(24), stayed_colour(), "stayed");
  if (!masked) return;
  entry(p.min.y + px(48), colours().panel, "masked");
  draw_hatch({{p.bar_left[0], p.min.y + px(48)}, {p.bar_right[0], p.min.y + px(60)}}, how);
}

/// The colour bar of amounts and counts, with its lock.
void draw_scaled_bar(const UiState& all, View& view, const Places& p, const Colouring& how) {
  draw_colour_bar({{p.bar_left[0], p.min.y}, {p.bar_right[0], p.max.y}}, how, all.rescale_map);
  draw_range_lock(view, all, p, how);
}

/// Marks the tiles that the traced row has consumed.
void draw_consumed_tiles(const Places& p, const CellRect& rect, const PanelInput& input, const View& view) {
  const int index = scrubbed(*input.answer.result, view);
  if (index < 0) return;
  const auto& tiles = input.answer.result->trace.tiles;
  draw_consumed(p, rect, tiles.front().tile, tiles[static_cast<std::size_t>(index)].tile + 1);
}

std::string remark(const RescaleState& m, const Places& p, const CellRect& rect) {
  const double scale = ImGui::GetIO().DisplayFramebufferScale.x;
  const std::string sampling = sampling_text(m, rect, p.width() * scale, p.height() * scale);
  return m.rows < m.n ? fmt::format("{} of {} rows; ", m.rows, m.n) + sampling : sampling;
}

}  // namespace

void draw_rescale_map(const Frame& frame, const Box& room) {
  RescaleState& m = frame.state.rescale_map;
  View& view = frame.session.view;
  const Places p = places(room.min, room.max, {.side = 0, .below = 0, .bars = 1});
  const bool counts = shows_counts(view.rescale_show);
  const bool current =
      frame.input.side.clipping && same_counts(frame.input.side.clipping->experiment, frame.session.experiment);
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
  if (at) trace_clicked(frame.session, m, map_row(m, row), tile);

  const Colouring how = colouring(false, view.rescale_show == RescaleShow::moved ? 1 : colour_range(frame.state, view), view);
  paint_map(frame.input, m, p, rect, how);
  if (view.show_tiles) {
    draw_row_lines(p, rect, tile_rows(mapped(m).a, m.n));
    draw_col_lines(p, rect, 1, 0);
  }
  draw_consumed_tiles(p, rect, frame.input, view);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (is_stale(frame.input) || (counts && !current)) list->AddRectFilled(p.min, p.max, faded(colours().panel, 0.35f));
  list->AddRect({p.min.x - 1, p.min.y - 1}, {p.max.x + 1, p.max.y + 1}, colours().line);
  draw_row_axis(p, rect);
  draw_col_axis(p, rect);
  draw_traced(p, rect, frame.input.answer.result->trace.row);
  if (view.rescale_show == RescaleShow::moved)
    draw_legend(p, !sees_all(mapped(m).problem), how);
  else
    draw_scaled_bar(frame.state, view, p, how);
  draw_caption(p, fmt::format("tile of {} keys", tile_keys(mapped(m).a, key_count(mapped(m).problem))), remark(m, p, rect));
  if (!at) return;
  draw_cell_mark(p, rect, row_span(m, row), tile, tile + 1);
  draw_note(p.box(), ImGui::GetIO().MousePos, note(m, frame.input.side.clipping.get(), tile, row));
}

}  // namespace attoscope::ui
