// The plots that share the tile axis, and the rows of a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "implot.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

using Mark = CurveMark;

/// Name of a curve in a legend, with its mark; a click toggles the curve.
struct LegendEntry {
  Mark mark;
  Curve curve;
  const char* id;  ///< its test label is "legend id"
  std::string name;
  Colour colour;
  const char* what;  ///< tooltip
  const char* formula;
};

/// Draws the names in as many lines as they need, at most three, and returns their height.
float draw_legend(View& view, ImVec2 at, float width, std::initializer_list<LegendEntry> entries) {
  constexpr int lines = 3;
  std::vector<LegendName> names;
  for (const LegendEntry& e : entries)
    names.push_back({e.mark, e.id, e.name, e.colour, e.what, e.formula, (view.hidden_curves & bit(e.curve)) != 0});
  const int clicked = draw_legend(at, width, names, lines);
  if (clicked >= 0) view.hidden_curves ^= bit((entries.begin() + clicked)->curve);
  return height_of_legend(width, names, lines);
}

/// Common parameters of all plots.
struct Strip {
  View& view;
  const StripState& state;
  bool zooms;
  int scrubbed;      ///< tile under the scrubber
  float header = 0;  ///< largest height of a title and names drawn so far
  const Result& result() const { return *state.result; }
};

/// Behind the curves: begins of split_kv's runs, the tile where a loaded output parts, the scrubbed tile.
void draw_behind(const Strip& s, bool names_runs) {
  const float width = ImPlot::GetPlotSize().x, runs = static_cast<float>(s.state.run_begins.size());
  const bool named = names_runs && (runs + 1) * px(48) < width;
  for (std::size_t i = 0; i < s.state.run_begins.size() && runs * px(8) < width; ++i)
    draw_vertical(s.state.run_begins[i], colours().secondary, 1, named ? fmt::format("run {}", i + 2) : " ");
  if (s.state.parts_at >= 0) shade_range(s.state.parts_at - 0.5, s.state.parts_at + 0.5, faded(colours().bad, 0.28f));
  shade_range(s.scrubbed - 0.5, s.scrubbed + 0.5, faded(colours().accent, 0.22f));
}

/// Draws the histogram of rows by their moves of m over a part of the plot in [from, to].
void draw_row_moves(const Strip& s, ImVec2 from, ImVec2 to) {
  const ImVec2 low{from.x + 0.42f * (to.x - from.x), from.y + px(4)},
      size{to.x - low.x, std::min(0.7f * (to.y - from.y), px(104))};
  if (s.state.rows.moves.empty() || (s.view.hidden_curves & bit(Curve::row_moves)) != 0 || size.y < px(48) || size.x < px(80))
    return;
  ImGui::GetWindowDrawList()->AddRectFilled(low, {low.x + size.x, low.y + size.y}, faded(colours().panel, 0.88f), px(3));
  ImGui::SetCursorScreenPos(low);
  draw_panel(row_move_panel(s.state), {.id = "moves a row"}, size);
}

/// Texts of one plot.
struct StripTexts {
  std::string title, unit;
  Colour unit_colour;
  std::initializer_list<LegendEntry> legend;
  std::string what;
  const char* formula;
};

