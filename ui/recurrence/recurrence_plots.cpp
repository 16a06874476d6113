// The plots that share the tile axis.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ui/recurrence/panels.h"
#include "ui/recurrence/recurrence.h"
#include "ui/recurrence/tile_range.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

namespace {

/// Mouse state of a plot.
struct Touch {
  bool hovered = false, held = false, pressed = false, released = false;
};

/// Common parameters of all plots.
struct Strip {
  const StripState& state;
  const View& view;
  const Palette& colours;
  double scrubbed;                    ///< tile under the scrubber
  std::vector<double> ticks;          ///< ticks of the tile axis
  StripMouse* mouse;                  ///< null: no zoom
  Touch touch{};                      ///< mouse state of the current plot
  double chosen = -1;                 ///< tile clicked in this frame
  std::function<void(View&)> look{};  ///< change of the tile range in this frame
  FigurePanel panel{};                ///< current plot
  const Result& result() const { return *state.result; }
  /// A curve of the plot; null if hidden.
  const Series* curve(std::string_view label) const { return find_series(panel, label); }
  /// Pixels per tile in the current plot.
  double spacing() const { return static_cast<double>(ImPlot::GetPlotSize().x) / (state.axes.last - state.axes.first); }
};

/// Ticks at whole tiles, 1, 2 or 5 times a power of ten apart, so that labels do not touch.
std::vector<double> tile_ticks(const StripState& m, float width) {
  const double most =
                   std::max(1.0, static_cast<double>(
                                     width / (px(18) + px(7) * static_cast<float>(fmt::format("{:.0f}", m.axes.last).size())))),
               span = m.axes.last - m.axes.first;
  double step = 1;
  for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0})
    if (span / step > most) step *= factor;
  std::vector<double> ticks;
  for (double t = std::ceil(std::max(0.0, m.axes.first) / step) * step; t < m.axes.last; t += step) ticks.push_back(t);
  return ticks;
}

/// Lines at the begins of split_kv's runs, with their names if `named` and there is room.
void mark_runs(const Strip& s, bool named) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const std::vector<double>& begins = s.state.run_begins;
  const StripAxes& axes = s.state.axes;
  const auto shown =
      static_cast<float>(std::ranges::count_if(begins, [&](double b) { return axes.first < b && b < axes.last; }));
  if (shown * px(8) > size.x) return;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const float x = std::floor(ImPlot::PlotToPixels(begins[i], 1.0).x) + 0.5f;
    draw_dashed(list, {x, at.y}, {x, at.y + size.y}, s.colours.secondary, px(4), px(3));
    if (named && (shown + 1) * px(48) < size.x)
      draw_text(list, {x + px(4), at.y + size.y - px(15)}, Face::small, s.colours.secondary, fmt::format("run {}", i + 2));
  }
  ImPlot::PopPlotClipRect();
}

/// Shades tiles in the current plot.
void shade_tiles(double from, double to, Colour colour) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const auto x_of = [&](double tile) {
    return at.x + static_cast<float>((tile - limits.X.Min) / (limits.X.Max - limits.X.Min)) * size.x;
  };
  const float x0 = x_of(from), x1 = std::max(x_of(to), x0 + px(2));
  ImPlot::PushPlotClipRect();
  ImPlot::GetPlotDrawList()->AddRectFilled({x0, at.y}, {x1, at.y + size.y}, colour);
  ImPlot::PopPlotClipRect();
}

/// Zooms to the whole tiles of a finished selection; a click does nothing.
void end_selection(Strip& s) {
  const StripMouse m = *s.mouse;
  s.mouse->selects = false;
  if (std::abs(m.to - m.from) * s.spacing() < px(4)) return;
  const TileRange wanted{std::round(std::min(m.from, m.to)) - 0.5, std::round(std::max(m.from, m.to)) + 0.5};
  s.look = [wanted, &s](View& view) { show_tiles(view, s.result(), wanted); };
}

