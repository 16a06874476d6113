#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/recurrence/recurrence.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sets the axis to whole decades around 1 (the tolerance) and the finite errors.
void find_axis(KernelRows& rows) {
  double least = 1, most = 1;
  for (const double x : rows.share)
    if (std::isfinite(x) && x > 0) least = std::min(least, x), most = std::max(most, x);
  rows.high = std::pow(10.0, std::ceil(std::log10(most) + 0.1));
  rows.low = std::max(std::pow(10.0, std::floor(std::log10(least))), rows.high * 1e-8);
}

void take_tiles(KernelRows& rows, const HeadJudgement& found) {
  for (std::size_t row = 0; row < found.row_ratio.size(); ++row) {
    const int tile = static_cast<int>(row) / rows.tile;
    if (static_cast<std::size_t>(tile) == rows.row.size())
      rows.row.push_back((tile + 0.5) * rows.tile), rows.share.push_back(0);
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

/// "64 rows are wrong", or "no row is wrong".
std::string words_of(const KernelRows& rows) {
  const std::size_t count = rows.found->call.worst_row().found.wrong_rows.size();
  return count == 0 ? "no row is wrong" : fmt::format("{} {}", count, count == 1 ? "row is wrong" : "rows are wrong");
}

/// Traces the row at `at`, or the first wrong one of its tile.
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
  float drawn = at.x;
  for (const int row : rows.found->call.worst_row().found.wrong_rows) {
    const float from = std::max(drawn, ImPlot::PlotToPixels(row, rows.high).x),
                to = std::max(from + px(1), ImPlot::PlotToPixels(row + 1.0, rows.high).x);
    if (ImPlot::PlotToPixels(row + 1.0, rows.high).x < drawn) continue;
    drawn = to;
    list->AddRectFilled({from, at.y}, {to, at.y + size.y}, faded(colours().bad, 0.28f));
    list->AddRectFilled({from, at.y + size.y - px(3)}, {to, at.y + size.y}, colours().bad);
  }
  const int traced = session.experiment.problem.traced_row, n = rows.found->experiment.problem.n;
  const float x = ImPlot::PlotToPixels((traced < 0 ? n + traced : traced) + 0.5, rows.high).x;
  list->AddLine({x, at.y}, {x, at.y + size.y}, faded(colours().text, 0.5f));
  ImPlot::PopPlotClipRect();
}

}  // namespace

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
  p.x = number_axis("row");
  p.x.min = 0, p.x.max = n, p.x.whole = true;
  p.y = number_axis(fmt::format("max |error| / tolerance, {} rows a tile", rows.tile), true);
  p.y.min = rows.low, p.y.max = rows.high;
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
  const float header = px(18), names = px(21);
  take_room(at, {size.x, header});
  explain(
      "Places where your kernel fails: the largest error of each tile of rows over its tolerance (dashed), and every wrong row "
      "as a mark. A click traces the first wrong row of its tile.",
      "max |O - golden| / tolerance of the tile's rows");
  const std::string words = words_of(rows);
  draw_text(at, Face::label, colours().text, fitted(Face::label, "Your kernel by rows", size.x));
  draw_text({at.x, at.y + header}, Face::small,
            !rows.bad.empty()     ? colours().bad
            : rows.others_unknown ? colours().secondary
                                  : colours().good,
            fitted(Face::small, words, size.x));
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