/// Title, legend and plot in `size`, from the cursor down.
void draw_plot(Strip& s, Plot plot, const char* id, ImVec2 size, const StripTexts& texts) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float header = px(18), unit = text_width(Face::small, texts.unit);
  ImGui::Dummy({size.x, header});
  explain(texts.what, texts.formula);
  const float used = draw_fitted(at, Face::label, colours().text, texts.title, size.x);
  const bool alone = texts.legend.size() == 0;  // the line of names is free
  if (alone || used + px(8) + unit < size.x)
    draw_fitted({at.x + size.x, at.y + px(1) + (alone ? header : 0)}, Face::small, texts.unit_colour, texts.unit, size.x, 1);
  const float names = draw_legend(s.view, {at.x, at.y + header}, size.x, texts.legend) + px(5);
  s.header = std::max(s.header, header + names);
  ImGui::SetCursorScreenPos({at.x, at.y + header + names});
  FigurePanel panel = strip_panel(plot, s.state, s.view);
  const TileRange all = all_tiles(s.result());
  panel.x.min = all.from;
  panel.x.max = all.to;
  PanelLook look{.id = id};
  TileRange& tiles = s.view.tiles;
  if (s.zooms) look.shown = {&tiles.from, &tiles.to, 1};
  look.behind = [&] { draw_behind(s, plot == Plot::running_max); };
  const PanelMouse mouse = draw_panel(panel, look, {size.x, size.y - header - names});
  if (mouse.clicked) scrub_to(s.view, s.result(), std::round(mouse.x));
  if (plot == Plot::rescales) draw_row_moves(s, mouse.from, mouse.to);
}

void draw_max(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  draw_plot(s, Plot::running_max, "running max", size,
            {fmt::format("Max, row {}", m.result->trace.row),
             "S units",
             colours().faint,
             {{Mark::line, Curve::m, "m", "m", colours().a, "The running max that exp sees; purple where it moved.",
               "m_new = max(m, max_j S_ij)"},
              {Mark::ring, Curve::max_true, "true", "true", colours().golden,
               "The largest score so far; a separate line where a stale max lies below it.", "max_j S_ij over the keys so far"},
              {Mark::band, Curve::rows, "rows", "rows", colours().text,
               "The running max of all rows: 50 % and 90 % of them lie in the bands.", "quantiles 5, 25, 75, 95 % of m"},
              {Mark::diamond, Curve::ties, "ties", "ties", colours().text,
               "Tiles in which a further key has exactly the score of the max in use.", "S_ij = m, beyond the first such j"}},
             m.run_begins.empty() ? "The running max of the traced row, tile by tile, and bands of all rows."
                                  : "The running max of the traced row, tile by tile, and bands of all rows. A dashed line: "
                                    "the next run of split_kv begins there, with m, l and O of its own.",
             "m_new = max(m, max_j S_ij)"});
}

void draw_rescales(Strip& s, ImVec2 size) {
  const Rescales& r = s.result().rescales;
  std::string words = fmt::format("{:.2f} a row, H_T − 1 = {:.2f}", r.effective_mean, r.expected);
  constexpr const char* title = "Rescales per tile, all rows";
  if (text_width(Face::label, title) + px(8) + text_width(Face::small, words) >= size.x)
    words = fmt::format("{:.2f} a row", r.effective_mean);
  const std::string formula = fmt::format("P(move at tile t) = 1/t\nH_T - 1 = 1/2 + 1/3 + ... + 1/T = {:.2f}", r.expected);
  draw_plot(s, Plot::rescales, "rescales", size,
            {title,
             words,
             colours().moved,
             {{Mark::bar, Curve::rescales, "moved", "moved", colours().moved,
               "The number of rows whose running max moved at this tile: their l and O were rescaled.", "count of m_new > m"},
              {Mark::line, Curve::expected, "expected", "1/t", colours().text, "The expectation for scores in random order.",
               "P(move at tile t) = 1/t"},
              {Mark::bar, Curve::row_moves, "per row", "per row", colours().moved,
               "Rows by the number of their moves; dashed: the expected mean for scores in random order.",
               "H_T - 1 = 1/2 + 1/3 + ... + 1/T a row"}},
             fmt::format("The running max of a row moved {:.2f} times on average, over {} tiles. For scores in random order "
                         "it is H_T − 1: at tile t the largest score so far is new with probability 1/t.",
                         r.effective_mean, r.tiles),
             formula.c_str()});
}

