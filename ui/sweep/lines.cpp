// Means over the first parameter: a line for each value of the second, or marks where its values are names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "implot.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

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

/// Line at a ratio of 1, where a and b have equal errors.
void draw_equal(const SweepDrawing& d) {
  if (d.table->of != "ratio") return;
  if (has_categories(*d.table)) return draw_vertical(1, colours().secondary, 1, "a = b");
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float y = ImPlot::PlotToPixels(ImPlot::GetPlotLimits().X.Min, 1).y;
  draw_dashed(ImPlot::GetPlotDrawList(), {at.x, y}, {at.x + size.x, y}, colours().secondary, px(5), px(4));
  draw_text(ImPlot::GetPlotDrawList(), {at.x + px(6), y - px(16)}, Face::small, colours().faint, "a = b");
}

/// Names of the lines above marks, which have no ends.
void draw_line_names(const SweepScene& s, ImVec2 at, float width) {
  std::vector<LegendName> names;
  for (const Series& line : s.state.drawing.panel.series) names.push_back(legend_name(line, false));
  for (LegendName& name : names) name.mark = CurveMark::dot;
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

void draw_sweep_lines(const SweepScene& s, const Box& box) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const bool names = has_categories(t), named = d.panel.series.size() > 1;
  const float width = box.max.x - box.min.x, head = names && named ? px(20) : 0;
  if (head > 0) draw_line_names(s, box.min, width);
  FigurePanel panel = d.panel;
  if (t.axes.size() < 2 && t.of == "b") panel.series[0].ink = Ink::b;
  PanelLook look{.id = "points"};
  if (!names) {
    if (s.opens) look.shown = {&s.state.zoom_from, &s.state.zoom_to, 1e-9};  // a lesson's page keeps the wheel
    look.ticks = t.axes[0].numbers, look.names = t.axes[0].names;
    look.label_width =
        named ? std::min(text_width(Face::mono_small, t.axes.size() > 1 ? d.longest[1] : "b") + px(14), width / 4) : px(8);
    if (named) look.label = [](const Series& line) { return line.label; };
  }
  std::optional<SweepPlace> under;
  look.behind = [&] { draw_equal(d); };
  look.above = [&] { draw_pointed(s), under = nearest(d); };
  const float below = px(20), room = box.max.y - box.min.y - below - head;
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + head});
  if (names) ImGui::BeginChild("lines", {width, room}, ImGuiChildFlags_None, ImGuiWindowFlags_NoBackground);  // it scrolls
  const float tall = names ? px(40) + px(14) * static_cast<float>(t.axes[0].names.size()) : 0;
  const PanelMouse mouse = draw_panel(panel, look, {names ? ImGui::GetContentRegionAvail().x : width, std::max(room, tall)});
  point_at(s, under, mouse.over, mouse.clicked, {mouse.from, mouse.to});
  if (names) ImGui::EndChild();
  draw_text({(mouse.from.x + mouse.to.x) / 2, box.max.y - px(16)}, Face::small, colours().faint, caption_of(d), 0.5f);
}

}  // namespace attoscope
