#include "ui/ui.h"

#include <algorithm>

#include "imgui.h"
#include "ui/keys.h"
#include "ui/layout.h"
#include "ui/learn/learn.h"
#include "ui/learn/lesson_steps.h"
#include "ui/panels.h"
#include "ui/session_menu.h"
#include "ui/sweep/sweep.h"
#include "ui/train/train.h"
#include "ui/widgets.h"

namespace attoscope {

void UiMemoryDeleter::operator()(UiMemory* memory) const { delete memory; }
UiMemoryPtr make_ui_memory() { return UiMemoryPtr(new UiMemory); }

namespace {

/// The window behind everything: it holds the dock space of Explore between the bars.
void draw_background(Session& session, UiMemory& memory) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const ImVec2 at{view->Pos.x, view->Pos.y + px(36)}, size{view->Size.x, std::max(px(80), view->Size.y - px(36) - px(26))};
  ImGui::SetNextWindowPos(at);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("Explore", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus |
                   ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(3);
  dock_panels(at, size, session.view.panels, memory.docked);
  ImGui::End();
}

void draw_workspace(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  switch (session.view.workspace) {
    case Workspace::explore:
      draw_background(session, memory);
      return draw_explore(session, frame, memory, colours, wishes);
    case Workspace::sweep:
      return draw_sweep(session, frame, memory, colours, wishes);
    case Workspace::train:
      return draw_train(session, frame, memory, colours, wishes);
    case Workspace::learn:
      return draw_learn(session, frame, memory, colours, wishes);
  }
}

}  // namespace

Wishes draw_ui(Session& session, const Frame& frame, UiMemory& memory) {
  Wishes wishes;
  const Palette& colours = palette(session.view.theme);
  const bool busy = ImGui::IsAnyMouseDown() || ImGui::IsAnyItemActive() || memory.playback.playing;
  memory.history.observe(session, busy, ImGui::GetTime());
  handle_keys({session, memory, wishes, frame.result.get(), frame});
  draw_workspace(session, frame, memory, colours, wishes);
  if (!is_presenting(session)) {
    draw_top_bar(session, frame, memory, colours, wishes);
    draw_status_bar(frame, colours, wishes);
  }
  draw_palette(session, frame, memory, colours, wishes);
  draw_help(memory.show_help, colours);
  draw_remarks(frame, colours, wishes);
  return wishes;
}

}  // namespace attoscope
