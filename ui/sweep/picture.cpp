// Choice of the picture for a plan, and the mouse in all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "implot.h"
#include "ui/picture/picture_frame.h"
#include "ui/sweep/panels.h"
#include "ui/sweep/words.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// The read-out of a combination.
std::vector<NoteLine> note(const SweepScene& s, const SweepPlace& place, const SweepCell& c) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const auto in_digits = [&](double x) { return mean_text(d.extremes, x, 1); };
  std::vector<NoteLine> lines{{colours().text, place_text(t, place)}};
  if (c.count > 0) {
    lines.push_back({colours().text, fmt::format("mean {:10} std {:10}", in_digits(c.mean), in_digits(c.std))});
    lines.push_back({colours().secondary, fmt::format("min  {:10} max {:10}", in_digits(c.min), in_digits(c.max))});
  }
  if (t.has_rival && c.count > 0) lines.push_back({colours().b, t.methods[1] + "  " + in_digits(c.rival)});
  if (c.error >= 0) lines.push_back({colours().bad, t.errors[static_cast<std::size_t>(c.error)]});
  lines.push_back({colours().faint, fmt::format("{} of {}", c.count, t.repeats) +
                                        (c.count > 0 && s.opens ? "; a click opens it in Explore" : "")});
  return lines;
}

/// Text in the place of a missing picture.
void draw_empty(const SweepScene& s, const Box& box) {
  const SweepProgress& p = s.sweep().progress;
  std::string text = "Run the sweep: its points appear here as they are computed.";
  if (p.points == 0)
    text = "The red sentence at the left says what the plan still needs.";
  else if (p.state == SweepProgress::State::running)
    text = "The first points are being computed.";
  else if (p.failed > 0 && p.failed == p.done)
    text = "No point could be computed: the table says why.";
  else if (p.done > 0 && s.state.drawing.extremes.known == 0)
    text = "No mean is a finite number: see the table.";
  draw_text({(box.min.x + box.max.x) / 2, (box.min.y + box.max.y) / 2}, Face::label, colours().faint, text, 0.5f);
}

/// Place of point i of line k on screen.
ImVec2 on_screen(const FigurePanel& p, std::size_t k, std::size_t i) {
  const double x = p.series[k].x[i] + category_shift(p, k), y = p.series[k].y[i];
  return p.x.categories.empty() ? ImPlot::PlotToPixels(x, y) : ImPlot::PlotToPixels(y, x);
}

/// The combination whose mean is nearest to the mouse, within 24 px.
std::optional<SweepPlace> nearest(const SweepDrawing& d) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::optional<SweepPlace> best;
  float reach = px(24);
  for (std::size_t k = 0; k < d.places.size(); ++k)
    for (std::size_t i = 0; i < d.places[k].size(); ++i) {
      const ImVec2 at = on_screen(d.panel, k, i);
      if (const float away = std::hypot(at.x - mouse.x, at.y - mouse.y); away < reach) reach = away, best = d.places[k][i];
    }
  return best;
}

/// A ring around the combination under the mouse, here or in the table.
void draw_pointed(const SweepScene& s) {
  const SweepDrawing& d = s.state.drawing;
  for (std::size_t k = 0; k < d.places.size(); ++k)
    for (std::size_t i = 0; i < d.places[k].size(); ++i)
      if (s.state.pointed == d.places[k][i])
        ImPlot::GetPlotDrawList()->AddCircle(on_screen(d.panel, k, i), px(7), colours().text, 0, px(1.5f));
}

/// Line at a ratio of 1.
void draw_equal(const SweepDrawing& d) {
  if (d.table->of != "ratio") return;
  if (has_categories(*d.table)) return draw_vertical(1, colours().secondary, 1, "equal errors");
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float y = ImPlot::PlotToPixels(ImPlot::GetPlotLimits().X.Min, 1).y;
  draw_dashed(ImPlot::GetPlotDrawList(), {at.x, y}, {at.x + size.x, y}, colours().secondary, px(5), px(4));
  draw_text(ImPlot::GetPlotDrawList(), {at.x + px(6), y - px(16)}, Face::small, colours().faint, "equal errors");
}