/// The wheel zooms around the tile under the mouse; with Shift, or sideways, it moves the tiles.
void turn_wheel(Strip& s, double tile) {
  const ImGuiIO& io = ImGui::GetIO();
  const double span = s.state.axes.last - s.state.axes.first, aside = io.MouseWheelH + (io.KeyShift ? io.MouseWheel : 0);
  if (aside != 0)
    s.look = [&s, by = -0.1 * aside * span](View& view) { pan_tiles(view, s.result(), by); };
  else if (io.MouseWheel != 0)
    s.look = [&s, tile, by = std::pow(0.8, io.MouseWheel)](View& view) { zoom_tiles(view, s.result(), tile, by); };
}

/// Zooms, moves and selects; true if the mouse must not scrub.
bool navigate(Strip& s, double tile) {
  StripMouse& m = *s.mouse;
  if (s.touch.hovered) turn_wheel(s, tile);
  if (s.touch.pressed) {
    m.pans = !ImGui::IsMouseDown(ImGuiMouseButton_Left);
    m.selects = !m.pans && ImGui::GetIO().KeyShift;
    m.from = m.to = tile;
    m.is_done = !m.pans && !m.selects && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    if (m.is_done)
      s.look = [before = m.scrubbed_before](View& view) { view.tiles = {}, view.scrubbed_tile = before; };
    else
      m.scrubbed_before = s.view.scrubbed_tile;
  }
  if (s.touch.held && m.pans && ImGui::GetIO().MouseDelta.x != 0)
    s.look = [&s, by = -ImGui::GetIO().MouseDelta.x / s.spacing()](View& view) { pan_tiles(view, s.result(), by); };
  if (s.touch.held && m.selects) m.to = std::clamp(tile, s.state.axes.first, s.state.axes.last);
  if (s.touch.released && m.selects) end_selection(s);
  return m.pans || m.selects || m.is_done;
}

/// Shades the scrubbed tile and the selection, and handles the mouse.
void shade(Strip& s, bool names_runs = false) {
  mark_runs(s, names_runs);
  if (s.state.parts_at >= 0) shade_tiles(s.state.parts_at - 0.5, s.state.parts_at + 0.5, faded(s.colours.bad, 0.28f));
  shade_tiles(s.scrubbed - 0.5, s.scrubbed + 0.5, faded(s.colours.accent, 0.22f));
  if (s.mouse != nullptr && s.mouse->selects) {
    const auto [from, to] = std::minmax(s.mouse->from, s.mouse->to);
    shade_tiles(std::round(from) - 0.5, std::round(to) + 0.5, faded(s.colours.text, 0.16f));
  }
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const double tile = limits.X.Min + (ImGui::GetIO().MousePos.x - at.x) / size.x * (limits.X.Max - limits.X.Min);
  if (s.mouse != nullptr && navigate(s, tile)) return;
  if (s.touch.held) s.chosen = std::clamp(std::round(tile), std::max(0.0, std::ceil(limits.X.Min)), std::floor(limits.X.Max));
}

/// Begins a plot; its y axis spans `low` to `high`.
bool begin(const Strip& s, const char* id, double low, double high, ImVec2 size, std::span<const double> y_ticks = {}) {
  return begin_plot({id, *s.panel.x.min, *s.panel.x.max, low, high, s.panel.y.log, s.ticks, y_ticks, {}, {}}, size);
}
bool begin(const Strip& s, const char* id, ImVec2 size) { return begin(s, id, *s.panel.y.min, *s.panel.y.max, size); }

/// Band between two quantiles; several tiles a pixel are drawn as the band around theirs.
void draw_band(const Series& band, const ImPlotSpec& spec) {
  const std::size_t count = band.low.size();
  const auto step = static_cast<std::size_t>(std::ceil(2 * static_cast<double>(count) / ImPlot::GetPlotSize().x)) | 1;
  std::vector<double> x, below, above;
  for (std::size_t i = 0; i < count; i += step) {
    const std::size_t end = std::min(i + step, count);
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (std::size_t k = i; k < end; ++k) least = std::fmin(least, band.low[k]), most = std::fmax(most, band.high[k]);
    if (!(least <= most)) continue;  // no row sees a key here
    x.push_back(band.x[i] + static_cast<double>(end - i - 1) / 2);
    below.push_back(least);
    above.push_back(most);
  }
  ImPlot::PlotShaded("##band", x.data(), below.data(), above.data(), static_cast<int>(x.size()), spec);
}

