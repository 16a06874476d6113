// The rescale map: in which tile the running max of which row moved, and where P left its format.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ui/colours.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/picture_frame.h"
#include "ui/pictures.h"
#include "ui/recurrence.h"
#include "ui/rescale_values.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// Why there is no map; empty: there is one.
std::string why_no_map(const Frame& frame, const View& view) {
  if (!frame.result) return frame.computing ? "computing the first picture" : "no answer yet";
  const Experiment& e = frame.result->experiment;
  if (e.a.algorithm == Algorithm::hardware)
    return "Method a ran on the tensor cores: its running max stays inside the kernel, so there is nothing to map.";
  if (e.a.algorithm == Algorithm::loaded)
    return "Method a was loaded from a file: its running max is not known, so there is nothing to map.";
  if (shows_counts(view.rescale_show)) return !frame.clipping || frame.clipping->tiles == 0 ? "counting P in every tile" : "";
  if (e.a.algorithm == Algorithm::three_pass)
    return "Three passes: the max is known before the first exp, so nothing is rescaled.";
  return frame.result->rescale_map.m.empty() ? "This answer came without its running max." : "";
}

/// The map's experiment: that of the counts, or of the answer.
const Experiment& mapped(const RescaleMemory& m) {
  return shows_counts(m.show) ? m.clipping->experiment : m.result->experiment;
}

std::vector<NoteLine> note(const RescaleMemory& m, const Clipping* clipping, int tile, int matrix_row, const Palette& colours) {
  const Experiment& e = mapped(m);
  const int row = map_row(m, matrix_row), keys = tile_keys(e), n = e.problem.n;
  const int first = tile * keys, last = std::min(n, first + keys) - 1;
  std::vector<NoteLine> lines{
      {colours.secondary, printed("row %d, tile %d: keys %d .. %d", row, tile, e.a.reverse_keys ? n - 1 - last : first,
                                  e.a.reverse_keys ? n - 1 - first : last)}};
  if (!shows_counts(m.show)) {
    const RunningMax at = running_max(*m.result, tile, matrix_row);
    if (std::isnan(at.after)) {
      lines.push_back({colours.faint, "the row sees no key of it"});
      return lines;
    }
    if (std::isnan(at.before)) {
      lines.push_back({colours.text, printed("m = %.6g, nothing before it", at.after)});
    } else {
      lines.push_back({at.moved() ? colours.moved : colours.text, printed("m %.6g → %.6g", at.before, at.after)});
      lines.push_back({at.moved() ? colours.moved : colours.secondary,
                       printed("exp(%.4g) = %.4g %s", at.before - at.after, std::exp(at.before - at.after),
                               at.moved() ? "= α before rounding" : "")});
    }
  }
  const ClippedHere here = clipped_here(clipping, e, tile, row);
  if (here.saturated >= 0) {
    lines.push_back({here.saturated > 0 ? colours.bad : colours.secondary, printed("%d P saturated", here.saturated)});
    lines.push_back({colours.secondary, printed("%d P underflowed", here.underflowed)});
  }
  return lines;
}

/// A click traces the row and scrubs to the tile; a double click changes neither.
void click(Session& session, RescaleMemory& m, int row, int tile) {
  const int count = clicks();
  if (count == 1) {
    m.earlier_traced_row = session.experiment.problem.traced_row;
    m.earlier_scrubbed_tile = session.view.scrubbed_tile;
    session.experiment.problem.traced_row = row;
    session.view.scrubbed_tile = tile;
  } else if (count == 2) {
    session.experiment.problem.traced_row = m.earlier_traced_row;
    session.view.scrubbed_tile = m.earlier_scrubbed_tile;
  }
}

void paint_map(const Frame& frame, RescaleMemory& m, const Places& p, const CellRect& rect, const Colouring& how,
               const Palette& colours) {
  const bool moved = m.show == RescaleShow::moved;
  if (refresh_pixels(m, p, rect)) {
    if (moved) take_marks(m);
    hide_unseen(m, mapped(m).problem, tile_keys(mapped(m)), mapped(m).a.reverse_keys);
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (frame.paint) frame.paint(list, p.min, p.max, m.image, how);
  if (!moved) return;
  const float x = p.width() / static_cast<float>(m.image.width), y = p.height() / static_cast<float>(m.image.height);
  for (const CellRect& mark : m.marks)
    list->AddRectFilled({p.min.x + static_cast<float>(mark.col0) * x, p.min.y + static_cast<float>(mark.row0) * y},
                        {p.min.x + static_cast<float>(mark.col1) * x, p.min.y + static_cast<float>(mark.row1) * y},
                        colours.moved);
}

/// What the two colours of the yes-or-no picture mean.
void draw_legend(const Places& p, Colour zero, bool masked, const Palette& colours) {
  const auto entry = [&](float y, Colour colour, const char* text) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({p.bar_left[0], y}, {p.bar_right[0], y + px(12)}, colour);
    list->AddRect({p.bar_left[0], y}, {p.bar_right[0], y + px(12)}, colours.line);
    draw_text({p.bar_right[0] + px(8), y - px(1)}, Face::small, colours.secondary, text);
  };
  entry(p.min.y, colours.moved, "moved");
  entry(p.min.y + px(24), zero, "stayed");
  if (masked) entry(p.min.y + px(48), colours.panel, "masked");
}

