#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/sweep/panels.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Layout of the three panels: side by side, or in a narrow window the table under the picture.
struct SweepLayout {
  Box plan, picture, rows;
};

SweepLayout layout() {
  const auto& [from, to] = between_bars();
  const float width = to.x - from.x, left = std::floor(from.x + std::min(px(316), 0.45f * width));
  if (width < px(1160)) {
    const float below = std::floor(to.y - std::clamp(0.34f * (to.y - from.y), px(96), px(240)));
    return {{from, {left, to.y}}, {{left, from.y}, {to.x, below}}, {{left, below}, to}};
  }
  const float right = std::floor(to.x - std::clamp(0.25f * width, px(404), px(460)));
  return {{from, {left, to.y}}, {{left, from.y}, {right, to.y}}, {{right, from.y}, to}};
}

using State = SweepProgress::State;

constexpr float button_width = 76;

const char* next_text(const SweepProgress& p) {
  constexpr EnumArray<State, const char*> texts{"run###run sweep", "pause###run sweep", "resume###run sweep",
                                                "done###run sweep"};
  return p.state == State::done && p.failed > 0 ? "try again###run sweep" : texts[p.state];
}

void draw_buttons(const SweepScene& s) {
  const SweepProgress& p = s.sweep().progress;
  const SweepRequest next = next_request(p);
  if (push_button(next_text(p), next == SweepRequest::run, {px(button_width), 0}, next != SweepRequest::none))
    s.requests.sweep = next;
  explain(
      "Computes the missing points, the newest plan first; pressed again, it pauses. Finished points are kept on disk and not "
      "computed again, even after a restart; points that failed are tried again. Key R.");
  ImGui::SameLine(0, px(8));
  const bool under_way = p.state == State::running || p.state == State::paused;
  if (push_button("cancel###cancel sweep", false, {px(button_width), 0}, under_way)) s.requests.sweep = SweepRequest::cancel;
  explain("Stops the sweep. Finished points are kept. Key Esc.");
}

void draw_progress_line(const SweepScene& s, ImVec2 at, float width) {
  const SweepProgress& p = s.sweep().progress;
  if (p.points == 0) return;
  const std::string all = progress_text(p);
  const float thick = px(6), gap = px(10), said = text_width(Face::mono_small, all);
  const float bar = std::clamp(width - gap - said, thick, std::min(px(160), width / 3));
  draw_bar({at.x, at.y + (px(control_height) - thick) / 2}, bar, thick,
           static_cast<double>(p.done) / static_cast<double>(p.points),
           p.state == State::done ? colours().good : colours().accent);
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("progress", {bar, px(control_height)});
  explain("Finished points of the plan. The time left is estimated from the points computed since the start.");
  const float text_y = at.y + (px(control_height) - line_height(Face::mono_small)) / 2, text_x = at.x + bar + gap;
  const bool fits = said <= width - bar - gap;
  const std::string text = fits ? all : fitted(Face::mono_small, fmt::format("{} of {}", p.done, p.points), width - bar - gap);
  const float end = text_x + draw_text({text_x, text_y}, Face::mono_small, colours().secondary, text) + px(12);
  if (p.failed > 0 && end < at.x + width - px(80))
    draw_fitted({end, text_y}, Face::mono_small, colours().bad, fmt::format("{} failed", p.failed), at.x + width - end);
}

TableCell number_cell(const SweepCell& cell, double number) { return cell.count > 0 ? TableCell(number) : TableCell(); }

/// Table of the means and their spread; with a column of errors if there are any.
Table rows_table(const SweepTable& t) {
  Table table;
  for (const SweepValues& axis : t.axes) table.columns.push_back({.key = axis.key, .meaning = axis.title + "."});
  table.columns.push_back(
      {.key = "mean", .title = t.has_rival ? t.methods[0] : "", .digits = 4, .meaning = "Mean over the seeds."});
  if (t.has_rival)
    table.columns.push_back({.key = "rival", .title = t.methods[1], .digits = 4, .meaning = "Mean of the other method."});
  table.columns.push_back({.key = "std", .digits = 3, .meaning = "Standard deviation over the seeds."});
  table.columns.push_back({.key = "min", .digits = 4, .meaning = "The least of the seeds.", .minor = true});
  table.columns.push_back({.key = "max", .digits = 4, .meaning = "The largest of the seeds.", .minor = true});
  table.columns.push_back({.key = "seeds", .meaning = "Seeds that are computed."});
  if (!t.errors.empty()) table.columns.push_back({.key = "error", .meaning = "The reason why there is no number."});
  for (std::size_t i = 0; i < t.cells.size(); ++i) {
    const SweepCell& c = t.cells[i];
    auto& row = table.rows.emplace_back(1, t.axes[0].names[i / t.across()]);
    if (t.axes.size() > 1) row.push_back(t.axes[1].names[i % t.across()]);
    row.push_back(number_cell(c, c.mean));
    if (t.has_rival) row.push_back(number_cell(c, c.rival));
    for (const double x : {c.std, c.min, c.max}) row.push_back(number_cell(c, x));
    row.push_back(table_cell(c.count));
    if (!t.errors.empty()) row.push_back(c.error >= 0 ? t.errors[static_cast<std::size_t>(c.error)] : "");
  }
  return table;
}

