// The middle panel: a toolbar and one of four kinds of picture; above them the headline, if the statistics are hidden.
#include "ui/controls/controls.h"
#include "ui/controls/welcome.h"
#include "ui/explore.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/layout.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/picture/toolbar.h"
#include "ui/statistics/statistics.h"

namespace attoscope {

namespace {

void draw_picture(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room) {
  switch (session.view.picture) {
    case PictureKind::output:
      return draw_output(session, input, all, requests, room);
    case PictureKind::rescales:
      return draw_rescale_map(session, input, all, requests, room);
    case PictureKind::scores:
      return draw_scores(session, input, all, requests, room);
    case PictureKind::heads:
      return draw_heads(session, input, all, requests, room);
  }
}

/// True while a slider or a button is held, but not while text is typed.
bool moves_control() { return ImGui::IsAnyItemActive() && !ImGui::GetIO().WantTextInput; }

}  // namespace

void draw_heatmap(Session& session, const PanelInput& input, UiState& all, Requests& requests) {
  refresh_values(all.heat, input.answer.result, session.view.field);
  all.ranges.held = moves_control();
  if (all.docked.narrow && draw_headline(input)) ImGui::SetWindowFocus(statistics_window);
  draw_toolbar(session, input, all);
  draw_welcome(session);
  draw_probe_sentence(session, input, all);
  const ImVec2 from = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  draw_picture(session, input, all, requests, {from, {from.x + size.x, from.y + size.y}});
  note_ranges(all, session.view);
}

}  // namespace attoscope
