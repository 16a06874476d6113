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
#include "ui/save_menu.h"
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

/// A save button for each plot of the strip, and at its foot one for all of them.
void keep_strip(View& view, const Result& result, const Part& strip, const Palette& colours, Wishes& wishes) {
  constexpr std::array<std::pair<Plot, const char*>, 5> plots{{{Plot::running_max, "running max"},
                                                               {Plot::rescales, "rescales"},
                                                               {Plot::row_sum, "row sum"},
                                                               {Plot::largest_P, "largest P"},
                                                               {Plot::error, "error"}}};
  const bool shows_P = (view.hidden_curves & bit(Curve::P_max)) == 0;
  const int count = shows_P ? 5 : 4;
  const float step = (strip.max.x - strip.min.x + px(16)) / static_cast<float>(count), foot = strip.max.y - px(44);
  const auto csv = [&] { return recurrence_csv(result); };
  for (int i = 0; i < count; ++i) {
    const auto& [plot, name] = plots[static_cast<std::size_t>(!shows_P && i == 3 ? 4 : i)];
    const float left = strip.min.x + static_cast<float>(i) * step;
    offer_to_keep({plot, name, {left, strip.min.y}, {left + step - px(16), foot}, csv}, view, colours, wishes);
  }
  offer_to_keep({Plot::strip, "recurrence", {strip.max.x - px(48), foot}, strip.max, csv, true}, view, colours, wishes);
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
    if (!frame.result) return;
    const auto csv = [&] { return picture_csv(session.view, frame, memory.heat); };
    const bool has_field = session.view.picture == PictureKind::output;
    offer_to_keep({Plot::heat_map, "heat map", all.min, all.max, csv, true, has_field}, session.view, colours, wishes);
  });
  panel(recurrence_window, still, [&] {
    const Part all = rest_of_panel();
    draw_recurrence(session, frame, memory, colours, wishes);
    if (frame.result && !frame.result->trace.tiles.empty()) keep_strip(session.view, *frame.result, all, colours, wishes);
  });
}

}  // namespace attoscope