/// Marks at the series' points, at most two for each of `pixels` pixels, moved by `by` tiles.
void draw_marks(const char* id, const Series& series, double pixels, const ImPlotSpec& spec, double by = 0) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  Points p = decimated(series.x, series.y, limits.X.Min, limits.X.Max, pixels);
  for (double& x : p.x) x += by;
  ImPlot::PlotScatter(id, p.x.data(), p.y.data(), static_cast<int>(p.x.size()), spec);
}

void draw_max(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  if (!begin(s, "##running max", m.axes.m_low, m.axes.m_high, size)) return;
  if (const Series* const rows = s.curve(curve_label::most_rows)) draw_band(*rows, fill(s.colours.text, 0.10f));
  if (const Series* const rows = s.curve(curve_label::half_the_rows)) draw_band(*rows, fill(s.colours.text, 0.16f));
  shade(s, true);
  const double pixels = ImPlot::GetPlotSize().x, spacing = s.spacing();
  const Series *const truth = s.curve(curve_label::max_true), *const used = s.curve(curve_label::m);
  if (truth && m.row.stale) draw_steps("##true max", *truth, stroke(s.colours.golden, 1));
  if (used) draw_steps("##m", *used, stroke(s.colours.a));
  if (truth && spacing >= 5) draw_marks("##true", *truth, pixels, dots(s.colours.golden, 2.2f, false));
  if (const Series* const moved = s.curve(curve_label::moved))  // at the begin of the step
    draw_marks("##moved", *moved, pixels / 2, dots(s.colours.moved, spacing >= 5 ? 3.5f : 2, true), -0.5);
  if (const Series* const ties = s.curve(curve_label::ties)) {
    ImPlotSpec diamonds = dots(s.colours.text, spacing >= 5 ? 4.5f : 3, false);
    diamonds.Marker = ImPlotMarker_Diamond;
    draw_marks("##ties", *ties, pixels / 4, diamonds);
  }
  end_plot();
}

/// Histogram of the moves of m per row, with the expected number, as a small plot in the current one.
void draw_row_moves(const Strip& s, ImVec2 from, ImVec2 to) {
  if (s.state.rows.moves.empty() || to.y - from.y < px(36) || to.x - from.x < px(48)) return;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  list->AddRectFilled(from, to, faded(s.colours.panel, 0.88f), px(3));
  const float foot = to.y - px(15), top = from.y + px(4), left = from.x + px(4), right = to.x - px(4);
  const FigurePanel panel = row_move_panel(s.state);
  const std::vector<double>& counts = panel.series.front().y;
  const double expected = panel.series.back().x.front(), most = std::ranges::max(counts),
               last = std::max(static_cast<double>(counts.size()), std::ceil(expected) + 2);
  const auto x = [&](double moves) { return left + static_cast<float>((moves + 0.5) / last) * (right - left); };
  const float half = std::max(px(0.5f), static_cast<float>(0.4 / last) * (right - left));
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const float height = static_cast<float>(counts[k] / most) * (foot - top), at = x(static_cast<double>(k));
    if (counts[k] > 0) list->AddRectFilled({at - half, std::min(foot - 1, foot - height)}, {at + half, foot}, s.colours.moved);
  }
  list->AddLine({left, foot}, {right, foot}, s.colours.line);
  draw_dashed(list, {x(expected), top}, {x(expected), foot}, s.colours.text, px(3), px(2));
  draw_text(list, {left, foot}, Face::mono_small, s.colours.faint, "0");
  draw_text(list, {right, foot}, Face::mono_small, s.colours.faint, fmt::format("{:.0f}", last - 1), 1);
  const std::string_view words = "moves a row";
  if (text_width(Face::small, words) + px(40) < right - left)
    draw_text(list, {(left + right) / 2, foot}, Face::small, s.colours.faint, words, 0.5f);
}

