// The Explore workspace: four panels, docked.
#include <array>
#include <string>
#include <utility>

#include "ui/csv.h"
#include "ui/heatmap_view.h"
#include "ui/layout.h"
#include "ui/panels.h"
#include "ui/pins.h"
#include "ui/recurrence.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

template <class Draw>
void panel(const char* name, ImGuiWindowFlags flags, Draw draw) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(8)});
  const bool open = ImGui::Begin(
      name, nullptr, flags | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar();
  if (open) draw();
  ImGui::End();
}

/// A part of the screen.
struct Part {
  ImVec2 min, max;
};
Part rest_of_panel() {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  return {at, {at.x + size.x, at.y + size.y}};
}

Keepsake kept(std::string name, const Part& part, std::string csv) {
  return {std::move(name), part.min.x, part.min.y, part.max.x, part.max.y, std::move(csv)};
}

/// A save button for each plot of the strip.
void save_strip(const View& view, const Result& result, const Part& strip, const Palette& colours, Wishes& wishes) {
  constexpr std::array<const char*, 5> names{"running max", "rescales", "row sum", "largest P", "error"};
  const bool shows_P = (view.hidden_curves & bit(Curve::P_max)) == 0;
  const int count = shows_P ? 5 : 4;
  const float step = (strip.max.x - strip.min.x + px(16)) / static_cast<float>(count);
  for (int i = 0; i < count; ++i) {
    const char* name = names[static_cast<std::size_t>(!shows_P && i == 3 ? 4 : i)];
    const float left = strip.min.x + static_cast<float>(i) * step;
    const Part plot{{left, strip.min.y}, {left + step - px(16), strip.max.y - px(44)}};
    if (save_button(name, plot.min, plot.max, colours)) wishes.save = kept(name, plot, recurrence_csv(result));
  }
}

}  // namespace

bool is_stale(const Frame& frame) {
  return frame.computing && frame.computing_seconds > 0.1 && !(frame.result && is_first_answer(*frame.result));
}

void dim_if_stale(const Frame& frame, const Palette& colours) {
  if (!is_stale(frame)) return;
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours.panel, 0.35f));
}

void draw_explore(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  const ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  panel(controls_window, session.view.show_pins ? still : 0, [&] {
    session.view.show_pins ? draw_pins(session, frame, memory, colours, wishes)
                           : draw_controls(session, frame, memory, colours, wishes);
  });
  panel(statistics_window, still, [&] { draw_statistics(session, frame, memory, colours, wishes); });
  panel(heatmap_window, still, [&] {
    const Part all = rest_of_panel();
    draw_heatmap(session, frame, memory, colours, wishes);
    if (frame.result && save_button("heat map", all.min, all.max, colours, true))
      wishes.save = kept("heat map", all, picture_csv(session.view, frame, memory.heat));
  });
  panel(recurrence_window, still, [&] {
    const Part all = rest_of_panel();
    draw_recurrence(session, frame, memory, colours, wishes);
    if (frame.result && !frame.result->trace.tiles.empty()) save_strip(session.view, *frame.result, all, colours, wishes);
  });
}

}  // namespace attoscope