/// Result in words, progress, and buttons that run, pause and cancel.
void draw_sweep_header(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const SweepWords words = sweep_words(s.sweep(), s.plan(), s.state.drawing.extremes);
  const std::string& remark = s.sweep().progress.remark;
  draw_words(words.headline, colours().text, remark.empty() ? words.sentence : remark,
             remark.empty() ? colours().secondary : colours().bad);
  const float top = ImGui::GetItemRectMax().y + px(6);
  ImGui::SetCursorScreenPos({at.x, top});
  draw_buttons(s);
  const float left = px(2 * button_width + 8 + 16);
  draw_progress_line(s, {at.x + left, top}, width - left);
  take_room({at.x, top + px(control_height + 4)}, {0, 0});
}

/// All combinations, one line each.
void draw_sweep_rows(const SweepScene& s) {
  const float width = ImGui::GetContentRegionAvail().x;
  if (!s.state.drawing.table) {
    wrapped(Face::label, "The table of all combinations: mean over seeds, standard deviation, least and largest value.", width);
    return;
  }
  const SweepTable& t = *s.state.drawing.table;
  if (s.state.rows_of != s.state.drawing.table) {
    s.state.rows_of = s.state.drawing.table;
    s.state.rows = rows_table(t);
    s.state.row_numbers = column_numbers(s.state.rows);
  }
  label(Face::label, colours().text, fitted(Face::label, measure_title(t), width));
  std::optional<std::size_t> hovered;
  const auto row = [&](std::size_t i) {
    const SweepCell& c = t.cells[i];
    return TableRow{.id = "row " + std::to_string(i),
                    .meaning = c.error >= 0  ? t.errors[static_cast<std::size_t>(c.error)]
                               : c.count > 0 ? "A click opens this experiment in Explore; Ctrl+Z returns."
                                             : "Not computed yet.",
                    .chosen = s.state.pointed == place_of(t, i)};
  };
  const auto clicked = draw_table("rows", s.state.rows, {.row = row, .hovered = &hovered, .numbers = &s.state.row_numbers});
  if (hovered) s.state.pointing = place_of(t, *hovered);
  if (clicked && t.cells[*clicked].count > 0) s.requests.open_point = place_of(t, *clicked);
}

}  // namespace

void draw_sweep(const Frame& frame) {
  if (!frame.state.sweep) frame.state.sweep = std::make_shared<SweepState>();
  SweepState& m = *frame.state.sweep;
  refresh(m.drawing, frame.input.sweep.table, frame.session.sweep);
  if (!(m.zoomed == frame.session.sweep.first)) {
    m.zoomed = frame.session.sweep.first;
    m.zoom_from = m.zoom_to = 0;
  }
  m.pointed = std::exchange(m.pointing, std::nullopt);
  const SweepScene scene{frame.session, frame.input, m, frame.requests};
  const SweepLayout at = layout();
  constexpr ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  panel("Sweep plan", at.plan, ImGuiWindowFlags_None, [&] { draw_sweep_plan(scene); });
  panel("Sweep picture", at.picture, still, [&] {
    draw_edges(at.picture, false);
    draw_sweep_header(scene);
    draw_sweep_picture(scene);
  });
  panel("Sweep rows", at.rows, still, [&] {
    draw_edges(at.rows, at.rows.min.x == at.picture.min.x);
    draw_sweep_rows(scene);
  });
}

SweepRequest next_request(const SweepProgress& p) {
  const bool wrong = !p.wrong.empty() || !p.wrong_values[0].empty() || !p.wrong_values[1].empty();
  if (p.state == State::running) return SweepRequest::pause;
  return (p.state == State::done && p.failed == 0) || p.points == 0 || wrong ? SweepRequest::none : SweepRequest::run;
}

}  // namespace attoscope::ui