void draw_counts(const Series& counts, Colour colour) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const double pixels = ImPlot::GetPlotSize().x;
  const Points bars = decimated(counts.x, counts.y, limits.X.Min, limits.X.Max, pixels);
  if (bars.x.size() * 3 < static_cast<std::size_t>(pixels)) {
    ImPlot::PlotBars("##count", bars.x.data(), bars.y.data(), static_cast<int>(bars.x.size()), 0.7, fill(colour));
  } else {
    draw_steps("##count", counts, stroke(colour, 1));
  }
}

void draw_expected(const Series& expected, Colour colour) {
  ImPlot::PushPlotClipRect();
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const Points line = decimated(expected.x, expected.y, limits.X.Min, limits.X.Max, ImPlot::GetPlotSize().x / 4);
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const ImVec2 from = ImPlot::PlotToPixels(line.x[i] - 0.45, line.y[i]),
                 to = ImPlot::PlotToPixels(line.x[i] + 0.45, line.y[i]);
    ImPlot::GetPlotDrawList()->AddLine(from, {std::max(to.x, from.x + px(1)), to.y}, colour, px(1.3f));
  }
  ImPlot::PopPlotClipRect();
}

/// Tooltip of the words whose right end is at `end`.
void explain_rescales(ImVec2 end, const std::string& words, const Rescales& r) {
  const float width = text_width(Face::small, words);
  ImGui::SetCursorScreenPos({end.x - width, end.y});
  ImGui::Dummy({width, line_height(Face::small)});
  explain(
      fmt::format("The running max of a row moved {:.2f} times on average, over {} tiles. For scores in random order it would "
                  "be H_T − 1: at tile t the largest score so far is new with probability 1/t.",
                  r.effective_mean, r.tiles),
      fmt::format("H_T - 1 = 1/2 + 1/3 + ... + 1/T = {:.2f}", r.expected));
}

void draw_rescales(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  const Rescales& r = s.result().rescales;
  const double top =
      m.axes.rescales_high / std::max(0.5, 1 - static_cast<double>(px(20) / (size.y - px(20))));  // for the words
  if (!begin(s, "##rescales", *s.panel.y.min, top, size)) return;
  shade(s);
  if (const Series* const counts = s.curve(curve_label::rescales)) draw_counts(*counts, s.colours.moved);
  if (const Series* const expected = s.curve(curve_label::expected)) draw_expected(*expected, s.colours.text);
  const ImVec2 at = ImPlot::GetPlotPos(), plot = ImPlot::GetPlotSize();
  if ((s.view.hidden_curves & bit(Curve::row_moves)) == 0)
    draw_row_moves(s, {at.x + plot.x * 0.42f, at.y + px(19)}, {at.x + plot.x, at.y + std::min(plot.y * 0.72f, px(104))});
  std::string words = fmt::format("{:.2f} a row, H_T − 1 = {:.2f}", r.effective_mean, r.expected);
  if (text_width(Face::small, words) > plot.x - px(8))
    words = fmt::format("{:.2f} a row, not {:.2f}", r.effective_mean, r.expected);
  const bool fits = text_width(Face::small, words) <= size.x;
  if (fits) draw_text(ImPlot::GetPlotDrawList(), {at.x + plot.x - px(4), at.y + px(1)}, Face::small, s.colours.moved, words, 1);
  end_plot();
  if (fits) explain_rescales({at.x + plot.x - px(4), at.y + px(1)}, words, r);
}

/// A mark at the foot of each tile with a saturated P.
void draw_saturated(const Strip& s) {
  const std::vector<double> height(s.state.row.saturated_tile.size(), 0.0);
  const float foot = ImPlot::GetPlotPos().y + ImPlot::GetPlotSize().y;
  const float half = std::clamp(static_cast<float>(s.spacing()) * 0.4f, px(1), px(4));
  const Points marks =
      decimated(s.state.row.saturated_tile, height, s.state.axes.first, s.state.axes.last, ImPlot::GetPlotSize().x / px(4));
  ImPlot::PushPlotClipRect();
  for (const double tile : marks.x) {
    const float x = ImPlot::PlotToPixels(tile, 1).x;
    ImPlot::GetPlotDrawList()->AddTriangleFilled({x, foot - px(1) - 2 * half}, {x - half, foot - px(1)},
                                                 {x + half, foot - px(1)}, s.colours.bad);
  }
  ImPlot::PopPlotClipRect();
}

