// Four plots that share the tile axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ui/numbers.h"
#include "ui/plot.h"
#include "ui/recurrence.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// What all four share.
struct Strip {
  const StripMemory& memory;
  const Palette& colours;
  double scrubbed;            ///< tile under the scrubber
  std::vector<double> ticks;  ///< of the tile axis
  bool held = false;          ///< the mouse is held down on this plot
  double chosen = -1;         ///< tile clicked in this frame
  const Result& result() const { return *memory.result; }
};

/// Whole tiles, 1, 2 or 5 times a power of ten apart, so that labels do not touch.
std::vector<double> tile_ticks(const StripMemory& m, float width) {
  const double most = std::max(
                   1.0, static_cast<double>(width / (px(18) + px(7) * static_cast<float>(printed("%.0f", m.last).size())))),
               span = m.last - m.first;
  double step = 1;
  for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0})
    if (span / step > most) step *= factor;
  std::vector<double> ticks;
  for (double t = 0; t < m.last; t += step) ticks.push_back(t);
  return ticks;
}

/// A title in pieces, each with its colour.
struct Piece {
  std::string text;
  Colour colour;
};

void draw_title(ImVec2 at, float width, std::initializer_list<Piece> pieces, std::string_view unit, const Palette& colours) {
  float x = at.x;
  for (const Piece& piece : pieces) {
    const std::string shown = fitted(Face::label, piece.text, at.x + width - x);
    x += draw_text({x, at.y}, Face::label, piece.colour, shown);
    if (shown != piece.text) return;
  }
  if (x + px(8) + text_width(Face::small, unit) < at.x + width)
    draw_text({at.x + width, at.y + px(1)}, Face::small, colours.faint, unit, 1);
}

/// The scrubbed tile, shaded; and what a click or drag in the plot chooses.
void shade(Strip& s) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const double span = limits.X.Max - limits.X.Min;
  const float x = at.x + static_cast<float>((s.scrubbed - limits.X.Min) / span) * size.x;
  const float half = std::max(px(1), static_cast<float>(0.5 / span) * size.x);
  ImPlot::PushPlotClipRect();
  ImPlot::GetPlotDrawList()->AddRectFilled({x - half, at.y}, {x + half, at.y + size.y}, faded(s.colours.accent, 0.22f));
  ImPlot::PopPlotClipRect();
  if (s.held) s.chosen = std::max(0.0, std::round(limits.X.Min + (ImGui::GetIO().MousePos.x - at.x) / size.x * span));
}

/// Between two quantiles; many tiles are drawn as the band that holds theirs.
void draw_band(const StripMemory& m, const std::vector<double>& low, const std::vector<double>& high, const ImPlotSpec& spec) {
  const auto step = static_cast<std::size_t>(std::ceil(2 * static_cast<double>(low.size()) / ImPlot::GetPlotSize().x)) | 1;
  std::vector<double> x, below, above;
  for (std::size_t i = 0; i < low.size(); i += step) {
    const std::size_t end = std::min(i + step, low.size());
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (std::size_t k = i; k < end; ++k) least = std::fmin(least, low[k]), most = std::fmax(most, high[k]);
    if (!(least <= most)) continue;  // no row has a key there
    x.push_back(m.all_tiles[i] + static_cast<double>(end - i - 1) / 2);
    below.push_back(least);
    above.push_back(most);
  }
  ImPlot::PlotShaded("##band", x.data(), below.data(), above.data(), static_cast<int>(x.size()), spec);
}

void draw_max(Strip& s, ImVec2 size) {
  const StripMemory& m = s.memory;
  if (!begin_plot({"##running max", m.first, m.last, m.m_low, m.m_high, false, s.ticks, {}, {}, {}}, size)) return;
  draw_band(m, m.quantiles[0], m.quantiles[4], fill(s.colours.text, 0.10f));
  draw_band(m, m.quantiles[1], m.quantiles[3], fill(s.colours.text, 0.16f));
  shade(s);
  const double pixels = ImPlot::GetPlotSize().x;
  const Points seen = decimated(m.tile, m.max_true, m.first, m.last, pixels);
  const double spacing = pixels / static_cast<double>(std::max<std::size_t>(1, m.all_tiles.size()));
  if (m.stale) draw_steps("##true max", m.tile, m.max_true, stroke(s.colours.golden, 1));
  draw_steps("##m", m.tile, m.max_used, stroke(s.colours.a));
  if (spacing >= 5)
    ImPlot::PlotScatter("##true", seen.x.data(), seen.y.data(), static_cast<int>(seen.x.size()),
                        dots(s.colours.a, 2.2f, false));
  std::vector<double> x, y;
  for (const TraceTile& t : s.result().trace.tiles)
    if (t.moved) x.push_back(t.tile - 0.5), y.push_back(t.max_used);
  const Points moved = decimated(x, y, m.first, m.last, pixels / 2);
  ImPlot::PlotScatter("##moved", moved.x.data(), moved.y.data(), static_cast<int>(moved.x.size()),
                      dots(s.colours.moved, spacing >= 5 ? 3.5f : 2, true));
  end_plot();
}