void draw_sums(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  const bool saturated = m.row.saturated > 0;
  draw_plot(s, Plot::row_sum, "row sum", size,
            {"Sum, α, O",
             saturated ? fmt::format("{} P saturated", m.row.saturated) : "share of largest",
             saturated ? colours().bad : colours().faint,
             {{Mark::line, Curve::l, "l", "l", colours().a,
               "The running row sum after each tile, as a share of its largest value.", "l = alpha l + sum_j e_j"},
              {Mark::dot, Curve::alpha, "alpha", "α", colours().moved,
               "The factor that rescaled l and O; 1 where m did not move.", "alpha = exp(m_old - m_new)"},
              {Mark::line, Curve::O_norm, "O", "|O|", colours().text,
               "The Euclidean norm of the running output, as a share of its largest value.", "|O| = sqrt(sum_c O_c^2)"},
              {Mark::line, Curve::P_max, "P", "largest P", colours().a,
               "One more plot: the largest P of each tile, and where P's format saturates.",
               "max_j P_ij <= largest number of the format"}},
             "Row sum, rescale factor and output of the traced row after each tile. Coral: a P lies beyond its format.",
             "alpha = exp(m_old - m_new)\nl = alpha l + sum_j e_j\nO = alpha O + P.V"});
}

void draw_P(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  const bool seen = m.P_limit > 0 && m.P_limit < m.axes.P_high,
             two_pass = m.result->experiment.a.algorithm == Algorithm::two_pass;
  draw_plot(
      s, Plot::largest_P, "largest P", size,
      {fmt::format("Largest P, row {}", m.result->trace.row),
       m.P_limit > 0 ? (seen ? "" : "↑ ") + std::string("saturates at ") + compact(m.P_limit)
       : two_pass    ? "e of the first pass"
                     : "P is not rounded",
       seen ? colours().bad : colours().faint,
       {},
       "The largest P of each tile, and the largest number of P's format (dashed): beyond it P overflows, saturates or is NaN.",
       "max_j P_ij <= (2 - 2^-mantissa) 2^max_exponent"});
}

void draw_errors(Strip& s, ImVec2 size) {
  const StripState& m = s.state;
  const MethodNames names = method_names(m.result->experiment);
  const bool two_pass = m.result->experiment.a.algorithm == Algorithm::two_pass;
  draw_plot(s, Plot::error, "error so far", size,
            {fmt::format("Error so far, row {}", m.result->trace.row),
             !m.row.error.empty() ? "max, log"
             : two_pass           ? "O comes with the second pass"
                                  : "every error is NaN",
             colours().faint,
             {{Mark::line, Curve::error, "error", names.a, colours().a, "The error of O/l if the loop ended at this tile.",
               "max |O/l - golden(keys so far)|"},
              {Mark::dashes, Curve::b_error, "error of b", names.b_after_a + " at the end", colours().b,
               m.of_b ? "The error of your kernel in this row." : "The final error of b in this row.",
               m.of_b ? "max |a - golden|" : "max |b - golden|"}},
             "The error of O/l if the loop ended at this tile, golden taken over the same keys.",
             "max |O/l - golden(keys so far)|"});
}

/// Draws a plot of `all_strip_plots`.
constexpr std::array draw_one{draw_max, draw_rescales, draw_sums, draw_P, draw_errors};
static_assert(draw_one.size() == all_strip_plots.size());

/// Sets the axis to whole decades around 1 (the tolerance) and the finite errors.
void find_axis(KernelRows& rows) {
  double least = 1, most = 1;
  for (const double x : rows.share)
    if (std::isfinite(x) && x > 0) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
  rows.high = std::pow(10.0, std::ceil(std::log10(most) + 0.1));
  rows.low = std::max(std::pow(10.0, std::floor(std::log10(least))), rows.high * 1e-8);
}

void take_tiles(KernelRows& rows, const HeadJudgement& found) {
  for (std::size_t row = 0; row < found.row_ratio.size(); ++row) {
    const int tile = static_cast<int>(row) / rows.tile;
    if (static_cast<std::size_t>(tile) == rows.row.size()) {
      rows.row.push_back((tile + 0.5) * rows.tile);
      rows.share.push_back(0);
    }
    rows.share.back() = std::max(rows.share.back(), found.row_ratio[row]);
  }
  int last = -1;
  for (const int row : found.wrong_rows) {
    if (row / rows.tile == last) continue;
    last = row / rows.tile;
    rows.bad.push_back((last + 0.5) * rows.tile);
    rows.first_bad.push_back(row);
  }
}