void draw_sums(Strip& s, ImVec2 size) {
  static constexpr double ticks[] = {0, 0.5, 1};
  if (!begin(s, "##row sum", -0.06, 1.1, size, ticks)) return;
  shade(s);
  if (const Series* const O = s.curve(curve_label::O_norm))
    draw_steps("##O", *O, stroke(mixed(s.colours.a, s.colours.text, 0.55f), 1.2f));
  if (const Series* const l = s.curve(curve_label::l)) draw_steps("##l", *l, stroke(s.colours.a));
  if (const Series* const alpha = s.curve(curve_label::alpha))
    draw_marks("##alpha", *alpha, ImPlot::GetPlotSize().x / 4, dots(s.colours.moved, s.spacing() >= 8 ? 3 : 1.6f, true));
  draw_saturated(s);
  end_plot();
}

void draw_P(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  if (!begin(s, "##largest P", size)) return;
  shade(s);
  draw_clamped_steps("##P", s.panel.series.front(), m.axes.P_low, m.axes.P_high, stroke(s.colours.a));
  const ImVec2 at = ImPlot::GetPlotPos(), plot = ImPlot::GetPlotSize();
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const Series* const limit = s.curve(curve_label::saturates);
  const bool seen = limit != nullptr;
  const float y = seen ? ImPlot::PlotToPixels(limit->x.front(), limit->y.front()).y : at.y + px(2);
  if (seen) draw_dashed(list, {at.x, y}, {at.x + plot.x, y}, s.colours.bad, px(5), px(3));
  const std::string words =
      m.P_limit > 0 ? (seen ? "" : "↑ ") + std::string("saturates at ") + compact(m.P_limit) : "P is not rounded";
  draw_text(list, {at.x + plot.x - px(4), y + px(2)}, Face::small, seen ? s.colours.bad : s.colours.faint,
            fitted(Face::small, words, plot.x - px(8)), 1);
  draw_saturated(s);
  end_plot();
}

void draw_errors(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  if (!begin(s, "##error", size)) return;
  shade(s);
  for (const Series& series : s.panel.series)
    if (!series.dashed) draw_clamped_steps("##e", series, m.axes.error_low, m.axes.error_high, stroke(s.colours.a));
  if (m.row.error.empty()) {
    const ImVec2 at = ImPlot::GetPlotPos(), plot = ImPlot::GetPlotSize();
    draw_text(
        ImPlot::GetPlotDrawList(), {at.x + plot.x / 2, at.y + plot.y / 2}, Face::small, s.colours.faint,
        fitted(Face::small,
               s.result().experiment.a.algorithm == Algorithm::two_pass ? "O comes with the second pass" : "every error is NaN",
               plot.x - px(8)),
        0.5f);
  }
  for (const Series& series : s.panel.series)
    if (series.dashed)
      draw_dashed(ImPlot::GetPlotDrawList(), ImPlot::PlotToPixels(series.x[0], series.y[0]),
                  ImPlot::PlotToPixels(series.x[1], series.y[1]), s.colours.b, px(2), px(4));
  end_plot();
}

// --- titles and legends -----------------------------------------------------------------------------------------------

using Mark = LegendEntry::Mark;

/// One plot of the strip.
struct Panel {
  const char* id;
  std::string title, unit;
  Colour unit_colour;
  std::initializer_list<LegendEntry> legend;
  void (*draw)(Strip&, ImVec2 size);
  const char* what;
  const char* formula;
};

/// Title, legend, plot, from left to right.
class Row {
 public:
  Row(View& view, Strip& strip, ImVec2 size, int count)
      : view_(view),
        strip_(strip),
        at_(ImGui::GetCursorScreenPos()),
        width_(std::floor((size.x - gap() * static_cast<float>(count - 1)) / static_cast<float>(count))),
        height_(size.y) {}
  static float gap() { return px(16); }