void draw_rescales(Strip& s, ImVec2 size) {
  const StripMemory& m = s.memory;
  const Rescales& r = s.result().rescales;
  const double top =
      m.rescales_high / std::max(0.5, 1 - static_cast<double>(px(36) / (size.y - px(20))));  // room for the words
  if (!begin_plot({"##rescales", m.first, m.last, 0, top, false, s.ticks, {}, {}, {}}, size)) return;
  shade(s);
  const double pixels = ImPlot::GetPlotSize().x;
  const Points bars = decimated(m.all_tiles, m.rescales, m.first, m.last, pixels);
  if (bars.x.size() * 3 < static_cast<std::size_t>(pixels)) {
    ImPlot::PlotBars("##count", bars.x.data(), bars.y.data(), static_cast<int>(bars.x.size()), 0.7, fill(s.colours.moved));
  } else {
    draw_steps("##count", m.all_tiles, m.rescales, stroke(s.colours.moved, 1));
  }
  ImPlot::PushPlotClipRect();
  const Points line = decimated(m.all_tiles, m.expected, m.first, m.last, pixels / 4);
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const ImVec2 from = ImPlot::PlotToPixels(line.x[i] - 0.45, line.y[i]),
                 to = ImPlot::PlotToPixels(line.x[i] + 0.45, line.y[i]);
    ImPlot::GetPlotDrawList()->AddLine(from, {std::max(to.x, from.x + px(1)), to.y}, s.colours.text, px(1.3f));
  }
  ImPlot::PopPlotClipRect();
  const ImVec2 at = ImPlot::GetPlotPos(), plot = ImPlot::GetPlotSize();
  const std::string words = printed("%.2f a row, not %.2f", r.effective_mean, r.expected);
  ImDrawList* list = ImPlot::GetPlotDrawList();
  draw_text(list, {at.x + plot.x - px(4), at.y + px(2)}, Face::small, s.colours.moved, words, 1);
  draw_text(list, {at.x + plot.x - px(4), at.y + px(17)}, Face::small, s.colours.faint,
            fitted(Face::small, "– if scores were exchangeable", plot.x - px(8)), 1);
  end_plot();
}

/// A coral mark at the foot of each tile in which a P saturated.
void draw_saturated(const Strip& s, double pixels) {
  const std::vector<double> height(s.memory.saturated_tile.size(), 0.0);
  const Points marks = decimated(s.memory.saturated_tile, height, s.memory.first, s.memory.last, pixels / 4);
  for (const double tile : marks.x) {
    const ImVec2 at = ImPlot::PlotToPixels(tile, -0.06);
    ImPlot::GetPlotDrawList()->AddTriangleFilled({at.x, at.y - px(9)}, {at.x - px(4), at.y - px(1)}, {at.x + px(4), at.y - px(1)},
                                                 s.colours.bad);
  }
}

void draw_sums(Strip& s, ImVec2 size) {
  const StripMemory& m = s.memory;
  static constexpr double ticks[] = {0, 0.5, 1};
  if (!begin_plot({"##row sum", m.first, m.last, -0.06, 1.1, false, s.ticks, ticks, {}, {}}, size)) return;
  shade(s);
  draw_steps("##l", m.tile, m.l, stroke(s.colours.a));
  const double pixels = ImPlot::GetPlotSize().x;
  const Points alpha =
      m.tile.empty() ? Points{}
                     : decimated(std::span(m.tile).subspan(1), std::span(m.alpha).subspan(1), m.first, m.last, pixels / 4);
  const double spacing = pixels / static_cast<double>(std::max<std::size_t>(1, m.all_tiles.size()));
  ImPlot::PlotScatter("##alpha", alpha.x.data(), alpha.y.data(), static_cast<int>(alpha.x.size()),
                      dots(s.colours.moved, spacing >= 8 ? 3 : 1.6f, true));
  draw_saturated(s, pixels);
  end_plot();
}