/// Traces the row at `at`, or the first wrong row of its tile.
void choose_row(Session& session, const KernelRows& rows, double at) {
  const int n = session.experiment.problem.n;
  int row = std::clamp(static_cast<int>(at), 0, n - 1);
  for (std::size_t i = 0; i < rows.bad.size(); ++i)
    if (std::abs(rows.bad[i] - at) <= rows.tile / 2.0) row = rows.first_bad[i];
  session.experiment.problem.traced_row = row;
}

/// Background of the curve: wrong rows and the traced row.
void draw_marks(const Session& session, const KernelRows& rows) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  ImDrawList* list = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  const double n = rows.found->experiment.problem.n;
  const auto x_of = [&](double row) { return static_cast<float>(at.x + size.x * row / n); };
  float drawn = at.x;
  for (const int row : rows.found->call.worst_row().found.wrong_rows) {
    if (x_of(row + 1.0) <= drawn) continue;  // its pixel is marked
    const float from = std::max(drawn, x_of(row)), to = std::max(from + px(1), x_of(row + 1.0));
    drawn = to;
    list->AddRectFilled({from, at.y}, {to, at.y + size.y}, faded(colours().bad, 0.28f));
    list->AddRectFilled({from, at.y + size.y - px(3)}, {to, at.y + size.y}, colours().bad);
  }
  const float x = x_of(traced_row(session.experiment.problem) + 0.5);
  list->AddLine({x, at.y}, {x, at.y + size.y}, faded(colours().text, 0.5f));
  ImPlot::PopPlotClipRect();
}

}  // namespace

std::span<const Plot> strip_plots(const View& view) {
  static constexpr std::array without_P{Plot::running_max, Plot::rescales, Plot::row_sum, Plot::error};
  if ((view.hidden_curves & bit(Curve::P_max)) == 0) return all_strip_plots;
  return without_P;
}

float draw_recurrence_plots(View& view, const StripState& state, std::span<const Plot> plots, ImVec2 size, bool zooms) {
  const auto index = static_cast<std::size_t>(scrubbed(*state.result, view));
  const float count = static_cast<float>(plots.size()), gap = px(16), width = std::floor((size.x - gap * (count - 1)) / count);
  Strip strip{view, state, zooms, state.result->trace.tiles[index].tile};
  ImVec2 at = ImGui::GetCursorScreenPos();
  const float below = at.y + size.y;
  for (const Plot plot : plots) {
    ImGui::SetCursorScreenPos(at);
    draw_one[place_in(all_strip_plots, plot)](strip, {width, size.y});
    at.x += width + gap;
  }
  ImGui::SetCursorScreenPos({at.x - count * (width + gap), below});
  return strip.header;
}

bool refresh_kernel_rows(KernelRows& rows, const PanelInput& input) {
  const CallJudgement* const call = shown_verdict(input);
  if (call == nullptr || !has_loaded(input.answer.result->experiment) || !call->incomparable().empty()) return false;
  const Result& r = *input.answer.result;
  const bool unknown = has_several_outputs(r.experiment, input.choices) && !shown_verdicts(r.experiment, input).rounded();
  const bool of_a = r.experiment.a.algorithm == Algorithm::loaded;
  const int tile = tile_rows(of_a ? r.experiment.b : r.experiment.a, r.experiment.problem.n);
  rows.others_unknown = unknown;
  if (rows.found == input.side.verdict && rows.of_a == of_a && rows.tile == tile) return true;
  rows = {.found = input.side.verdict, .of_a = of_a, .others_unknown = unknown, .tile = tile};
  take_tiles(rows, call->worst_row().found);
  find_axis(rows);
  return true;
}