  void add(const Panel& panel) {
    const Palette& colours = strip_.colours;
    const float head = px(18), names = px(21);
    ImGui::SetCursorScreenPos(at_);
    ImGui::Dummy({width_, head});
    explain(panel.what, panel.formula);
    const float unit = text_width(Face::small, panel.unit);
    const float used = draw_text(at_, Face::label, colours.text, fitted(Face::label, panel.title, width_));
    if (used + px(8) + unit < width_) draw_text({at_.x + width_, at_.y + px(1)}, Face::small, panel.unit_colour, panel.unit, 1);
    draw_legend(view_, {at_.x, at_.y + head}, width_, panel.legend, colours);
    const ImVec2 from{at_.x, at_.y + head + names}, size{width_, height_ - head - names};
    ImGui::SetCursorScreenPos(from);
    ImGui::SetNextItemAllowOverlap();
    constexpr ImGuiButtonFlags any =
        ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight | ImGuiButtonFlags_MouseButtonMiddle;
    ImGui::InvisibleButton(panel.id, size, strip_.mouse != nullptr ? any : ImGuiButtonFlags_MouseButtonLeft);
    if (strip_.mouse != nullptr) ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
    strip_.touch = {ImGui::IsItemHovered(), ImGui::IsItemActive(), ImGui::IsItemActivated(), ImGui::IsItemDeactivated()};
    ImGui::SetCursorScreenPos(from);
    panel.draw(strip_, size);
    at_.x += width_ + gap();
  }

 private:
  View& view_;
  Strip& strip_;
  ImVec2 at_;
  float width_, height_;
};

void add_max(Row& row, const StripState& m, const Palette& c) {
  row.add({"running max",
           fmt::format("Max, row {}", m.result->trace.row),
           "S units",
           c.faint,
           {{Mark::line, Curve::m, "m", "m", c.a, "The running max that exp sees; purple where it moved.",
             "m_new = max(m, max_j S_ij)"},
            {Mark::ring, Curve::max_true, "true", "true", c.golden,
             "The largest score so far; a separate line where a stale max lies below it.", "max_j S_ij over the keys so far"},
            {Mark::band, Curve::rows, "rows", "rows", c.text,
             "The running max of all rows: 50 % and 90 % of them lie in the bands.", "quantiles 5, 25, 75, 95 % of m"},
            {Mark::diamond, Curve::ties, "ties", "ties", c.text,
             "Tiles in which a further key has exactly the score of the max in use.", "S_ij = m, beyond the first such j"}},
           draw_max,
           m.run_begins.empty()
               ? "The running max of the traced row, tile by tile, among those of all rows."
               : "The running max of the traced row, tile by tile, among those of all rows. A dashed line: the next run of "
                 "split_kv begins there, with m, l and O of its own.",
           "m_new = max(m, max_j S_ij)"});
}

void add_rescales(Row& row, const Palette& c) {
  row.add({"rescales",
           "Rescales per tile, all rows",
           "rows",
           c.faint,
           {{Mark::bar, Curve::rescales, "moved", "moved", c.moved,
             "In how many rows the running max moved at this tile, so that l and O were rescaled.", "count of m_new > m"},
            {Mark::line, Curve::expected, "expected", "1/t", c.text, "The expectation for scores in random order.",
             "P(move at tile t) = 1/t"},
            {Mark::bar, Curve::row_moves, "per row", "per row", c.moved,
             "Rows by the number of their moves, beside what scores in random order would give on average (dashed).",
             "H_T - 1 = 1/2 + 1/3 + ... + 1/T a row"}},
           draw_rescales,
           "Moves of the running max over all rows, compared with scores in random order.",
           "P(move at tile t) = 1/t, H_T - 1 a row"});
}