void draw_errors(Strip& s, ImVec2 size) {
  const StripMemory& m = s.memory;
  if (!begin_plot({"##error", m.first, m.last, m.error_low, m.error_high, true, s.ticks, {}, {}, {}}, size)) return;
  shade(s);
  std::vector<double> shown = m.error;
  for (double& e : shown) e = std::isfinite(e) ? std::max(e, m.error_low) : m.error_high;
  draw_steps("##e", m.error_tile, shown, stroke(s.colours.a));
  if (m.error.empty()) {
    const ImVec2 at = ImPlot::GetPlotPos(), plot = ImPlot::GetPlotSize();
    draw_text(ImPlot::GetPlotDrawList(), {at.x + plot.x / 2, at.y + px(4)}, Face::small, s.colours.faint,
              fitted(Face::small, "O comes with the second pass", plot.x - px(8)), 0.5f);
  }
  if (m.b_error > 0) {
    const ImVec2 from = ImPlot::PlotToPixels(m.first, m.b_error), to = ImPlot::PlotToPixels(m.last, m.b_error);
    draw_dashed(ImPlot::GetPlotDrawList(), from, to, s.colours.b, px(2), px(4));
  }
  end_plot();
}

}  // namespace

void draw_recurrence_plots(View& view, const StripMemory& memory, ImVec2 size, const Palette& colours) {
  const int index = scrubbed(*memory.result, view);
  const float gap = px(16), width = std::floor((size.x - 3 * gap) / 4);
  Strip s{memory, colours, static_cast<double>(memory.result->trace.tiles[static_cast<std::size_t>(index)].tile),
          tile_ticks(memory, width)};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = px(24);
  const int row = memory.result->trace.row;
  const auto plot = [&](int i, const char* id, std::initializer_list<Piece> pieces, std::string_view unit, auto draw,
                        std::string_view what, std::string_view formula) {
    const ImVec2 from{at.x + static_cast<float>(i) * (width + gap), at.y};
    ImGui::SetCursorScreenPos(from);
    ImGui::Dummy({width, title});
    explain(what, formula);
    draw_title(from, width, pieces, unit, colours);
    ImGui::SetCursorScreenPos({from.x, from.y + title});
    ImGui::SetNextItemAllowOverlap();
    ImGui::InvisibleButton(id, {width, size.y - title});
    s.held = ImGui::IsItemActive();
    ImGui::SetCursorScreenPos({from.x, from.y + title});
    draw(s, ImVec2{width, size.y - title});
  };
  const bool stale = memory.stale;
  plot(0, "running max",
       {{stale ? "Max " : "Running max ", colours.text}, {"m", colours.a}, {stale ? " and " : "", colours.text}, {stale ? "true" : "", colours.golden},
        {printed(", row %d", row), colours.text}},
       "S units", draw_max,
       "The running max that exp sees (line), the largest score so far (rings, and a line where a stale max lies below it), tiles "
       "in which it moved (purple). The bands hold 50 % and 90 % of all rows.",
       "m_new = max(m, max_j S_ij)");
  plot(1, "rescales", {{"Rescales per tile, all rows", colours.text}}, "rows", draw_rescales,
       "In how many rows the running max moved at this tile, so that l and O were rescaled. The marks stand where scores in "
       "random "
       "order would put them.",
       "P(move at tile t) = 1/t, H_T - 1 a row");
  const std::string saturated =
      memory.saturated > 0 ? printed("  %lld P saturated", static_cast<long long>(memory.saturated)) : std::string();
  plot(2, "row sum",
       {{"Row sum ", colours.text}, {"l", colours.a}, {saturated.empty() ? " (of its largest), " : " (share), ", colours.text},
        {"α", colours.moved}, {saturated, colours.bad}},
       "", draw_sums,
       "The running row sum after each tile, as a share of its largest value, and the factor that rescaled it (dots; 1: not "
       "moved). Coral marks: tiles in which a P lies beyond the largest number of its format.",
       "alpha = exp(m_old - m_new)\nl = alpha l + sum_j e_j");
  plot(3, "error so far", {{printed("Error of row %d so far", row), colours.text}}, "max, log", draw_errors,
       "How far O/l would be from golden if the loop ended at this tile, golden taken over the same keys. Dotted: the final "
       "error of b "
       "in this row.",
       "max |O/l - golden(keys so far)|");
  if (s.chosen >= 0) scrub_to(view, *memory.result, s.chosen);
  ImGui::SetCursorScreenPos({at.x, at.y + size.y});
}

}  // namespace attoscope