FigurePanel kernel_rows_panel(const KernelRows& rows) {
  FigurePanel p;
  const double n = rows.found->experiment.problem.n;
  const std::string title = fmt::format("max |error| / tolerance, {} rows a tile", rows.tile);
  p.x = {.label = "row", .whole = true, .min = 0, .max = n};
  p.y = {.label = title, .log = true, .min = rows.low, .max = rows.high};
  const auto shown = [&](double share) { return std::clamp(share, rows.low, rows.high); };
  Series errors = series_of("your kernel", rows.of_a ? Ink::a : Ink::b, Shape::steps, rows.row, rows.share);
  std::ranges::transform(errors.y, errors.y.begin(), shown);
  Series level = series_of("tolerance", Ink::text, Shape::line, {0, n}, {1, 1});
  level.dashed = true;
  p.series = {std::move(errors), std::move(level)};
  if (rows.bad.empty()) return p;
  Series wrong = series_of("tile with a wrong row", Ink::bad, Shape::marks, rows.bad);
  for (const int row : rows.first_bad) wrong.y.push_back(shown(rows.share[static_cast<std::size_t>(row / rows.tile)]));
  p.series.push_back(std::move(wrong));
  return p;
}

std::string kernel_rows_csv(const HeadJudgement& found) {
  std::string text = "row,error_over_tolerance,wrong\n";
  for (std::size_t row = 0; row < found.row_ratio.size(); ++row)
    text += fmt::format("{},{},{}\n", row, found.row_ratio[row],
                        std::ranges::binary_search(found.wrong_rows, static_cast<int>(row)) ? 1 : 0);
  return text;
}

void draw_kernel_rows(Session& session, const KernelRows& rows, ImVec2 at, ImVec2 size) {
  const float header = px(kernel_rows_title), names = px(kernel_rows_words);
  take_room(at, {size.x, header});
  explain(
      "Places where your kernel fails: the largest error of each tile of rows over its tolerance (dashed), and every wrong row "
      "as a mark. A click traces the first wrong row of its tile.",
      "max |O - golden| / tolerance of the tile's rows");
  const std::size_t count = rows.found->call.worst_row().found.wrong_rows.size();
  const std::string words =
      count == 0 ? "no row is wrong" : fmt::format("{} {}", count, count == 1 ? "row is wrong" : "rows are wrong");
  draw_fitted(at, Face::label, colours().text, "Your kernel by rows", size.x);
  draw_fitted({at.x, at.y + header}, Face::small,
              !rows.bad.empty()     ? colours().bad
              : rows.others_unknown ? colours().secondary
                                    : colours().good,
              words, size.x);
  const ImVec2 from{at.x, at.y + header + names}, room{size.x, size.y - header - names};
  ImGui::SetCursorScreenPos(from);
  ImGui::SetNextItemAllowOverlap();
  ImGui::InvisibleButton("kernel rows", room);
  const bool clicked = ImGui::IsItemDeactivated() && ImGui::IsItemHovered();
  ImGui::SetCursorScreenPos(from);
  const double n = rows.found->experiment.problem.n;
  if (!begin_plot({"##kernel rows", 0, n, rows.low, rows.high, true, {}, {}, {}, {}}, room)) return;
  draw_marks(session, rows);
  Series errors = series_of("error / tolerance", rows.of_a ? Ink::a : Ink::b, Shape::steps, rows.row, rows.share);
  draw_clamped_steps("##errors", errors, rows.low, rows.high, stroke(rows.of_a ? colours().a : colours().b), rows.tile);
  draw_dashed(ImPlot::GetPlotDrawList(), ImPlot::PlotToPixels(0.0, 1.0), ImPlot::PlotToPixels(n, 1.0), colours().text, px(5),
              px(3));
  if (clicked) {
    const ImVec2 left = ImPlot::GetPlotPos();
    choose_row(session, rows, (ImGui::GetIO().MousePos.x - left.x) / ImPlot::GetPlotSize().x * n);
  }
  end_plot();
}

}  // namespace attoscope::ui