/// The tiles that the traced row has taken in.
void draw_progress(const Places& p, const CellRect& rect, const Frame& frame, const View& view, const Palette& colours) {
  const int index = scrubbed(*frame.result, view);
  if (index < 0) return;
  const auto& tiles = frame.result->trace.tiles;
  draw_consumed(p, rect, tiles.front().tile, tiles[static_cast<std::size_t>(index)].tile + 1, colours);
}

std::string remark(const RescaleMemory& m, const Places& p, const CellRect& rect) {
  const double scale = ImGui::GetIO().DisplayFramebufferScale.x;
  const std::string sampling = sampling_text(m, rect, p.width() * scale, p.height() * scale);
  return m.rows < m.n ? printed("%d of %d rows; ", m.rows, m.n) + sampling : sampling;
}

}  // namespace

void draw_rescale_map(Session& session, const Frame& frame, UiMemory& all, const Palette& colours, Wishes& wishes,
                      const Box& room) {
  RescaleMemory& m = all.rescale_map;
  View& view = session.view;
  const Places p = places(room.min, room.max, {.side = 0, .below = 0, .bars = 1});
  const bool counts = shows_counts(view.rescale_show);
  const bool current = frame.clipping && same_counts(frame.clipping->experiment, session.experiment);
  wishes.clipping |= counts && !current && frame.result && !frame.computing && is_emulated(session.experiment.a.algorithm);
  if (const std::string why = why_no_map(frame, view); !why.empty()) return draw_instead(p, why, colours);
  refresh_map(m, frame.result, frame.clipping, view.rescale_show);
  if (m.rows <= 0 || m.cols <= 0) return draw_instead(p, "no answer yet", colours);
  CellRect rect = seen(view.rescale_look.zoom, m.n, m.across);
  const CellRect moved = navigated("picture", p, rect, m.n, m.across);
  if (!(moved == rect)) view.rescale_look.zoom = stored(rect = moved, m.n, m.across);
  const auto at = hovered(p, rect);
  const int row = at ? matrix_row_at(m, at->row) : -1, tile = at ? matrix_col_at(m, at->col) : -1;
  if (at) click(session, m, map_row(m, row), tile);

  const Colouring how = colouring(false, view.rescale_show == RescaleShow::moved ? 1 : colour_range(all, view), view);
  paint_map(frame, m, p, rect, how, colours);
  if (view.show_tiles) {
    draw_row_lines(p, rect, std::max(1, std::min(mapped(m).a.block_q, m.n)), colours);
    draw_col_lines(p, rect, 1, 0, colours);
  }
  draw_progress(p, rect, frame, view, colours);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (is_stale(frame) || (counts && !current)) list->AddRectFilled(p.min, p.max, faded(colours.panel, 0.35f));
  list->AddRect({p.min.x - 1, p.min.y - 1}, {p.max.x + 1, p.max.y + 1}, colours.line);
  draw_row_axis(p, rect, colours);
  draw_col_axis(p, rect, colours);
  draw_traced(p, rect, frame.result->trace.row, colours);
  if (view.rescale_show == RescaleShow::moved)
    draw_legend(p, colour(0, how), mapped(m).problem.mask.kind != Mask::Kind::none, colours);
  else
    draw_colour_bar({{p.bar_left[0], p.min.y}, {p.bar_right[0], p.max.y}}, how, m, colours);
  draw_caption(p, printed("tile of %d keys", tile_keys(mapped(m))), remark(m, p, rect), colours);
  if (!at) return;
  draw_cell_mark(p, rect, row_span(m, row), tile, tile + 1, colours);
  draw_note(p.box(), ImGui::GetIO().MousePos, note(m, frame.clipping.get(), tile, row, colours), colours);
}

}  // namespace attoscope