void add_sums(Row& row, const StripState& m, const Palette& c) {
  const bool saturated = m.row.saturated > 0;
  row.add({"row sum",
           "Sum, α, O",
           saturated ? fmt::format("{} P saturated", static_cast<long long>(m.row.saturated)) : "share of largest",
           saturated ? c.bad : c.faint,
           {{Mark::line, Curve::l, "l", "l", c.a, "The running row sum after each tile, as a share of its largest value.",
             "l = alpha l + sum_j e_j"},
            {Mark::dot, Curve::alpha, "alpha", "α", c.moved, "The factor that rescaled l and O; 1 where m did not move.",
             "alpha = exp(m_old - m_new)"},
            {Mark::line, Curve::O_norm, "O", "|O|", mixed(c.a, c.text, 0.55f),
             "The Euclidean norm of the running output, as a share of its largest value.", "|O| = sqrt(sum_c O_c^2)"},
            {Mark::line, Curve::P_max, "P", "largest P", c.a,
             "One more plot: the largest P of each tile, and where P's format saturates.",
             "max_j P_ij <= largest number of the format"}},
           draw_sums,
           "Row sum, rescale factor and output of the traced row after each tile. Coral: a P lies beyond its format.",
           "alpha = exp(m_old - m_new)\nl = alpha l + sum_j e_j\nO = alpha O + P.V"});
}

void add_P(Row& row, const StripState& m, const Palette& c) {
  row.add(
      {"largest P",
       fmt::format("Largest P, row {}", m.result->trace.row),
       "log",
       c.faint,
       {},
       draw_P,
       "The largest P of each tile, and the largest number of P's format (dashed): beyond it P overflows, saturates or is NaN.",
       "max_j P_ij <= (2 - 2^-mantissa) 2^max_exponent"});
}

void add_errors(Row& row, const StripState& m, const Palette& c) {
  const MethodNames names = method_names(m.result->experiment);
  row.add({"error so far",
           fmt::format("Error so far, row {}", m.result->trace.row),
           "max, log",
           c.faint,
           {{Mark::line, Curve::error, "error", names.a, c.a, "The error of O/l if the loop ended at this tile.",
             "max |O/l - golden(keys so far)|"},
            {Mark::dashes, Curve::b_error, "error of b", names.b_after_a + " at the end", c.b,
             m.of_b ? "The error of your kernel in this row." : "The final error of b in this row.",
             m.of_b ? "max |a - golden|" : "max |b - golden|"}},
           draw_errors,
           "The error of O/l if the loop ended at this tile, golden taken over the same keys.",
           "max |O/l - golden(keys so far)|"});
}

void add_plot(Row& row, StripPlot plot, const StripState& m, const Palette& c) {
  switch (plot) {
    case StripPlot::running_max:
      return add_max(row, m, c);
    case StripPlot::rescales:
      return add_rescales(row, c);
    case StripPlot::row_sum:
      return add_sums(row, m, c);
    case StripPlot::largest_P:
      return add_P(row, m, c);
    case StripPlot::error:
      return add_errors(row, m, c);
  }
}

constexpr std::array four{StripPlot::running_max, StripPlot::rescales, StripPlot::row_sum, StripPlot::error};
constexpr std::array five{StripPlot::running_max, StripPlot::rescales, StripPlot::row_sum, StripPlot::largest_P,
                          StripPlot::error};

}  // namespace

std::span<const StripPlot> strip_plots(const View& view) {
  if ((view.hidden_curves & bit(Curve::P_max)) == 0) return five;
  return four;
}

void draw_recurrence_plots(View& view, const StripState& state, std::span<const StripPlot> plots, ImVec2 size,
                           const Palette& colours, StripMouse* mouse) {
  const int index = scrubbed(*state.result, view), count = static_cast<int>(plots.size());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = (size.x - Row::gap() * static_cast<float>(count - 1)) / static_cast<float>(count);
  Strip strip{state,
              view,
              colours,
              static_cast<double>(state.result->trace.tiles[static_cast<std::size_t>(index)].tile),
              tile_ticks(state, width),
              mouse};
  Row row(view, strip, size, count);
  for (const StripPlot plot : plots) {
    strip.panel = strip_panel(plot, state, view);
    add_plot(row, plot, state, colours);
  }
  if (strip.look) strip.look(view);
  if (strip.chosen >= 0) scrub_to(view, *state.result, strip.chosen);
  ImGui::SetCursorScreenPos({at.x, at.y + size.y});
}

}  // namespace attoscope