/// Names of the lines above marks, which have no ends.
void draw_line_names(const SweepScene& s, ImVec2 at, float width) {
  std::vector<LegendName> names;
  for (const Series& line : s.state.drawing.panel.series) names.push_back(legend_name(line, false));
  for (LegendName& name : names) name.mark = CurveMark::dot, name.what.clear();
  draw_legend(at, width, names);
}

/// The caption under the plot: the first parameter, or what is measured.
std::string caption_of(const SweepDrawing& d) {
  const FigureAxis& across = d.panel.x.categories.empty() ? d.panel.x : d.panel.y;
  const std::size_t shown = d.places.size();
  return across.label + (across.log ? ", log" : "") +
         (d.left_out > 0 ? fmt::format("; {} of {} lines, evenly chosen", shown, shown + d.left_out) : "");
}

}  // namespace

void point_at(const SweepScene& s, const std::optional<SweepPlace>& place, bool over, bool clicked, const Box& box) {
  const SweepCell* const cell = place ? cell_at(*s.state.drawing.table, *place) : nullptr;
  if (!over || cell == nullptr) return;
  s.state.pointing = place;
  if (clicked && s.opens && cell->count > 0) s.requests.open_point = place;
  draw_note(box, ImGui::GetIO().MousePos, note(s, *place, *cell));
}

void draw_sweep_picture(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const Box box{{at.x, at.y + px(8)}, {at.x + room.x, at.y + room.y}};
  if (room.x < px(120) || room.y < px(80)) return;
  const SweepDrawing& d = s.state.drawing;
  const bool shows_names = d.table && has_categories(*d.table);
  if (!d.table || (d.extremes.known == 0 && !(shows_names && s.sweep().progress.done > 0))) return draw_empty(s, box);
  if (d.table->axes.size() > 1 && s.plan().heat_map)
    draw_sweep_heat_map(s, box);
  else
    draw_sweep_lines(s, box);
  if (s.sweep().progress.stale) ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, faded(colours().panel, 0.5f));
  offer_export({Plot::sweep, "sweep", at, box.max, [&] { return sweep_csv(*d.table); }}, s.session.view, s.requests);
}

void draw_sweep_lines(const SweepScene& s, const Box& box) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const bool names = has_categories(t), named = d.panel.series.size() > 1;
  const float width = box.max.x - box.min.x, header = names && named ? px(20) : 0;
  if (header > 0) draw_line_names(s, box.min, width);
  PanelLook look{.id = "points"};
  if (!names) {
    if (s.opens) look.shown = {&s.state.zoom_from, &s.state.zoom_to, 1e-9};  // a lesson's page keeps the wheel
    look.ticks = t.axes[0].numbers, look.names = t.axes[0].names;
    look.label_width = px(8);
    if (named)
      for (const Series& line : d.panel.series)
        look.label_width =
            std::max(look.label_width, std::min(text_width(Face::mono_small, line.label) + px(14), 0.3f * width));
    if (named) look.label = [](const Series& line) { return line.label; };
  }
  std::optional<SweepPlace> under;
  look.behind = [&] { draw_equal(d); };
  look.above = [&] { draw_pointed(s), under = nearest(d); };
  const float below = px(20), room = box.max.y - box.min.y - below - header;
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + header});
  if (names)
    ImGui::BeginChild("lines", {width, room}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);  // it scrolls
  const float tall = names ? px(40) + px(14) * static_cast<float>(t.axes[0].names.size()) : 0;
  const PanelMouse mouse = draw_panel(d.panel, look, {names ? ImGui::GetContentRegionAvail().x : width, std::max(room, tall)});
  point_at(s, under, mouse.over, mouse.clicked, {mouse.from, mouse.to});
  if (names) ImGui::EndChild();
  const std::string caption = fitted(Face::small, caption_of(d), width);
  const float half = text_width(Face::small, caption) / 2,
              middle = std::max(box.min.x + half, std::min((mouse.from.x + mouse.to.x) / 2, box.max.x - half));
  draw_text({middle, box.max.y - px(16)}, Face::small, colours().faint, caption, 0.5f);
}

}  // namespace attoscope::ui
